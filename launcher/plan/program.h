/* program.h - from the script on the command line to the argv of each rank
 *
 * *.py (or --module) runs as PYTHON -u [-m] SCRIPT [--local_rank=N] ARGS; an executable file,
 * given by path or found on PATH, runs as it is. PYTHON: --python, else that of the active
 * virtualenv or conda environment, else python3 on PATH, as an absolute path.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRAM_H
#define MUSTER_PROGRAM_H

#include "err.h"
#include "options/options.h"
#include "strlist.h"

struct program {
    bool           is_python;
    const char    *script; /* for Python to read, on every node; NULL: none. options' */
    struct strlist head; /* python -u [-m] script, or the executable */
    bool           wants_local_rank; /* insert --local_rank=N after head */
    struct strlist args;
};

/* Decide. here: environment to search (PATH, VIRTUAL_ENV, CONDA_PREFIX).
 * -1 with err; *exit_code is 2, 126 or 127. For COMMAND_EXEC the words are
 * taken as they are: they are looked up on the nodes. */
int  program_find(const struct options *options, char *const *here, const char *cwd,
                  struct program *program, int *exit_code, struct error *err);
void program_clear(struct program *program);

#endif
