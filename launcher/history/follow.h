/* follow.h - shows the past and present output of a detached run
 *
 * It reads the files stdout and stderr of the run directory, and never affects the run. On a
 * terminal the text looks as if muster itself had printed it there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FOLLOW_H
#define MUSTER_FOLLOW_H

#include <sys/types.h>

enum follow_end {
    FOLLOW_OVER, /* the launcher has exited, and all its output was shown */
    FOLLOW_STARTED,
    FOLLOW_INTERRUPTED, /* by SIGINT or SIGTERM */
    FOLLOW_UNREAD,      /* stdout or stderr cannot be written, which was reported */
};

struct follow_terms {
    int   dir_fd;
    int   tail;       /* begin with this many last lines of each file; -1: with the first
                         line */
    int   out_fd;     /* shows the run's stdout */
    int   started_fd; /* stop when a byte comes here; -1: only at the end */
    pid_t launcher;   /* a child to which we forward SIGINT and SIGTERM, including those pending
                         while they were blocked; 0: none */
};

enum follow_end follow_run(const struct follow_terms *terms);

#endif
