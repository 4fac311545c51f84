/* name_lock.h - that a run with a name is on this machine, for others of that name to see
 *
 * A listening abstract Unix socket, whose callers are turned away:
 *
 *     @muster-name-RUN-PID
 *
 * It is there exactly as long as its agent. Anybody can make one: only those of one's own
 * user count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NAME_LOCK_H
#define MUSTER_AGENT_NAME_LOCK_H

#include <event2/event.h>

/* Put one up, if the run has a name; NULL: none, and taking that down is fine. */
struct event *name_lock_take(struct event_base *base, const char *run_id);
void          name_lock_release(struct event *name_lock);

/* Another run of this user with that name, whose id the caller frees; NULL: there is none. Ask
 * with one's own put up: of two that begin at once, one at least sees the other. */
char *name_lock_holder(const char *run_id);

#endif
