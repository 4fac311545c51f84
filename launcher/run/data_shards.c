/* data_shards.c - see data_shards.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/data_shards.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "history/history.h"
#include "history/run_dir.h"
#include "log.h"
#include "run/run.h"
#include "runid.h"
#include "shards/shards.h"
#include "xalloc.h"
#include "xevent.h"

struct data_shards {
    struct shards *shards;
    struct event  *tick;    /* NULL: no rank has asked yet, and there is nothing to keep */
    int64_t        tick_ns; /* when it fires; 0: it is not set */
    json_t        *result;  /* set at the end */
    int            past_fd; /* the directory of the run that --shards-resume names; or -1 */
};

static int     resume(struct data_shards *data, const char *word, struct error *err);
static void    begin(struct run *run);
static void    go_on(struct run *run);
static void    take_over(const struct run *run);
static void    warn_of_next(int dir_fd, const char *run_id);
static void    set_tick(struct data_shards *data);
static struct shards *shards_of(const struct run *run);
static void    tick_cb(evutil_socket_t fd, short what, void *arg);
static void    tell(const char *run_id, const char *name, const struct queue_counts *counts);
static json_t *json_of(const char *name, const struct queue_counts *counts);

int data_shards_open(struct run *run, struct error *err)
{
    struct data_shards *data;
    const char         *word = run->options->shards_resume;

    if (run_is_exec(run))
        return 0;
    data = xcalloc(1, sizeof *data);
    data->shards = shards_new(run->plan->world_size);
    data->past_fd = -1;
    run->data_shards = data;
    if (run->options->resumed != NULL)
        word = NULL; /* the run's own file is newer */
    if (word != NULL && resume(data, word, err) < 0)
        return err_set(err, "--shards-resume %s: %s", word, err->text);
    return 0;
}

void data_shards_free(struct data_shards *data)
{
    if (data == NULL)
        return;
    if (data->tick != NULL)
        event_free(data->tick);
    shards_free(data->shards);
    json_decref(data->result);
    if (data->past_fd >= 0)
        close(data->past_fd);
    free(data);
}

/* muster resume looks only in the run's own directory. */
void data_shards_begin(struct run *run)
{
    if (run->data_shards == NULL || run->options->shards_resume == NULL)
        return;
    begin(run);
    take_over(run);
}

/* Refuses a run that still gives out its shards. */
static int resume(struct data_shards *data, const char *word, struct error *err)
{
    struct history         list;
    const struct past_run *past;
    int                    rc = -1;

    if (history_read(&list, err) == 0 && (past = history_find_over(&list, word, err)) != NULL) {
        if (past->state == PAST_RUN_ACTIVE)
            err_set(err, "that run is still running; stop it with muster stop");
        else if (past->state == PAST_RUN_ELSEWHERE)
            err_set(err, "that run may still be running on %s", past_run_host(past));
        else if ((rc = shards_resume(data->shards, past->dir_fd, err)) == 0)
            data->past_fd = fcntl(past->dir_fd, F_DUPFD_CLOEXEC, 0);
    }
    history_clear(&list);
    return rc;
}

/* If two runs continue from one state, the second warns. */
static void take_over(const struct run *run)
{
    const int past_fd = run->data_shards->past_fd;

    if (past_fd >= 0 && symlinkat(run->plan->run_id, past_fd, RUN_DIR_NEXT) < 0)
        warn_of_next(past_fd, run->plan->run_id);
}

static void warn_of_next(int dir_fd, const char *run_id)
{
    char    next[RUNID_MAX + 1] = "";
    ssize_t size = readlinkat(dir_fd, RUN_DIR_NEXT, next, sizeof next - 1);

    if (size > 0 && strcmp(next, run_id) != 0)
        log_warn("shards: run %s has already continued from that state: shards that it has "
                 "read are read again; --shards-resume=%s reads only what it has left",
                 next, next);
}

/* Called when the ranks of this run use shards, or the run resumes those of another. */
static void begin(struct run *run)
{
    struct data_shards *data = run->data_shards;

    if (data->tick != NULL)
        return;
    data->tick = evtimer_new(run->base, tick_cb, data);
    if (data->tick == NULL)
        xalloc_die();
    if (run->dir.path != NULL && faccessat(run->dir.fd, SHARDS_FILE, F_OK, 0) == 0)
        go_on(run);
    else if (run->dir.path == NULL || shards_keep(data->shards, run->dir.fd) < 0)
        log_warn("shards: there is no run directory for their state: a later run would read "
                 "them all again");
}

