/* ranks.c - see ranks.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "plan/open_mpi.h"
#include "xalloc.h"

/* Ranks between SPAWN and STANDS; a hundred times that would fill the guard's
 * socket in both directions. */
#define FORKING_MAX 16

static int          compile_progress(struct ranks *ranks, struct failure *failure);
static int          find_pmix(struct ranks *ranks, struct failure *failure);
static struct rank *rank_of(struct ranks *ranks, const struct guard_message *message);

void ranks_init(struct ranks *ranks, struct event_base *base, struct guard *guard,
                const struct node_plan *plan, const struct rank_ops *ops, void *arg)
{
    int i;

    *ranks = (struct ranks){ .base = base, .guard = guard, .plan = plan, .ops = ops, .arg = arg,
                             .count = plan->ranks };
    ranks->rank = xcalloc((size_t)ranks->count, sizeof *ranks->rank);
    for (i = 0; i < ranks->count; i++)
        rank_init(&ranks->rank[i], ranks, i);
    if (plan->kvsname != NULL)
        ranks->pmi = pmi_new(plan->kvsname, plan->mapping, plan->world_size, ranks->count,
                             &ops->pmi, arg);
}

bool ranks_clear(struct ranks *ranks)
{
    bool is_alone = true;
    int  i;

    for (i = 0; i < ranks->count; i++)
        is_alone = rank_clear(&ranks->rank[i]) && is_alone;
    free(ranks->rank);
    pmi_free(ranks->pmi);
    pmix_free(ranks->pmix);
    free(ranks->pmix_path);
    open_mpi_watch_free(ranks->open_mpi);
    bind_clear(&ranks->binding);
    step_pattern_free(ranks->progress);
    *ranks = (struct ranks){ 0 };
    return is_alone;
}

int ranks_prepare(struct ranks *ranks, const struct strlist *base, struct failure *failure)
{
    int i, threads;

    if (compile_progress(ranks, failure) < 0 ||
        prepare_binding(ranks->plan, base, &ranks->binding, &threads, failure) < 0)
        return -1;
    for (i = 0; i < ranks->count; i++)
        if (rank_prepare(&ranks->rank[i], base, threads, failure) < 0)
            return -1;
    return find_pmix(ranks, failure);
}

/* The launcher has compiled it, too, but perhaps with another libc. */
static int compile_progress(struct ranks *ranks, struct failure *failure)
{
    struct error why;

    if (ranks->plan->progress == NULL)
        return 0;
    ranks->progress = step_pattern_new(ranks->plan->progress, &why);
    return ranks->progress != NULL
               ? 0 : failure_set(failure, EXIT_USAGE, "", "--progress: %s", why.text);
}

/* All ranks run the same program. */
static int find_pmix(struct ranks *ranks, struct failure *failure)
{
    const struct node_plan *plan = ranks->plan;
    const struct rank      *first = &ranks->rank[0];
    char                    library[64];
    bool                    is_linked = open_mpi_matters(plan) &&
                     open_mpi_is_linked(first->path, library, sizeof library);

    if (!is_linked && !plan->wants_pmix)
        return 0;
    if (plan->pmix_name != NULL)
        ranks->pmix_path = pmix_find(&first->env);
    return ranks->pmix_path != NULL
               ? 0 : open_mpi_refuse(first->path, is_linked ? library : NULL, failure);
}

void ranks_set_unless(struct ranks *ranks, const char *const name[2], const char *value)
{
    struct strlist *env;
    int             i;

    for (i = 0; i < ranks->count; i++) {
        env = &ranks->rank[i].env;
        if (env_get(env, name[0]) != NULL || (name[1] != NULL && env_get(env, name[1]) != NULL))
            continue;
        env_set(env, name[0], value);
        if (name[1] != NULL)
            env_set(env, name[1], value);
    }
}

void ranks_set_stack(struct ranks *ranks, int signal, const char *dir)
{
    char *file;
    int   i;

    for (i = 0; i < ranks->count; i++) {
        env_setf(&ranks->rank[i].env, "MUSTER_STACK_SIGNAL", "%d", signal);
        if (dir == NULL)
            continue;
        file = ranks_stack_file(&ranks->rank[i], dir);
        env_set(&ranks->rank[i].env, "MUSTER_STACK_FILE", file);
        free(file);
    }
}

char *ranks_stack_file(const struct rank *rank, const char *dir)
{
    return xasprintf("%s/stack-%u", dir, rank->plan->rank);
}

