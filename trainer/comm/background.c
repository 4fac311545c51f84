/* background.c - see background.h; a queue with one reader, its thread
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/background.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"
#include "xalloc.h"

#define JOBS_MAX 1024 /* unfinished jobs in the queue; a caller that issues more waits */

struct job {
    enum job_kind {
        ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, BROADCAST, SEND, RECV,
        BARRIER, GROUP_START, GROUP_END
    } kind;
    const void *in;
    void       *out;
    size_t      count;
    enum dtype  type;
    enum redop  op;
    int         peer; /* or root */
};

struct background {
    struct comm     base;
    struct comm_ops ops; /* background_ops with inner's name and release */
    struct comm    *inner;
    pthread_t       thread;
    pthread_mutex_t mutex;
    pthread_cond_t  issued_one, done_one;

    /* The mutex protects all fields below. Job i is queue[i % JOBS_MAX]. */
    struct job   queue[JOBS_MAX];
    uint64_t     issued, done;
    bool         is_leaving; /* the thread exits when the queue is empty */
    bool         has_failed; /* err says why; the thread starts no more jobs */
    struct error err;
};

static const struct comm_ops background_ops;

static void *work(void *arg);
static bool  next_job(struct background *bg, struct job *job);
static int   run(struct comm *comm, const struct job *job, struct error *err);
static int   issue(struct comm *comm, struct job job, struct error *err);
static int   wait_until(struct background *bg, uint64_t until, struct error *err);
static void  leave(struct background *bg);

struct comm *comm_background(struct comm *inner, struct error *err)
{
    struct background *bg = xcalloc(1, sizeof *bg);
    int                rc;

    bg->base = *inner;
    bg->base.ops = &bg->ops;
    bg->ops = background_ops;
    bg->ops.name = inner->ops->name;
    bg->ops.release = inner->ops->release;
    bg->inner = inner;
    pthread_mutex_init(&bg->mutex, NULL);
    pthread_cond_init(&bg->issued_one, NULL);
    pthread_cond_init(&bg->done_one, NULL);
    rc = thread_start(&bg->thread, work, bg);
    if (rc == 0)
        return &bg->base;
    free(bg);
    err_set(err, "cannot start a thread for communication: %s", strerror(rc));
    return NULL;
}

/* ---- the thread ---- */

static void *work(void *arg)
{
    struct background *bg = arg;
    struct error       err;
    struct job         job;
    int                rc;

    while (next_job(bg, &job)) {
        rc = run(bg->inner, &job, &err);
        pthread_mutex_lock(&bg->mutex);
        if (rc < 0) {
            bg->has_failed = true;
            bg->err = err;
            bg->base.timed_out = bg->inner->timed_out;
        }
        bg->done++;
        pthread_cond_broadcast(&bg->done_one);
        pthread_mutex_unlock(&bg->mutex);
    }
    return NULL;
}

/* Returns false if the queue is empty and no job will follow. */
static bool next_job(struct background *bg, struct job *job)
{
    bool is_there;

    pthread_mutex_lock(&bg->mutex);
    while (!bg->is_leaving && (bg->done == bg->issued || bg->has_failed))
        pthread_cond_wait(&bg->issued_one, &bg->mutex);
    is_there = bg->done < bg->issued && !bg->has_failed;
    if (is_there)
        *job = bg->queue[bg->done % JOBS_MAX];
    pthread_mutex_unlock(&bg->mutex);
    return is_there;
}

static int run(struct comm *comm, const struct job *j, struct error *err)
{
    const struct comm_ops *ops = comm->ops;

    switch (j->kind) {
    case ALL_REDUCE:
        return ops->all_reduce(comm, j->in, j->out, j->count, j->type, j->op, err);
    case REDUCE_SCATTER:
        return ops->reduce_scatter(comm, j->in, j->out, j->count, j->type, j->op, err);
    case ALL_GATHER:
        return ops->all_gather(comm, j->in, j->out, j->count, j->type, err);
    case ALL_TO_ALL:
        return ops->all_to_all(comm, j->in, j->out, j->count, j->type, err);
    case BROADCAST:
        return ops->broadcast(comm, j->out, j->count, j->type, j->peer, err);
    case SEND:
        return ops->send(comm, j->in, j->count, j->type, j->peer, err);
    case RECV:
        return ops->recv(comm, j->out, j->count, j->type, j->peer, err);
    case BARRIER:
        return ops->barrier(comm, err);
    case GROUP_START:
        return ops->group_start(comm, err);
    case GROUP_END:
        return ops->group_end(comm, err);
    }
    return err_set(err, "no such operation");
}

/* ---- the operations ---- */

static int issue(struct comm *comm, struct job job, struct error *err)
{
    struct background *bg = (struct background *)comm;
    int                rc = 0;

    pthread_mutex_lock(&bg->mutex);
    while (bg->issued - bg->done == JOBS_MAX && !bg->has_failed)
        pthread_cond_wait(&bg->done_one, &bg->mutex);
    if (bg->has_failed) {
        rc = err_set(err, "%s", bg->err.text);
    } else {
        bg->queue[bg->issued++ % JOBS_MAX] = job;
        pthread_cond_signal(&bg->issued_one);
    }
    pthread_mutex_unlock(&bg->mutex);
    return rc;
}

