/* rank.h - one rank as the agent sees it
 *
 * Its process belongs to the guard. This module has its two output streams, its PMI
 * socket, its log file, and what is known of its end. EXIT goes to the launcher
 * when the process and both streams have ended, in whichever order; or, marked
 * late, RANK_LATE_MS after the end of the process.
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
#include "rank/stream.h"

/* A process that the rank left behind may hold its output open, or the
 * launcher's reader may be slow: the launcher still learns how the rank ended. */
#define RANK_LATE_MS 200

struct ranks;

enum rank_state {
    RANK_WAITING,  /* for its turn */
    RANK_FORKING,  /* the guard was asked to fork it and to set it up */
    RANK_STANDING, /* waits for GO, then for execve() */
    RANK_RUNNING,  /* executed */
    RANK_ENDED,    /* its process has; EXIT may still wait for the streams */
    RANK_REPORTED, /* EXIT was sent */
};

struct rank {
    struct ranks                *ranks; /* it is one of */
    const struct node_plan_rank *plan;
    int                          index;
    enum rank_state              state;
    pid_t                        pid;  /* once started */
    char                        *path; /* the program */
    struct strlist               env;
    struct log_file             *log; /* NULL: none */
    struct stream                out, err;
    struct bufferevent          *pmi; /* NULL: none, or closed */
    struct event                *late;
    bool                         is_late;
    struct guard_message         end; /* as the guard reported it */
};

void rank_init(struct rank *rank, struct ranks *ranks, int index);

/* Find its program and make its environment, on top of base. threads: OMP_NUM_THREADS.
 * -1 with failure. */
int rank_prepare(struct rank *rank, const struct strlist *base, int threads,
                 struct failure *failure);

/* Begin to make its log file. -1 with err. */
int rank_open_log(struct rank *rank, struct error *err);

/* Make pipes and PMI socket and ask the guard to fork it. -1 with failure. */
int  rank_fork(struct rank *rank, struct failure *failure);
/* False when the thread of its log file hangs: see log_file_free(). */
bool rank_clear(struct rank *rank);

/* After the guard has reported its end before GO: why. */
void rank_explain(const struct rank *rank, struct failure *failure);

/* Events of the guard. */
void rank_stands(struct rank *rank);
void rank_started(struct rank *rank, const struct guard_message *message);
void rank_ended(struct rank *rank, const struct guard_message *message);
/* The guard will not report its end: the run was stopped before it was started
 * (SIGTERM), or it was lost with the guard (SIGKILL). */
void rank_cancel(struct rank *rank, int signal);

/* What the launcher answers about shards; its PMI goes on. */
void rank_shard_answer(struct rank *rank, const void *line, size_t size);

/* Send EXIT when it is due. */
void rank_maybe_report(struct rank *rank);

/* Both ends of output were sent, or there never were any. */
bool rank_is_silent(const struct rank *rank);
/* Nothing more can be read from it. */
bool rank_is_closed(const struct rank *rank);
/* Do not wait for more output. */
void rank_give_up(struct rank *rank);

#endif
