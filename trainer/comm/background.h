/* background.h - a communicator's operations on a thread of their own
 *
 * Gloo has finished an operation when its call returns, so nothing is computed
 * meanwhile. Behind this, operations are queued and return at once, as with NCCL; a
 * thread carries them out one after the other. What fails there is told by the next
 * call here, and nothing queued behind it is begun.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMM_BACKGROUND_H
#define MUSTER_COMM_BACKGROUND_H

#include "comm/comm.h"

/* Takes inner, which nobody else may use any more. NULL when no thread can be started;
 * inner is then still the caller's.
 *
 * abort of the result does not wait for the operation that is under way. Its buffers
 * must live as long as the process; inner does. */
struct comm *comm_background(struct comm *inner, struct error *err);

#endif
