/* background.h - runs a communicator's operations in their own thread
 *
 * Gloo has finished an operation when its call returns, so the caller cannot compute
 * at the same time. This wrapper queues each operation and returns at once, as NCCL
 * does; a thread carries out the queue in order. If an operation fails, the next call
 * returns its error, and the operations queued after it are not started.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMM_BACKGROUND_H
#define MUSTER_COMM_BACKGROUND_H

#include "comm/comm.h"

/* Takes ownership of inner; the caller must not use it any more. Returns NULL if no thread
 * can be started; the caller then still owns inner.
 *
 * The result's abort does not wait for a running operation. The buffers of that operation
 * must live as long as the process, as inner then does. */
struct comm *comm_background(struct comm *inner, struct error *err);

#endif
