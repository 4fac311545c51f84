/* name_lock.h - keep a second run of the same --name off this machine
 *
 * A listening abstract Unix socket that closes every connection at once:
 *
 *     @muster-name-RUN-PID
 *
 * It exists exactly as long as its agent. Any user can make such a socket: only those of
 * our own user count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NAME_LOCK_H
#define MUSTER_AGENT_NAME_LOCK_H

#include <event2/event.h>

/* Take the lock, if the run has a name. NULL: the run has none, or it failed;
 * name_lock_release(NULL) is fine. */
struct event *name_lock_take(struct event_base *base, const char *run_id);
void          name_lock_release(struct event *name_lock);

/* Another run of this user with that name, whose id the caller frees; NULL: none. Take the
 * lock first, then ask: of two runs that start at once, at least one then sees the other. */
char *name_lock_holder(const char *run_id);

#endif
