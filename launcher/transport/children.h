/* children.h - child processes that were told to end, until they have
 *
 * The proxy of a connection, or the agent of a node that is this machine, may need some
 * milliseconds to end after its socket is closed. muster waits for them before it returns, so
 * that none is left. It waits for these only: a shell may have started children and then become
 * muster by exec.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHILDREN_H
#define MUSTER_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* Has it ended? If so, it was waited for. */
bool child_is_gone(pid_t pid);

/* It was told to end. */
void children_ending(pid_t pid);

/* Wait until they have ended, at most limit_s. */
void children_await(double limit_s);

#endif