/* The directory is that of a run whose launcher was killed: continues from its state. */
static void go_on(struct run *run)
{
    struct data_shards *data = run->data_shards;
    struct error        err;

    warn_of_next(run->dir.fd, run->plan->run_id);
    shards_free(data->shards);
    data->shards = shards_new(run->plan->world_size);
    if (shards_resume(data->shards, run->dir.fd, &err) < 0)
        log_error("%s/%s; no shards are given out", run->dir.path, err.text);
    else if (shards_keep(data->shards, run->dir.fd) < 0)
        log_warn("shards: no thread could be started to keep their state");
}

void data_shards_take(struct run *run, struct node *node, const struct frame *frame)
{
    struct data_shards *data = run->data_shards;
    char                answer[SHARDS_ANSWER_SIZE];
    size_t              size;

    if (data == NULL || data->shards == NULL)
        return;
    begin(run);
    size = shards_ask(data->shards, (int)frame->rank, (const char *)frame->body, frame->size,
                      clock_now_ns(), answer);
    node_send_to_rank(node, FRAME_SHARD, frame->rank, answer, size);
    set_tick(data);
}

void data_shards_rank_gone(struct run *run, int rank, bool has_failed)
{
    if (shards_of(run) != NULL)
        shards_rank_gone(shards_of(run), rank, has_failed);
}

void data_shards_again(struct run *run)
{
    if (shards_of(run) != NULL)
        shards_all_gone(shards_of(run));
}

/* NULL: there are none, or no longer any. A node that the user did not wait for may still send
 * frames while the report is written. */
static struct shards *shards_of(const struct run *run)
{
    return run->data_shards != NULL ? run->data_shards->shards : NULL;
}

/* A renewed lease expires later than the timer, which then only sets itself again. So most
 * requests leave the timer as it is. */
static void set_tick(struct data_shards *data)
{
    int64_t        due_ns = shards_due_ns(data->shards), left_ns;
    struct timeval left;

    if (due_ns == 0 || (data->tick_ns != 0 && data->tick_ns <= due_ns))
        return;
    data->tick_ns = due_ns;
    left_ns = due_ns - clock_now_ns();
    left = clock_interval(left_ns > 0 ? (double)left_ns / NS_PER_S : 0);
    xevent_add(data->tick, &left);
}

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct data_shards *data = arg;

    (void)fd, (void)what;
    data->tick_ns = 0;
    shards_tick(data->shards, clock_now_ns());
    set_tick(data);
}

void data_shards_end(struct run *run)
{
    struct data_shards *data = run->data_shards;
    size_t              i;

    if (data == NULL)
        return;
    if (data->tick != NULL)
        event_del(data->tick);
    shards_all_gone(data->shards);
    data->result = json_array();
    for (i = 0; i < shards_sets(data->shards); i++) {
        const struct queue_counts counts = shards_counts(data->shards, i);

        tell(run->plan->run_id, shards_name(data->shards, i), &counts);
        json_array_append_new(data->result, json_of(shards_name(data->shards, i), &counts));
    }
    shards_free(data->shards);
    data->shards = NULL;
}

/* Shown only with -v if each shard was read exactly once. */
static void tell(const char *run_id, const char *name, const struct queue_counts *counts)
{
    const bool is_clean = counts->done == counts->all && counts->repeated == 0 &&
                          counts->twice == 0;
    char       all[40] = "", rest[100] = "";

    if (counts->all > 0)
        snprintf(all, sizeof all, " of %" PRId64, counts->all);
    if (counts->all == 0 || counts->done + counts->dropped < counts->all)
        snprintf(rest, sizeof rest, "; muster --shards-resume=%s reads the rest", run_id);
    (is_clean ? log_info : log_note)(
        "shards of %s: %" PRId64 "%s done, %" PRId64 " dropped; given out again %" PRId64
        " times (%" PRId64 " leases expired), done by two ranks %" PRId64 " times%s",
        name, counts->done, all, counts->dropped, counts->repeated, counts->expired,
        counts->twice, rest);
}

static json_t *json_of(const char *name, const struct queue_counts *counts)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "name", name, "all",
                     (json_int_t)counts->all, "done", (json_int_t)counts->done, "dropped",
                     (json_int_t)counts->dropped, "repeated", (json_int_t)counts->repeated,
                     "expired", (json_int_t)counts->expired, "twice",
                     (json_int_t)counts->twice);
}

void data_shards_json(const struct run *run, json_t *result)
{
    if (run->data_shards != NULL && json_array_size(run->data_shards->result) > 0)
        json_object_set(result, "shards", run->data_shards->result);
}
