/* draining.h - connections that nobody needs any more, but whose far end does something yet
 *
 * A login shell runs the bootstrap script, or stores the agent that is being pushed. Its
 * input is closed, and it goes by itself; a run that is over waits for that, so that nothing
 * of it is left there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DRAINING_H
#define MUSTER_DRAINING_H

#include <event2/event.h>

#include "transport/conn.h"

/* Take conn over: close its input and free it when the far end is gone. No callback comes
 * any more. Freed at once where there is no far end. */
void draining_add(struct conn *conn);

/* Turn the loop until all are gone, or somebody breaks it, or for limit_s; then they are freed
 * all the same. */
void draining_await(struct event_base *base, double limit_s);

#endif
