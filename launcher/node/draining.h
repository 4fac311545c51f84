/* draining.h - connections that nobody needs any more, but whose far end is still busy
 *
 * A login shell runs the bootstrap script, or stores the agent that is being pushed. When its
 * input is closed it ends. A run that is over waits for that, so that nothing of it is left on
 * the node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DRAINING_H
#define MUSTER_DRAINING_H

#include <event2/event.h>

#include "transport/conn.h"

/* Take conn over: close its input, and free it when the far end is gone, or at once if there is
 * no far end. No callback comes any more. */
void draining_add(struct conn *conn);

/* Run the loop until all are gone, somebody breaks it, or limit_s have passed. Then free those
 * that are left. */
void draining_await(struct event_base *base, double limit_s);

#endif
