/* follow.h - show what a detached run has written, and what it writes
 *
 * Reads the files stdout and stderr of a run directory; nothing that happens here affects the
 * run. On a terminal the text looks as muster itself would have shown it there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FOLLOW_H
#define MUSTER_FOLLOW_H

#include <sys/types.h>

enum follow_end {
    FOLLOW_OVER, /* the launcher has ended; all it has written was shown */
    FOLLOW_STARTED,
    FOLLOW_INTERRUPTED, /* by INT or TERM */
    FOLLOW_UNREAD,      /* stdout or stderr cannot be written; the user was told */
};

struct follow_terms {
    int   dir_fd;
    int   tail;       /* begin with that many last lines of each file; -1: at its beginning */
    int   out_fd;     /* for what the run has written to stdout */
    int   started_fd; /* stop when a byte comes here; -1: only at the end */
    pid_t launcher;   /* a child, which gets INT and TERM instead of us, also those that were
                         blocked when they came; 0: none */
};

enum follow_end follow_run(const struct follow_terms *terms);

#endif
