/* prepare.h - everything that could go wrong is looked at before a rank starts
 *
 * READY means: the working directory can be entered, the program is there and
 * can be executed, a Python script be read, the cores, descriptors and processes
 * are enough, the log files are open. What fails says so with the exit status
 * that muster shall take.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PREPARE_H
#define MUSTER_AGENT_PREPARE_H

#include "err.h"
#include "plan/bind.h"
#include "plan/node_plan.h"
#include "strlist.h"

struct failure {
    int          code; /* exit_code.h */
    struct error why;
    char         hint[256]; /* what to do, or "" */
};

/* Return -1 and fill failure. */
int failure_set(struct failure *failure, int code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Enter the working directory, if there is one. */
int prepare_cwd(const struct node_plan *plan, struct failure *failure);

/* Only Python itself would notice, when the other ranks are at work already. */
int prepare_script(const char *script, struct failure *failure);

/* The environment of one rank, later over earlier: base, env_default where
 * absent, env, the rank's own; then what muster decides itself. threads:
 * OMP_NUM_THREADS where nobody has set it, 0 leaves it alone. */
void prepare_env(const struct node_plan *plan, const struct node_plan_rank *rank,
                 const struct strlist *base, int threads, struct strlist *env);

/* The file that argv[0] means, along the PATH of env. Caller frees; NULL with
 * failure. */
char *prepare_program(const char *name, const struct strlist *env, struct failure *failure);

/* Deal out cores when the plan binds. *threads: what each rank may use. */
int prepare_binding(const struct node_plan *plan, const struct strlist *base,
                    struct binding *binding, int *threads, struct failure *failure);

/* Create the file that holds our pid. One that was left by a dead agent is
 * replaced. */
int prepare_pid_file(const char *path, struct failure *failure);

#endif