void ranks_start_pmix(struct ranks *ranks, unsigned generation, const struct strlist *env)
{
    if (ranks->pmix_path != NULL)
        ranks->pmix = pmix_start(ranks->base, ranks->guard, ranks->plan, generation,
                                 ranks->pmix_path, env, &ranks->ops->pmix, ranks->arg);
}

void ranks_take_pmix(struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        pmix_env(ranks->pmix, i, &ranks->rank[i].env);
    ranks->has_pmix = true;
}

void ranks_end_pmix(struct ranks *ranks)
{
    if (ranks->pmix != NULL)
        pmix_end(ranks->pmix);
}

void ranks_pmix_exited(struct ranks *ranks, const struct guard_message *message)
{
    if (ranks->pmix != NULL)
        pmix_exited(ranks->pmix, message);
}

int ranks_open_logs(struct ranks *ranks, struct error *err)
{
    int i;

    for (i = 0; i < ranks->count && ranks->plan->log_dir != NULL; i++)
        if (rank_open_log(&ranks->rank[i], err) < 0)
            return -1;
    return 0;
}

int ranks_logs_created(struct ranks *ranks, struct error *err)
{
    int i, rc, all = 1;

    for (i = 0; i < ranks->count && ranks->plan->log_dir != NULL; i++) {
        rc = log_file_created(ranks->rank[i].log, err);
        if (rc < 0)
            return -1;
        all = all && rc;
    }
    return all;
}

int ranks_fork(struct ranks *ranks, struct failure *failure)
{
    if (ranks->pmix_path != NULL && !ranks->has_pmix)
        return 0;
    while (ranks->forking < FORKING_MAX && ranks->next_fork < ranks->count) {
        if (rank_fork(&ranks->rank[ranks->next_fork], failure) < 0)
            return -1;
        ranks->next_fork++;
        ranks->forking++;
    }
    return 0;
}

bool ranks_all_stand(const struct ranks *ranks)
{
    return ranks->standing == ranks->count;
}

int ranks_begin(struct ranks *ranks, struct error *err)
{
    ranks->has_begun = true;
    oom_begin(&ranks->memory);
    if (guard_go(ranks->guard) < 0 && errno != EPIPE && errno != ECONNRESET)
        return err_set(err, "cannot tell the guard to start the ranks: %s", strerror(errno));
    return 0;
}

struct rank *ranks_stands(struct ranks *ranks, const struct guard_message *message)
{
    struct rank *rank = rank_of(ranks, message);

    if (rank == NULL)
        return NULL;
    ranks->forking--;
    ranks->standing++;
    rank_stands(rank);
    return rank;
}

struct rank *ranks_started(struct ranks *ranks, const struct guard_message *message)
{
    struct rank *rank = rank_of(ranks, message);

    if (rank != NULL)
        rank_started(rank, message);
    if (rank != NULL && rank->index == 0 && ranks->pmix == NULL && open_mpi_matters(ranks->plan))
        ranks->open_mpi = open_mpi_watch_new(rank->pid);
    return rank;
}

struct rank *ranks_exited(struct ranks *ranks, const struct guard_message *message)
{
    struct rank *rank = rank_of(ranks, message);

    if (rank == NULL)
        return NULL;
    if (rank->state == RANK_FORKING)
        ranks->forking--;
    ranks->ended++;
    rank_ended(rank, message);
    if (rank->index == 0)
        open_mpi_watch_stop(ranks->open_mpi);
    return rank;
}

static struct rank *rank_of(struct ranks *ranks, const struct guard_message *message)
{
    return message->id >= 0 && message->id < ranks->count ? &ranks->rank[message->id] : NULL;
}

bool ranks_all_ended(const struct ranks *ranks)
{
    return ranks->ended >= ranks->count;
}

bool ranks_have_ended_well(const struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        if (ranks->rank[i].end.value != 0)
            return false;
    return ranks->stopped_ns == 0;
}

bool ranks_stopped(struct ranks *ranks, int64_t at_ns)
{
    if (ranks->stopped_ns != 0)
        return false;
    ranks->stopped_ns = at_ns;
    return true;
}

int ranks_cancel(struct ranks *ranks, bool is_guard_gone)
{
    int i, cancelled = 0;

    for (i = 0; i < ranks->count; i++)
        if (ranks->rank[i].state == RANK_WAITING ||
            (is_guard_gone && ranks->rank[i].state < RANK_ENDED)) {
            rank_cancel(&ranks->rank[i], is_guard_gone ? SIGKILL : SIGTERM);
            cancelled++;
        }
    ranks->ended += cancelled;
    ranks->next_fork = ranks->count;
    return cancelled;
}

