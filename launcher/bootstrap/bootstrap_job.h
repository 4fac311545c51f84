/* bootstrap_job.h - `muster bootstrap`: fresh machines become nodes
 *
 * A node job in rounds. First each node says whether it can be changed (root, or sudo without
 * a password). With --mesh it then tells its public key and its host keys. Then every node that
 * can gets the steps, with what is to be known of all. With --warm=swarm two more rounds follow, in
 * which nodes read together (swarm_round.h).
 * What the agents do is agent/bootstrap.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BOOTSTRAP_JOB_H
#define MUSTER_BOOTSTRAP_JOB_H

#include <jansson.h>

#include "options/options.h"
#include "node/node_job.h"
#include "strlist.h"
#include "task/node_task.h"

#define BOOTSTRAP_EXIT_STEP 1 /* a step failed on some node */
#define BOOTSTRAP_ROUND_LOOK 0
#define BOOTSTRAP_ROUND_MESH 1
#define BOOTSTRAP_ROUND_STEPS 2
#define BOOTSTRAP_ROUND_SWARM_LOOK 3
#define BOOTSTRAP_ROUND_SWARM 4
#define BOOTSTRAP_ROUNDS 5

struct swarm_groups;

/* The job's data. */
struct bootstrap {
    struct node_task *task;
    const char       *op;    /* "plan", "apply", "undo", "record" */
    json_t           *conf;  /* bootstrap_conf.h, and access.keys */
    json_t           *steps; /* the names of those chosen; NULL: all */
    json_t           *hosts; /* names and addresses; NULL: not known yet */
    struct swarm_groups *swarm; /* NULL: not known yet */
    struct strlist    names; /* --names, by node; empty: those of the hostfile */
};

extern const struct node_job bootstrap_job;

/* bootstrap_report.c: as in node_job.h. */
int     bootstrap_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *bootstrap_json(const struct run *run, int status);

/* The name of a node: of --names, else of the hostfile. */
const char *bootstrap_name(const struct bootstrap *bootstrap, const struct run *run, size_t node);

#endif
