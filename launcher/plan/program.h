/* program.h - from the script on the command line to the argv of each rank
 *
 * *.py (or --module) runs as PYTHON -u [-m] SCRIPT [--local_rank=N] ARGS; an executable file,
 * given by path or found on PATH, runs as it is. PYTHON is --python, or else the one of the
 * active virtualenv or conda environment, or else python3 on PATH, as an absolute path.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRAM_H
#define MUSTER_PROGRAM_H

#include "err.h"
#include "options/options.h"
#include "strlist.h"

struct program {
    bool           is_python;
    const char    *script; /* Python reads it on every node; NULL: none. Owned by options */
    struct strlist head; /* python -u [-m] script, or the executable */
    const char    *python_from; /* what has named that python; a constant; NULL: there is none */
    bool           wants_local_rank; /* insert --local_rank=N after head */
    bool           imports_horovod;
    struct strlist args;
    char          *sent; /* a directory that must be beside the nodes' agents; head begins with a
                            path below that place. NULL: none */
};

/* Decides what the ranks execute. here: environment to search (PATH, VIRTUAL_ENV,
 * CONDA_PREFIX). Returns -1 with err; *exit_code is 2, 126 or 127. For COMMAND_EXEC takes the
 * words as they are: the nodes look up the command. */
int  program_find(const struct options *options, char *const *here, const char *cwd,
                  struct program *program, int *exit_code, struct error *err);
void program_clear(struct program *program);

#endif
