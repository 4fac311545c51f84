/* open_mpi_watch.h - do the ranks use Open MPI, though nothing said so before the start?
 *
 * A script starts what it likes. So a thread looks now and then which libraries the first rank
 * of this node, and what it has started, have loaded: often at first, then every 10 s. A thread,
 * since the kernel may keep whoever asks waiting for a process that hangs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_MPI_WATCH_H
#define MUSTER_AGENT_OPEN_MPI_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct open_mpi_watch;

/* NULL if there can be no thread: nothing is seen then. */
struct open_mpi_watch *open_mpi_watch_new(pid_t pid);
/* The process has ended, or there is nothing to find. NULL is fine. */
void open_mpi_watch_stop(struct open_mpi_watch *watch);
void open_mpi_watch_free(struct open_mpi_watch *watch);

/* The library whose MPI_Init() was called, borrowed, or NULL. */
const char *open_mpi_watch_library(const struct open_mpi_watch *watch);

#endif
