/* children.h - processes of ours that are about to end, after we are done with them
 *
 * The proxy of a connection, or the agent of a node that is this machine: told to end, or
 * its socket closed, it may take some milliseconds. They are seen gone before muster
 * returns, so that nobody finds them after it. Nobody else's children are waited for: a
 * shell may have started some and then become muster by exec.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHILDREN_H
#define MUSTER_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* Has it ended? It is no child of ours any more then. */
bool child_is_gone(pid_t pid);

/* It was told to go. */
void children_leaving(pid_t pid);

/* Until they are gone, so long at most. */
void children_await(double limit_s);

#endif
