/* ranks.h - the ranks of this node, and what they share
 *
 * Forks the ranks a few at a time, lets them all execute at once, counts those that are set up
 * and those that have ended, and records when the run began and when a stop began here. Only
 * ranks.c writes this struct; all files may read it. The ranks reach the rest of the agent by
 * pointers, or by rank_ops.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RANKS_H
#define MUSTER_AGENT_RANKS_H

#include <regex.h>
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
#include "rank/pmix.h"
#include "rank/rank.h"
#include "strlist.h"

/* Callbacks of the ranks; arg is the one given to ranks_init(). */
struct rank_ops {
    /* Sends a frame about this rank (its number in the whole run). Owns body. */
    void (*tell)(enum frame_type type, uint32_t rank, json_t *body, void *arg);
    /* A stream has bytes or has ended, or EXIT was sent. */
    void (*output)(void *arg);
    /* A rank has taken some of its input, or takes no more. */
    void (*input)(void *arg);
    /* A log file was created, has failed or is complete. */
    void (*log_changed)(void *arg);
    struct pmi_ops  pmi;
    struct pmix_ops pmix; /* once it is ready, call ranks_take_pmix() */
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
    int                     forking;    /* ranks between SPAWN and STANDS */
    int                     standing;   /* ranks that have been set up, even if they ended */
    int                     ended;
    bool                    has_begun;  /* GO has arrived */
    uint64_t                input_came; /* bytes of the ranks' input; all get the same */
    uint64_t                input_told; /* ... that ranks_input_taken() has returned */
    int64_t                 stopped_ns; /* when a stop began, whatever caused it; 0: no stop */
    struct binding          binding;
    struct memory           memory;
    regex_t                *progress; /* --progress; NULL: none */
    struct pmi             *pmi; /* NULL: none */
    char                   *pmix_path; /* of muster-pmix; NULL: the ranks do not need it */
    struct pmix            *pmix; /* NULL: not started */
    bool                    has_pmix; /* it is ready, and the ranks know it */
    struct open_mpi_watch  *open_mpi; /* NULL: no watch */
};

/* PLAN has arrived. */
void ranks_init(struct ranks *ranks, struct event_base *base, struct guard *guard,
                const struct node_plan *plan, const struct rank_ops *ops, void *arg);
/* False if the thread of a log file hangs: see log_file_free(). */
bool ranks_clear(struct ranks *ranks);

/* Finds the programs, the environments (on top of base) and the cores. -1 with failure. */
int ranks_prepare(struct ranks *ranks, const struct strlist *base, struct failure *failure);
/* Sets a variable by both names (the second may be NULL) for each rank that has neither. */
void ranks_set_unless(struct ranks *ranks, const char *const name[2], const char *value);
/* Sets MUSTER_STACK_SIGNAL of each rank, and with a dir MUSTER_STACK_FILE to a file in it. */
void ranks_set_stack(struct ranks *ranks, int signal, const char *dir);
/* Returns that file; the caller frees it. */
char *ranks_stack_file(const struct rank *rank, const char *dir);
/* Starts muster-pmix if the ranks need it; they are forked once it is ready. env: for it. */
void ranks_start_pmix(struct ranks *ranks, unsigned generation, const struct strlist *env);
void ranks_take_pmix(struct ranks *ranks);
/* All ranks have ended, so that it may end, too. */
void ranks_end_pmix(struct ranks *ranks);
/* The guard has reported its end. */
void ranks_pmix_exited(struct ranks *ranks, const struct guard_message *message);

/* Begins to create the log files, if the plan wants any. -1 with err. */
int ranks_open_logs(struct ranks *ranks, struct error *err);
/* 1: all log files exist; 0: not yet; -1 with err. */
int ranks_logs_created(struct ranks *ranks, struct error *err);

/* Forks as many ranks as may be between SPAWN and STANDS at a time. -1 with failure. */
int  ranks_fork(struct ranks *ranks, struct failure *failure);
bool ranks_all_stand(const struct ranks *ranks);
/* GO has arrived: each rank executes its program. -1 with err. */
int  ranks_begin(struct ranks *ranks, struct error *err);

/* Handle events of the guard. NULL if message->id is not a rank. */
struct rank *ranks_stands(struct ranks *ranks, const struct guard_message *message);
struct rank *ranks_started(struct ranks *ranks, const struct guard_message *message);
struct rank *ranks_exited(struct ranks *ranks, const struct guard_message *message);
bool         ranks_all_ended(const struct ranks *ranks);
/* Has each ended with 0, or not yet, and was there no stop? */
bool         ranks_have_ended_well(const struct ranks *ranks);

/* A stop began at that time. Only the first stop counts: false if there was one before. */
bool ranks_stopped(struct ranks *ranks, int64_t at_ns);
/* Stops forking ranks. Ranks that were not forked end by SIGTERM; if the guard is gone, all
 * ranks that have not ended end by SIGKILL. Returns the number of cancelled ranks. */
int  ranks_cancel(struct ranks *ranks, bool is_guard_gone);
/* KILL could not kill the ranks: reports to the launcher that they ended by SIGKILL. */
void ranks_abandon(struct ranks *ranks);

/* Stops waiting for more output. */
void ranks_give_up(struct ranks *ranks);
/* The link is lost: drops waiting output, and all further output. */
void ranks_discard(struct ranks *ranks);

/* True if every EXIT and both ends of every output were sent; if no more can be read. */
bool ranks_are_reported(const struct ranks *ranks);
bool ranks_are_closed(const struct ranks *ranks);
/* Ends the log files: true when all output is in them. If the run did not
 * begin, they are removed. */
bool ranks_end_logs(struct ranks *ranks);

/* Gives these bytes to all ranks that get input; with size 0 the end of it. */
void ranks_input(struct ranks *ranks, const void *bytes, size_t size);
/* Returns how many more bytes every rank has taken since the last call, or will never take. */
uint64_t ranks_input_taken(struct ranks *ranks);
/* Does any rank still take input? */
bool ranks_take_input(const struct ranks *ranks);
/* The user's terminal, which some rank may have, has another size. */
void ranks_resize(struct ranks *ranks, int rows, int columns);

/* Returns the library that shows that the ranks use Open MPI and so do not
 * find each other; or NULL. */
const char *ranks_open_mpi(const struct ranks *ranks);

/* Takes the launcher's part of PMI's barrier. -1 with err. */
int ranks_kvs(struct ranks *ranks, const json_t *body, struct error *err);
/* Takes the launcher's answer about shards for a rank (its number in the
 * whole run). -1 with err. */
int ranks_shard(struct ranks *ranks, const struct frame *frame, struct error *err);

#endif
