/* children.h - child processes that begin, and those that are exiting
 *
 * The proxy of a connection, or the agent of a node on this machine, may need some milliseconds
 * to exit after its socket is closed. muster waits for them before it exits, so that none is
 * left. It waits only for these: muster may have other children, if a shell started them and
 * then executed muster.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHILDREN_H
#define MUSTER_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* Forks with all signals blocked in the child, which calls child_signals_begin(): a signal before
 * that, such as SIGINT, must not run libevent's handler there, which would report the signal again
 * through our socket. Returns as fork() does. */
pid_t child_fork(void);
/* Discards the signals that were sent to the whole process group, and so to the launcher; then none
 * is blocked, and each does what it does by default. Uses only async-signal-safe calls. */
void  child_signals_begin(void);

/* Has the child exited? If so, this reaps it. */
bool child_is_gone(pid_t pid);

/* Notes that a child is exiting. */
void children_ending(pid_t pid);

/* Waits until the noted children have exited, for at most limit_s. */
void children_await(double limit_s);

#endif
