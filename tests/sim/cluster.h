/* cluster.h - simulates a run on the cluster of a trace, with muster's policy
 *
 * It does with numbers what launcher/course does with processes: it passes events to policy.h
 * and membership.h, and carries out their decisions. Times are seconds of a virtual clock from
 * the start.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIM_CLUSTER_H
#define MUSTER_SIM_CLUSTER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "elastic/policy.h"
#include "sim/trace.h"

/* The training, and how long its steps take. */
struct job {
    int    nodes;     /* at the start */
    int    slots;     /* ranks per node */
    double work;      /* hours of one node until the training is done; 0: never */
    double every_s;   /* between two checkpoints */
    double saving_s;  /* one checkpoint */
    double loading_s; /* from the first instruction until the first step */
    double start_s;   /* from the decision to the first instruction */
    double stop_s;    /* from the first failure until all processes are gone */
    double detect_s;  /* until a silent node counts as lost */
    double join_s;    /* to connect a node and to check it */
    int    code;      /* of a rank that fails */
};

/* All values but status and counts are hours. */
struct result {
    int    status; /* muster's exit status; -1: the trace is over */
    int    generations;
    double wall;
    double useful;                              /* of one node: work done and kept */
    double lost;                                /* of one node: work done again */
    double starting, saving, stopping, waiting; /* of the run */
    double paid;                                /* of one node: connected */
    char   wrong[200]; /* an invariant that did not hold; empty: all held */
};

#define HOUR_S 3600.0
#define NEVER HUGE_VAL

enum cluster_state {
    STARTING, /* until until_s, then it trains */
    TRAINING, /* until the next checkpoint at until_s */
    SAVING,   /* until until_s */
    STOPPING, /* until until_s, then the policy gets OVER */
    WAITING,  /* for the policy */
    ENDED,
};

/* A host, as it is and as muster sees it. */
struct cluster_host {
    bool   is_there;
    double failed_s; /* when it was last lost, or failed to join */
    double joined_s; /* JOINING: when that succeeds or fails */
    double missed_s; /* when muster notices that it is gone */
    /* What was asked, for the judge. */
    bool   is_unlisted;
    double drain_s, cloud_s; /* no generation may live there after that; NEVER: not asked */
};

struct cluster {
    const struct trace        *trace;
    const struct job          *job;
    const struct policy_rules *rules;
    struct result             *result;
    struct policy              policy;
    struct membership          members;
    struct cluster_host       *host;
    size_t                     next; /* event of the trace */
    double                     now_s;

    enum cluster_state state;
    double             until_s;
    double             begun_s;   /* when this generation began */
    double             changed_s; /* when the world last changed its size */
    double             ended_s;   /* STOPPING: since when */
    bool            is_told; /* the ranks, that a node leaves: they save as soon as they can */
    bool            is_asked_to_end; /* by the policy, once the ranks have saved */
    bool            had_notice;      /* STOPPING: its ranks had one */
    enum policy_end end;
    double          done, saved; /* hours of one node */
};

void cluster_run(const struct trace *trace, const struct job *job,
                 const struct policy_rules *rules, struct result *result);

#endif
