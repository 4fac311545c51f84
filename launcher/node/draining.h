/* draining.h - connections that are no longer needed, but whose far end is still busy
 *
 * A login shell runs the bootstrap script, or stores the agent that is being pushed. The shell
 * exits when its input is closed. A run that is over waits for it, so that nothing of the run
 * is left on the node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DRAINING_H
#define MUSTER_DRAINING_H

#include <event2/event.h>

#include "transport/conn.h"

/* Takes over conn: closes its input, and frees it when the far end is gone, or at once if there
 * is no far end. Its callbacks are not called any more. */
void draining_add(struct conn *conn);

/* Runs the loop until all connections are gone, a callback breaks the loop, or limit_s seconds
 * have passed. Then frees the rest. */
void draining_await(struct event_base *base, double limit_s);

#endif
