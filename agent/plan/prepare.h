/* prepare.h - checks everything that could go wrong, before a rank starts
 *
 * READY means: the working directory can be entered, the program exists and can be executed, a
 * Python script can be read, there are enough cores, descriptors and processes, the log files
 * are open. A failure has the exit code that muster will return.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PREPARE_H
#define MUSTER_AGENT_PREPARE_H

#include <limits.h>

#include "err.h"
#include "plan/bind.h"
#include "plan/node_plan.h"
#include "strlist.h"

struct failure {
    int          code; /* exit_code.h */
    struct error why;
    char         hint[256]; /* what to do, or "" */
    char         missing[PATH_MAX]; /* a file or directory that other machines may have, or "" */
};

/* Fills failure, but for missing, which is then "", and returns -1. */
int failure_set(struct failure *failure, int code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Enters the working directory, if the plan has one. Forgets one that is optional and cannot be
 * entered. */
int prepare_cwd(struct node_plan *plan, struct failure *failure);

/* Checks the script: otherwise only Python would notice, when the other
 * ranks are already working. */
int prepare_script(const char *script, struct failure *failure);

/* Makes the environment of one rank, later over earlier: base, env, the rank's own, and the
 * variables that muster sets. The rest comes with GO (go_env.h). threads: OMP_NUM_THREADS if
 * nothing else sets it; 0: do not set it. */
void prepare_env(const struct node_plan *plan, const struct node_plan_rank *rank,
                 const struct strlist *base, int threads, struct strlist *env);

/* Finds the file that argv[0] means, along PATH in env. The caller
 * frees it; NULL with failure. */
char *prepare_program(const char *name, const struct strlist *env, struct failure *failure);

/* Distributes cores if the plan binds ranks. *threads: the number that each rank may use. */
int prepare_binding(const struct node_plan *plan, const struct strlist *base,
                    struct binding *binding, int *threads, struct failure *failure);

/* Creates the file with our pid. Replaces a file that a dead agent left. */
int prepare_pid_file(const char *path, struct failure *failure);

#endif
