/* bootstrap_job.h - `muster bootstrap`: turns fresh machines into nodes
 *
 * A node job in rounds, by agents that are root. First each node answers; with --mesh it sends its
 * public key and its host keys. Then every node gets the steps and the data about all nodes. With
 * --warm=swarm two more rounds follow, in which nodes read together (swarm_round.h).
 * agent/bootstrap executes the steps.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BOOTSTRAP_JOB_H
#define MUSTER_BOOTSTRAP_JOB_H

#include <jansson.h>

#include "bootstrap/own_key.h"
#include "buffer.h"
#include "options/options.h"
#include "node/node_job.h"
#include "strlist.h"
#include "task/node_task.h"

#define BOOTSTRAP_EXIT_STEP 1 /* a step failed on some node */
#define BOOTSTRAP_ROUND_MESH 0
#define BOOTSTRAP_ROUND_STEPS 1
#define BOOTSTRAP_ROUND_SWARM_LOOK 2
#define BOOTSTRAP_ROUND_SWARM 3
#define BOOTSTRAP_ROUNDS 4

struct swarm_groups;

/* The job's data. */
struct bootstrap {
    struct node_task *task;
    const char       *op;    /* "plan", "apply", "undo", "record" */
    json_t           *conf;  /* as in bootstrap_conf.h, plus access.keys */
    json_t           *steps; /* names of the chosen steps; NULL: all */
    struct buffer     pushed; /* entries of [project] push; empty: none */
    json_t           *hosts; /* names and addresses; NULL: not yet known */
    struct own_key    own_key;
    struct swarm_groups *swarm; /* NULL: not yet known */
    struct strlist    names; /* from --names, by node; empty: the names in the hostfile */
};

extern const struct node_job bootstrap_job;

/* bootstrap_report.c: as in node_job.h. */
int     bootstrap_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *bootstrap_json(const struct run *run, int status);

/* Returns HELLO for the user who has logged in there: not root, if sudo was needed. */
const json_t *bootstrap_login(const struct node *node);
/* Returns the name of a node from --names, else from the hostfile. */
const char *bootstrap_name(const struct bootstrap *bootstrap, const struct run *run, size_t node);

#endif