void ranks_abandon(struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++) {
        rank_give_up(&ranks->rank[i]);
        if (ranks->rank[i].state < RANK_ENDED)
            rank_cancel(&ranks->rank[i], SIGKILL);
    }
}

void ranks_give_up(struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        rank_give_up(&ranks->rank[i]);
}

void ranks_discard(struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++) {
        stream_discard(&ranks->rank[i].out);
        stream_discard(&ranks->rank[i].err);
    }
}

bool ranks_are_reported(const struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        if (ranks->rank[i].state != RANK_REPORTED || !rank_is_silent(&ranks->rank[i]))
            return false;
    return true;
}

bool ranks_are_closed(const struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        if (!rank_is_closed(&ranks->rank[i]))
            return false;
    return true;
}

bool ranks_end_logs(struct ranks *ranks)
{
    bool are_over = true;
    int  i;

    for (i = 0; i < ranks->count; i++) {
        struct log_file *log = ranks->rank[i].log;

        if (log == NULL)
            continue;
        log_file_end(log, ranks->has_begun);
        are_over = log_file_is_over(log) && are_over;
    }
    return are_over;
}

void ranks_input(struct ranks *ranks, const void *bytes, size_t size)
{
    int i;

    ranks->input_came += size;
    for (i = 0; i < ranks->count; i++)
        if (size > 0)
            input_add(&ranks->rank[i].input, bytes, size);
        else
            input_end(&ranks->rank[i].input);
}

uint64_t ranks_input_taken(struct ranks *ranks)
{
    size_t   waiting, most = 0;
    uint64_t taken;
    int      i;

    for (i = 0; i < ranks->count; i++) {
        waiting = input_waiting(&ranks->rank[i].input);
        most = waiting > most ? waiting : most;
    }
    most = most < ranks->input_came ? most : (size_t)ranks->input_came; /* a terminal's end */
    taken = ranks->input_came - most;
    if (taken <= ranks->input_told)
        return 0;
    taken -= ranks->input_told;
    ranks->input_told += taken;
    return taken;
}

bool ranks_take_input(const struct ranks *ranks)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        if (ranks->rank[i].input.fd >= 0 && !ranks->rank[i].input.is_ending)
            return true;
    return false;
}

void ranks_resize(struct ranks *ranks, int rows, int columns)
{
    int i;

    for (i = 0; i < ranks->count; i++)
        rank_resize(&ranks->rank[i], rows, columns);
}

const char *ranks_open_mpi(const struct ranks *ranks)
{
    return ranks->pmi != NULL && pmi_was_asked(ranks->pmi)
               ? NULL : open_mpi_watch_library(ranks->open_mpi);
}

int ranks_kvs(struct ranks *ranks, const json_t *body, struct error *err)
{
    int i, rc;

    if (ranks->pmi == NULL)
        return err_set(err, "KVS frame, but the plan has no PMI");
    open_mpi_watch_stop(ranks->open_mpi);
    rc = pmi_union(ranks->pmi, body, err);
    for (i = 0; i < ranks->count && rc > 0; i++)
        if (ranks->rank[i].pmi != NULL)
            pmi_release(ranks->pmi, i, bufferevent_get_output(ranks->rank[i].pmi));
    return rc < 0 ? -1 : 0;
}

int ranks_shard(struct ranks *ranks, const struct frame *frame, struct error *err)
{
    /* Usually the ranks have consecutive numbers. */
    int64_t at = ranks->count > 0 ? (int64_t)frame->rank - ranks->rank[0].plan->rank : -1;
    int     i;

    if (ranks->pmi == NULL)
        return err_set(err, "SHARD frame, but the plan has no PMI");
    if (at < 0 || at >= ranks->count || ranks->rank[at].plan->rank != frame->rank)
        for (i = 0, at = -1; i < ranks->count && at < 0; i++)
            if (ranks->rank[i].plan->rank == frame->rank)
                at = i;
    if (at < 0)
        return err_set(err, "SHARD frame: rank %u is not on this node", frame->rank);
    if (frame->size == 0 || frame->size > PMI_LINE_MAX || frame->body[frame->size - 1] != '\n' ||
        memchr(frame->body, '\n', frame->size) != frame->body + frame->size - 1)
        return err_set(err, "SHARD frame: not one line");
    rank_shard_answer(&ranks->rank[at], frame->body, frame->size);
    return 0;
}
