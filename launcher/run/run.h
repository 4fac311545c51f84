/* run.h - a run in progress: what it must do, its outcome so far, and its parts
 *
 * Only this room, course/ and the node jobs (node_job.h) of the rooms above know struct run.
 * course/launch.c makes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_H
#define MUSTER_RUN_H

#include "elastic/batch.h"
#include "elastic/checkpoint_log.h"
#include "elastic/collectives.h"
#include "elastic/cost.h"
#include "elastic/policy.h"
#include "history/control.h"
#include "history/run_dir.h"
#include "node/node.h"
#include "node/node_job.h"
#include "options/options.h"
#include "outcome/outcome.h"
#include "output/output.h"
#include "output/reader.h"
#include "plan/plan.h"
#include "run/phase.h"
#include "transport/agent_file.h"

struct collective_watch;
struct launch_watcher;
struct metrics;
struct page;
struct role_restart;
struct slow_nodes;
struct suspicion;

/* Only the file that stands beside a field, or above its paragraph, writes it. Into a part, the
 * part's own room writes as well (suite/writers.t). */
struct run {
    /* What the run must do: launch.c. */
    const struct options        *options;
    struct plan                 *plan; /* and world.c: the nodes of a generation */
    const struct node_job       *job;  /* NULL: there are ranks */
    void                        *job_data;
    const struct launch_watcher *watcher; /* course/launch.h; NULL: no --detach waits */

    /* What it uses: launch.c. */
    struct event_base *base;
    struct agent_file  agent;
    struct run_dir     dir; /* path NULL: none */
    bool              *shown; /* by rank of the first world: --show-ranks */
    size_t             shown_count;

    /* What came of it: outcome.c. */
    struct outcome outcome;

    /* generation.c */
    struct policy_rules rules; /* rules.members: the nodes of a world; world.c: their batch */
    struct policy       policy;
    struct generation  *generation;
    struct pool        *pool;
    struct event       *look; /* run_changed() makes it fire; NULL: all is over */

    struct suspicion    *suspicion;    /* suspicion.c */
    struct slow_nodes   *slow_nodes;   /* slow_nodes.c */
    struct role_restart *role_restart; /* role_restart.c: by role; NULL: they have one fate */

    /* world.c */
    struct node      **node;  /* one per node of the plan */
    struct batch_rules batch; /* first.total 0: not known */

    /* rank_output.c */
    struct output *output;
    struct reader  reader;         /* of this output, at the end */
    int64_t        reader_held_ns; /* when the reader last held up the end of a node */
    bool           is_reader_told; /* the user knows that the reader stalls */
    bool           is_stdout_lost; /* stdout cannot be written */
    uint64_t       output_bytes;   /* of all ranks, as they came */

    /* checkpoints.c */
    struct checkpoint_log *checkpoints; /* by role; [0] if there are none */
    struct event          *checkpoints_look;
    bool                   is_storage_told; /* the user knows that a node's storage hangs */

    /* collective_watch.c */
    struct collectives      *collectives; /* by role; [0] if there are none */
    struct collective_watch *collective_watch;

    struct rank_input *input; /* rank_input.c; NULL: no rank gets input */
    struct kvs       **keys;  /* rank_keys.c: by role; [0] if there are none */

    /* Each by its own file. */
    struct phase        phase;         /* phase.c; progress.c: the nodes that it awaits */
    struct cost         cost;          /* costs.c */
    struct data_shards *data_shards;   /* data_shards.c; NULL: there are no ranks */
    struct hang        *hang;          /* hang.c */
    struct steps       *steps;         /* steps.c */
    struct stacks      *stacks;        /* stacks.c */
    struct metrics     *metrics;       /* metrics.c; NULL: neither of the --metrics options */
    const char         *metrics_at;    /* metrics.c; "http://127.0.0.1:9464/metrics", or NULL */
    struct page        *page;          /* page.c; NULL: no --metrics-listen */
    bool                is_start_told; /* agent_frames.c: watcher->started was called */

    /* Parts: launch.c makes them, and each belongs to the file with its name. */
    struct control    *control; /* NULL: this run takes no requests */
    struct deadline   *deadline;
    struct events     *events; /* NULL: there is no --on-event */
    struct flow       *flow;
    struct heartbeat  *heartbeat;
    struct host_watch *host_watch; /* NULL: the hosts do not change */
    struct interrupt  *interrupt;
    struct notice     *notice;
    struct rendezvous *rendezvous;
    struct run_status *status; /* NULL: nothing is written */
};

/* Something has changed that generation.c decides about: it looks in the next turn of the event
 * loop. */
void run_changed(struct run *run);

/* May another generation follow although nodes are missing? Not once the end of the run is
 * decided. */
bool run_goes_on(const struct run *run);
/* Could another generation follow this one? If so, agents stay when this one is over. */
bool run_may_restart(const struct run *run);
/* Returns the name of a phase, for the log and muster status. */
const char *run_phase_name(enum phase_now phase);

/* Does each node work on its own, without ranks of one world? */
static inline bool run_is_exec(const struct run *run)
{
    return run->plan->command == COMMAND_EXEC || run->job != NULL;
}

/* Is this generation over on that node, which stays, but not on all other nodes? Then the node
 * is needed only if another generation follows. */
static inline bool run_had_ended(const struct run *run, const struct node *node)
{
    return run->phase.stayed[node->index];
}

#endif
