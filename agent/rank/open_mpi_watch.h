/* open_mpi_watch.h - do the ranks use Open MPI, though nothing said so before the start?
 *
 * A script may start any program. So a thread looks periodically which libraries the first
 * rank of this node and its descendants have loaded: often at first, then every 10 s. It is a
 * thread, since the kernel may block it when it examines a process that hangs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_MPI_WATCH_H
#define MUSTER_AGENT_OPEN_MPI_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct open_mpi_watch;

/* NULL if no thread can be created: then nothing is found. */
struct open_mpi_watch *open_mpi_watch_new(pid_t pid);
/* Call it when the process has ended, or there is nothing to find. NULL is fine. */
void open_mpi_watch_stop(struct open_mpi_watch *watch);
void open_mpi_watch_free(struct open_mpi_watch *watch);

/* Returns the library whose MPI_Init() was called, borrowed, or NULL. */
const char *open_mpi_watch_library(const struct open_mpi_watch *watch);

#endif
