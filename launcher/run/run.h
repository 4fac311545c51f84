/* run.h - one run while it goes on: what launch.c, phase.c, agent_frames.c, interrupt.c and
 * those they call share, and nobody else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_H
#define MUSTER_RUN_H

#include <stdio.h>

#include "history/run_dir.h"
#include "node/node.h"
#include "node/orphan_cleanup.h"
#include "options/options.h"
#include "outcome/outcome.h"
#include "output/output.h"
#include "plan/plan.h"
#include "run/kvs.h"
#include "run/launch.h"
#include "run/master.h"
#include "transport/agent_file.h"

/* Beyond the grace, before an agent that ends its ranks is lost: it reports at KILL + 10 s
 * what survives that, and its word must reach us. */
#define STOP_SURE_S LAUNCH_STOP_S
/* The same where processes that were killed write their core files: an agent waits 600 s. */
#define STOP_CORE_S 620.0

/* The same while output comes, or waits for a reader who takes some of it. */
#define STOP_OUTPUT_S 600.0

/* In order; launch.c tells what happens in each. */
enum phase {
    PHASE_CONNECTING,
    PHASE_LISTENING,
    PHASE_REACHING,
    PHASE_HOLDING,
    PHASE_PREPARING,
    PHASE_RUNNING,
    PHASE_STOPPING,
};

struct run {
    const struct options *options;
    struct plan          *plan;
    const struct node_job  *job; /* NULL: there are ranks */
    struct event_base    *base;
    struct agent_file      agent;
    struct outcome        outcome;
    struct run_dir         dir;   /* path NULL: none */
    struct run_status          *status_file;  /* NULL: nothing is kept */
    const struct launch_watcher *watcher; /* NULL: nobody waits for the start */
    struct output        *output;
    struct kvs           *kvs;
    struct master         master;
    char                  token[FRAME_NONCE_CHARS + 1]; /* what a true node 0 greets probes with */
    int                   probe_port;

    enum phase   phase;
    struct node *node;       /* one for each of the plan's */
    size_t       next;       /* to be connected */
    size_t       handshakes; /* in flight */
    size_t       unsettled;  /* nodes that owe this phase an answer */
    size_t       over;       /* ENDED or FAILED */
    uint32_t     credit;     /* of a node */
    int64_t     *credit_left; /* by node: OUTPUT bytes it may still send */
    json_t     **left;        /* clean: by node, CLEANED; NULL: none yet */
    struct bcast *bcast;      /* bcast: all about it */
    struct orphan_cleanup **cleanup;     /* by node: is going on; NULL: none */

    int64_t       go_ns;      /* when the ranks were started */
    int64_t       stop_ns;    /* when STOPPING began */
    int64_t       output_ns;  /* when output of a rank last came */
    int64_t       held_up_ns; /* when a node was last seen without credit */
    char         *port_taken; /* who has MASTER_PORT in rank 0's place; NULL: nobody */

    struct event *signals[8];
    size_t        signal_count;
    struct event *beat, *time_limit, *stop_limit;
    int64_t       last_beat_ns; /* by clock_boot_ns() */
    struct hang  *hang; /* NULL: none was seen */
    int           interrupts;
};

/* Every node is for itself, and has no ranks of a world. */
static inline bool run_is_exec(const struct run *run)
{
    return run->plan->command == COMMAND_EXEC || run->job != NULL;
}

/* phase.c: connect nodes as far as the window allows; the rest follows from
 * their answers. */
void run_connect(struct run *run);

/* Something ended the run: stop every node. Only the first call does anything. */
void run_end(struct run *run);

/* TERM now and KILL after grace_s on every node that has an agent; the others
 * are dropped. May come again with a shorter grace. */
void run_stop_nodes(struct run *run, double grace_s);

extern const struct node_ops run_node_ops; /* arg: the run */

/* The phase as the log has it. */
const char *run_phase_name(const struct run *run);

/* start_check.c: what speaks against a start; nodes fail by it, or it is warned
 * about. When all have answered; when one is ready (false: it has failed); before
 * GO. */
void run_check_nodes(struct run *run);
void run_check_clocks(const struct run *run);
bool run_check_ready(struct run *run, struct node *node, const json_t *ready);

/* agent_frames.c: a frame of a node has come (node_ops.frame). */
void agent_frames_take(struct node *node, const struct frame *frame, const json_t *body, void *run);
extern const struct output_ops agent_frames_output_ops; /* arg: the run */

/* generation.c: the agent of node 0 says who has taken MASTER_PORT; everything has ended:
 * must all ranks be started again? Then make the plan that of the next generation. */
void generation_port_taken(struct run *run, const struct node *node, const char *holder);
bool generation_starts_again(struct run *run);
void generation_next(struct run *run);

/* hang.c: --hang-timeout. Look whether all ranks have stood still for so long, with each
 * beat; IDLE, STACKED and PROBED have come; print what came, before the report. */
void hang_look(struct run *run);
void hang_take_idle(struct node *node, const json_t *body);
void hang_take_stack(struct run *run, struct node *node, uint32_t rank, const json_t *body);
void hang_take_probed(struct run *run, struct node *node, const json_t *body);
void hang_report(const struct run *run, FILE *out);
void hang_free(struct hang *hang);

/* run_status.c: how it stands, for muster status. A rank has started, or said something; with
 * each beat what has changed is written. */
void run_status_begin(struct run *run);
void run_status_rank_started(struct run *run, uint32_t rank);
void run_status_rank_said(struct run *run, uint32_t rank);
void run_status_beat(struct run *run);
void run_status_end(struct run *run);

/* interrupt.c: signals, heartbeats and time limits. */
void interrupt_watch(struct run *run);
/* We ourselves did not run for a while (stopped, suspended); said where it matters. */
bool interrupt_slept(struct run *run);
void interrupt_clear(struct run *run);
/* So long may a reader who takes nothing of our output hold us up at the end: less when the
 * user has said twice to stop. */
double interrupt_patience_s(const struct run *run);

#endif
