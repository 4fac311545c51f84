/* rank.h - one rank as the agent sees it
 *
 * Its process belongs to the guard. This module has the rank's input, its two output streams, its
 * PMI socket, its log file, and the report of its end. EXIT goes to the launcher when the
 * process and both streams have ended, in whichever order; or, marked late, RANK_LATE_MS
 * after the end of the process.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RANK_H
#define MUSTER_AGENT_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "guard/guard.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "rank/input.h"
#include "rank/stream.h"

/* A process that the rank left behind may hold its output open, or the launcher's reader may be
 * slow. The launcher still learns then how the rank ended. */
#define RANK_LATE_MS 200

struct ranks;

enum rank_state {
    RANK_WAITING,  /* waits for its turn */
    RANK_FORKING,  /* the guard was asked to fork the rank and to set it up */
    RANK_STANDING, /* waits for GO, then for execve() */
    RANK_RUNNING,  /* was executed */
    RANK_ENDED,    /* its process has ended; EXIT may still wait for the streams */
    RANK_REPORTED, /* EXIT was sent */
};

struct rank {
    struct ranks                *ranks; /* the ranks of this node */
    const struct node_plan_rank *plan;
    int                          index;
    enum rank_state              state;
    pid_t                        pid;  /* known once it is started */
    int64_t                      started_ns; /* by clock_now_ns(), once it is */
    char                        *path; /* the program */
    struct strlist               env;
    struct log_file             *log; /* NULL: none */
    struct input                 input;
    struct stream                out, err; /* with a terminal err is not open */
    struct step_watch            called;     /* muster.step(); then only these steps count */
    uint64_t                     steps_told; /* as rank_take_steps() last counted them */
    struct bufferevent          *pmi; /* NULL: none, or closed */
    struct event                *late;
    bool                         is_late;
    struct guard_message         end; /* as reported by the guard */
};

void rank_init(struct rank *rank, struct ranks *ranks, int index);

/* Finds the rank's program and makes its environment, on top of base. threads:
 * OMP_NUM_THREADS. -1 with failure. */
int rank_prepare(struct rank *rank, const struct strlist *base, int threads,
                 struct failure *failure);

/* Begins to create the rank's log file. -1 with err. */
int rank_open_log(struct rank *rank, struct error *err);

/* Makes pipes and the PMI socket, and asks the guard to fork the rank. -1 with failure. */
int  rank_fork(struct rank *rank, struct failure *failure);
/* False if the thread of the rank's log file hangs: see log_file_free(). */
bool rank_clear(struct rank *rank);

/* Explains why the rank ended before GO, after the guard has reported that. */
void rank_explain(const struct rank *rank, struct failure *failure);

/* Events of the guard. */
void rank_stands(struct rank *rank);
void rank_started(struct rank *rank, const struct guard_message *message);
void rank_ended(struct rank *rank, const struct guard_message *message);
/* The guard will not report the rank's end: the run was stopped before the rank was started
 * (SIGTERM), or the rank was lost with the guard (SIGKILL). */
void rank_cancel(struct rank *rank, int signal);

/* The user's terminal has another size now. */
void rank_resize(struct rank *rank, int rows, int columns);

/* Passes on the launcher's answer about shards; the rank's PMI continues. */
void rank_shard_answer(struct rank *rank, const void *line, size_t size);

/* Sends EXIT if it is due. */
void rank_maybe_report(struct rank *rank);

struct rank_steps {
    const struct step_watch *exact;   /* what shows its steps best */
    const struct step_watch *latest;  /* what has shown the last one */
    uint64_t                 count;   /* of all that it has reported */
};

/* Returns the stream whose steps have a loss; NULL: none has. */
const struct step_watch *rank_loss(const struct rank *rank);

/* What has the rank reported? False: no step since the last call. */
bool rank_take_steps(struct rank *rank, struct rank_steps *steps);
/* Returns when the rank reported its last step before at_ns, by clock_now_ns(); -1: not known. */
int64_t rank_step_before(const struct rank *rank, int64_t at_ns);
/* The rank has called muster.step(). */
void rank_step(struct rank *rank, int64_t step, int64_t last);

/* True if the ends of both streams were sent, or there were no streams. */
bool rank_is_silent(const struct rank *rank);
/* True if no more output can be read. */
bool rank_is_closed(const struct rank *rank);
/* Stops waiting for more output. */
void rank_give_up(struct rank *rank);

#endif
