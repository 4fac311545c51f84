/* ranks.h - the ranks of this node, and what they share
 *
 * Fork them a few at a time, let them all go at once, count those that stand and those that
 * have ended, and remember when the run began and when a stop began here. ranks.c alone
 * writes this struct; everybody may read it. What the ranks need of the rest of the
 * agent they get by pointer, or ask for by rank_ops.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RANKS_H
#define MUSTER_AGENT_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "err.h"
#include "frame.h"
#include "guard/guard.h"
#include "plan/bind.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "rank/oom.h"
#include "rank/open_mpi_watch.h"
#include "rank/pmi.h"
#include "rank/rank.h"
#include "strlist.h"

/* What ranks ask for; arg is the one of ranks_init(). */
struct rank_ops {
    /* Send a frame about this rank (its number in the whole run). Owns body. */
    void (*tell)(enum frame_type type, uint32_t rank, json_t *body, void *arg);
    /* A stream has bytes or has ended, or EXIT went out. */
    void (*output)(void *arg);
    /* A log file was created, has failed or is over. */
    void (*log_changed)(void *arg);
    struct pmi_ops pmi;
};

struct ranks {
    struct event_base      *base;  /* these five are borrowed */
    struct guard           *guard;
    const struct node_plan *plan;
    const struct rank_ops  *ops;
    void                   *arg;
    struct rank            *rank;
    int                     count;      /* 0 before PLAN */
    int                     next_fork;  /* index of the next rank to fork */
    int                     forking;    /* how many are between SPAWN and STANDS */
    int                     standing;   /* have been set up, whatever came then */
    int                     ended;
    bool                    has_begun;  /* GO has come */
    int64_t                 stopped_ns; /* when a stop began, whoever began it; 0: not */
    struct binding          binding;
    struct memory           memory;
    struct pmi             *pmi; /* NULL: none */
    struct open_mpi_watch  *open_mpi; /* NULL: nothing to look for */
};

/* PLAN has come. */
void ranks_init(struct ranks *ranks, struct event_base *base, struct guard *guard,
                const struct node_plan *plan, const struct rank_ops *ops, void *arg);
/* False when the thread of a log file hangs: see log_file_free(). */
bool ranks_clear(struct ranks *ranks);

/* Find the programs, the environments (on top of base) and the cores. -1 with failure. */
int ranks_prepare(struct ranks *ranks, const struct strlist *base, struct failure *failure);
/* Begin to create the log files, if the plan wants any. -1 with err. */
int ranks_open_logs(struct ranks *ranks, struct error *err);
/* 1: all log files are there; 0: not yet; -1 with err. */
int ranks_logs_created(struct ranks *ranks, struct error *err);

/* Fork as many as may be between SPAWN and STANDS at a time. -1 with failure. */
int  ranks_fork(struct ranks *ranks, struct failure *failure);
bool ranks_all_stand(const struct ranks *ranks);
/* GO has come: each becomes its program. -1 with err. */
int  ranks_begin(struct ranks *ranks, struct error *err);

/* Events of the guard; NULL when message->id is no rank. */
struct rank *ranks_stands(struct ranks *ranks, const struct guard_message *message);
struct rank *ranks_started(struct ranks *ranks, const struct guard_message *message);
struct rank *ranks_exited(struct ranks *ranks, const struct guard_message *message);
bool         ranks_all_ended(const struct ranks *ranks);

/* A stop began at that time; only the first one counts: false if there was one. */
bool ranks_stopped(struct ranks *ranks, int64_t at_ns);
/* No rank is forked from now on. Those that are not end by SIGTERM or, if the guard is gone, all
 * that have not ended by SIGKILL. How many that were. */
int  ranks_cancel(struct ranks *ranks, bool is_guard_gone);
/* KILL could not end them: they end by SIGKILL for the launcher. */
void ranks_abandon(struct ranks *ranks);

/* Do not wait for more output. */
void ranks_give_up(struct ranks *ranks);
/* Nobody listens any more: throw away what waits, now and from here on. */
void ranks_discard(struct ranks *ranks);

/* Every EXIT and both ends of every output were sent; nothing more can be read. */
bool ranks_are_reported(const struct ranks *ranks);
bool ranks_are_closed(const struct ranks *ranks);
/* No more comes into the log files: true when all of it is there. If the run did not
 * begin, they are removed. */
bool ranks_end_logs(struct ranks *ranks);

/* The library by which the ranks were seen to use Open MPI, and so not each other; or NULL. */
const char *ranks_open_mpi(const struct ranks *ranks);

/* The launcher's part of PMI's barrier. -1 with err. */
int ranks_kvs(struct ranks *ranks, const json_t *body, struct error *err);
/* Its answer about shards to a rank (its number in the whole run). -1 with err. */
int ranks_shard(struct ranks *ranks, const struct frame *frame, struct error *err);

#endif
