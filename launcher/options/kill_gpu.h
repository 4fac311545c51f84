/* kill_gpu.h - whose processes --kill-gpu ends: "mine", a user's name, or a PID
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KILL_GPU_H
#define MUSTER_KILL_GPU_H

#include <stdbool.h>

/* Also true for "uid 1234", which is how a node names a user that it does not know. */
bool kill_gpu_is(const char *text);

/* Returns the PID; 0: it is "mine" or a user. text: valid. */
int kill_gpu_pid(const char *text);

#endif