static int all_reduce(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, enum redop op, struct error *err)
{
    return issue(comm, (struct job){ ALL_REDUCE, in, out, count, type, op, 0 }, err);
}

static int reduce_scatter(struct comm *comm, const void *in, void *out, size_t count,
                          enum dtype type, enum redop op, struct error *err)
{
    return issue(comm, (struct job){ REDUCE_SCATTER, in, out, count, type, op, 0 }, err);
}

static int all_gather(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, struct error *err)
{
    return issue(comm, (struct job){ ALL_GATHER, in, out, count, type, REDOP_SUM, 0 }, err);
}

static int all_to_all(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, struct error *err)
{
    return issue(comm, (struct job){ ALL_TO_ALL, in, out, count, type, REDOP_SUM, 0 }, err);
}

static int broadcast(struct comm *comm, void *buffer, size_t count, enum dtype type, int root,
                     struct error *err)
{
    return issue(comm, (struct job){ BROADCAST, NULL, buffer, count, type, REDOP_SUM, root },
                 err);
}

static int send_to(struct comm *comm, const void *in, size_t count, enum dtype type, int peer,
                   struct error *err)
{
    return issue(comm, (struct job){ SEND, in, NULL, count, type, REDOP_SUM, peer }, err);
}

static int recv_from(struct comm *comm, void *out, size_t count, enum dtype type, int peer,
                     struct error *err)
{
    return issue(comm, (struct job){ RECV, NULL, out, count, type, REDOP_SUM, peer }, err);
}

static int group_start(struct comm *comm, struct error *err)
{
    return issue(comm, (struct job){ .kind = GROUP_START }, err);
}

static int group_end(struct comm *comm, struct error *err)
{
    return issue(comm, (struct job){ .kind = GROUP_END }, err);
}

static uint64_t mark(struct comm *comm)
{
    struct background *bg = (struct background *)comm;
    uint64_t           issued;

    pthread_mutex_lock(&bg->mutex);
    issued = bg->issued;
    pthread_mutex_unlock(&bg->mutex);
    return issued;
}

static int wait_for(struct comm *comm, uint64_t until, struct error *err)
{
    return wait_until((struct background *)comm, until, err);
}

static int barrier(struct comm *comm, struct error *err)
{
    if (issue(comm, (struct job){ .kind = BARRIER }, err) < 0)
        return -1;
    return wait_for(comm, mark(comm), err);
}

/* Needs no deadline of its own: inner gives each operation one. */
static int wait_until(struct background *bg, uint64_t until, struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&bg->mutex);
    while (bg->done < until && !bg->has_failed)
        pthread_cond_wait(&bg->done_one, &bg->mutex);
    if (bg->has_failed)
        rc = err_set(err, "%s", bg->err.text);
    pthread_mutex_unlock(&bg->mutex);
    return rc;
}

/* ---- memory, close and abort ---- */

static void *alloc(struct comm *comm, size_t size, struct error *err)
{
    struct comm *inner = ((struct background *)comm)->inner;

    return inner->ops->alloc(inner, size, err);
}

static int copy(struct comm *comm, void *to, const void *from, size_t size,
                enum comm_copy direction, struct error *err)
{
    struct comm *inner = ((struct background *)comm)->inner;

    if (wait_for(comm, mark(comm), err) < 0)
        return -1;
    return inner->ops->copy(inner, to, from, size, direction, err);
}

static int close_comm(struct comm *comm, struct error *err)
{
    struct background *bg = (struct background *)comm;
    struct comm       *inner = bg->inner;
    int                rc = wait_for(comm, mark(comm), err);

    leave(bg);
    if (rc == 0)
        return inner->ops->close(inner, err);
    inner->ops->abort(inner);
    return rc;
}

static void abort_comm(struct comm *comm)
{
    struct background *bg = (struct background *)comm;
    struct comm       *inner = bg->inner;
    bool               is_busy;

    pthread_mutex_lock(&bg->mutex);
    is_busy = bg->done < bg->issued && !bg->has_failed;
    pthread_mutex_unlock(&bg->mutex);
    if (is_busy) {
        pthread_detach(bg->thread); /* it still uses bg and inner */
        return;
    }
    leave(bg);
    inner->ops->abort(inner);
}

static void leave(struct background *bg)
{
    pthread_mutex_lock(&bg->mutex);
    bg->is_leaving = true;
    pthread_cond_signal(&bg->issued_one);
    pthread_mutex_unlock(&bg->mutex);
    pthread_join(bg->thread, NULL);
    pthread_cond_destroy(&bg->issued_one);
    pthread_cond_destroy(&bg->done_one);
    pthread_mutex_destroy(&bg->mutex);
    free(bg);
}

static const struct comm_ops background_ops = {
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .all_to_all = all_to_all,
    .broadcast = broadcast,
    .send = send_to,
    .recv = recv_from,
    .barrier = barrier,
    .group_start = group_start,
    .group_end = group_end,
    .mark = mark,
    .wait = wait_for,
    .alloc = alloc,
    .copy = copy,
    .close = close_comm,
    .abort = abort_comm,
};
