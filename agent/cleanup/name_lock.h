/* name_lock.h - keeps a second run of the same --name off this machine
 *
 * The lock is a listening abstract Unix socket that tells each caller who
 * launched the run, and closes:
 *
 *     @muster-name-RUN-PID
 *
 * It exists exactly as long as its agent. A caller whose own socket is called
 *
 *     @muster-replace-RUN-PID
 *
 * asks the agent to end its run, because that RUN replaces it (--replace). Any user can make
 * such sockets: only those of our own user count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NAME_LOCK_H
#define MUSTER_AGENT_NAME_LOCK_H

#include <stdbool.h>

#include <event2/event.h>

#include "runid.h"

#define NAME_LOCK_WORDS_MAX  256 /* bytes, with NUL, of the text about the launcher */
#define NAME_LOCK_SOCKET_MAX 96

struct name_lock;

/* The run, of our own user, replaces this one. */
typedef void name_lock_f(const char *run_id, void *arg);

/* Takes the lock, if the run has a name. launcher: text that says who launched it;
 * NULL: unknown. Returns NULL if the run has no name, or on failure;
 * name_lock_release(NULL) is fine. */
struct name_lock *name_lock_take(struct event_base *base, const char *run_id,
                                 const char *launcher, name_lock_f *replaced, void *arg);
void              name_lock_release(struct name_lock *lock);

/* Another run with that name: its id, and its socket without the '@'. */
struct namesake {
    char run[RUNID_MAX + 1];
    char socket[NAME_LOCK_SOCKET_MAX];
};

/* Looks for another run of this user. False: there is none. Take the lock first, then look: of
 * two runs that start at once, at least one then sees the other. */
bool name_lock_holder(const char *run_id, struct namesake *other);

/* Does the other run still have its lock? Sends no request, so it may be called often. */
bool name_lock_is_held(const struct namesake *other);

/* Asks the other run's agent who launched it: "" without an answer within 0.3 s. */
void name_lock_ask(const struct namesake *other, char words[NAME_LOCK_WORDS_MAX]);

/* Asks the other run to end for run_id. */
void name_lock_replace(const struct namesake *other, const char *run_id);

#endif
