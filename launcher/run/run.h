/* run.h - one run while it is running: what it is for, what came of it so far, and its parts
 *
 * Only this room and the node jobs (node_job.h) of the rooms above it see struct run. launch.c
 * makes it; each part below belongs to the file of its name, or that beside it, which alone
 * writes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_H
#define MUSTER_RUN_H

#include "elastic/batch.h"
#include "elastic/cost.h"
#include "history/control.h"
#include "history/run_dir.h"
#include "node/node.h"
#include "options/options.h"
#include "outcome/outcome.h"
#include "output/output.h"
#include "output/reader.h"
#include "plan/plan.h"
#include "run/launch.h"
#include "run/phase.h"
#include "transport/agent_file.h"

struct run {
    /* What is wanted. */
    const struct options        *options;
    struct plan                 *plan;
    const struct node_job       *job; /* NULL: there are ranks */
    void                        *job_data;
    const struct launch_watcher *watcher; /* NULL: nobody waits for the start */

    /* What it works with. */
    struct event_base *base;
    struct agent_file  agent;
    struct run_dir     dir; /* path NULL: none */
    struct kvs        *kvs;
    bool              *shown; /* by rank of the first world: --show-ranks */
    size_t             shown_count;

    struct outcome outcome;

    /* rank_output.c */
    struct output *output;
    struct reader  reader;         /* of that, at the end */
    int64_t        reader_held_ns; /* when it last held up the end of a node */
    bool           is_reader_told; /* the user was told so */
    bool           is_stdout_lost; /* it cannot be written */

    /* Parts, by file. */
    bool               is_start_told; /* agent_frames.c: watcher was told */
    struct node      **node;  /* world.c: one for each of the plan's */
    struct batch_rules batch; /* world.c; first.total 0: nobody knows it */
    struct phase       phase;
    struct beat       *beat;
    struct cost        cost; /* costs.c */
    struct control    *control; /* NULL: nobody can ask this run for anything */
    struct data_shards *data_shards; /* NULL: there are no ranks */
    struct deadline   *deadline;
    struct flow       *flow;
    struct generation *generation;
    struct hang       *hang;
    struct host_watch *host_watch; /* NULL: the hosts stay as they are */
    struct interrupt  *interrupt;
    struct leavings   *leavings;
    struct pool       *pool;
    struct notice     *notice;
    struct rendezvous *rendezvous;
    struct run_status *status; /* NULL: nothing is written */
};

/* Each node works for itself, and there are no ranks of one world. */
static inline bool run_is_exec(const struct run *run)
{
    return run->plan->command == COMMAND_EXEC || run->job != NULL;
}

/* That node stays for the next generation, and this one is not over elsewhere: nobody needs it,
 * unless there is a next one. */
static inline bool run_had_ended(const struct run *run, const struct node *node)
{
    return run->phase.stayed[node->index];
}

#endif
