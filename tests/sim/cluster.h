/* cluster.h - a run on a cluster that is a trace, with muster's own policy and a virtual clock
 *
 * What launcher/run does with processes, this does with numbers: it tells policy.h and members.h
 * what happens, and carries out what they say. Times are seconds since the start.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIM_CLUSTER_H
#define MUSTER_SIM_CLUSTER_H

#include "elastic/policy.h"
#include "sim/trace.h"

/* What the training is like, and how long things take. */
struct job {
    int    nodes;     /* that it starts with */
    int    slots;     /* ranks of each */
    double work;      /* hours of one node until it is done; 0: it never is */
    double every_s;   /* between two checkpoints */
    double saving_s;  /* one checkpoint */
    double loading_s; /* from the first instruction until the first step */
    double start_s;   /* from the decision to the first instruction */
    double stop_s;    /* from the first failure until nothing is left */
    double detect_s;  /* a node without a word is lost */
    double join_s;    /* to connect a node and to check it */
    int    code;      /* of a rank that fails */
};

/* Hours, but for counts. */
struct result {
    int    status;      /* muster's exit status; -1: the trace is over */
    int    generations;
    double wall;
    double useful;      /* of one node: what was done and kept */
    double lost;        /* of one node: done again */
    double starting, saving, stopping, waiting; /* of the run */
    double paid;        /* of one node: connected */
    char   wrong[200];  /* an invariant that did not hold; empty: all did */
};

void cluster_run(const struct trace *trace, const struct job *job,
                 const struct policy_rules *rules, struct result *result);

#endif
