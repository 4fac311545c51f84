/* mpirun_line.h - what another operator's launcher runs, as muster's arguments
 *
 * The line begins with mpirun, mpiexec, horovodrun or deepspeed. It is a container's command and
 * args, or one line for a shell: `sh -c "cd /data && mpirun -np 2 a.out"`.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MPIRUN_LINE_H
#define MUSTER_MPIRUN_LINE_H

#include <stdint.h>

#include <jansson.h>

#include "err.h"
#include "strlist.h"

struct mpirun_line {
    struct strlist words;       /* muster's options, the program and its arguments */
    char          *directory;   /* of a cd before it; NULL: none */
    int64_t        ranks;       /* -np; 0: not given */
    int64_t        least, most; /* ranks of an elastic run; 0: not given */
    struct strlist changes;     /* each option that is not passed on as it was, and why */
};

/* Reads the line of a container, which may be NULL. Start from { 0 }, finish with
 * mpirun_line_clear(), also on failure. Fails if muster cannot replace the program, does not know
 * an option of it, or needs a shell to read the line: variables of the container's env are
 * replaced by their values, and sums are computed, but there are no other commands. */
int  mpirun_line_read(struct mpirun_line *line, const json_t *container, struct error *err);
void mpirun_line_clear(struct mpirun_line *line);

#endif
