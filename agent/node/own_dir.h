/* own_dir.h - the directory that has the agent's file
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OWN_DIR_H
#define MUSTER_OWN_DIR_H

#include "err.h"

/* Returns its absolute path, which the caller frees. NULL with err: the agent is only in memory. */
char *own_dir(struct error *err);

#endif
