/* run_status.c - see run_status.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run_status.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "run/costs.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/steps.h"
#include "thread.h"
#include "xalloc.h"
#include "xevent.h"

#define STATE_SIZE 160  /* of a rank's state in words; longer texts are truncated */
#define SAID_S     60.0 /* between files that differ only in said_ns */
#define AGAIN_S    0.2  /* between two looks whether the thread has written */
#define END_S      5    /* for a thread that still writes when the run is over */

struct run_status {
    struct rank_times {
        int64_t started_ns, said_ns;
    } * rank;
    json_t *(*page)(const struct run *run);
    int       dir_fd;
    char     *state;      /* the text of the last file, without said_ns */
    char     *text;       /* the text with said_ns */
    int64_t   written_ns; /* when the writer was last started */
    bool      is_asked;   /* muster status waits for the file */
    bool      has_said;   /* some rank has written output since written_ns */
    bool      is_writing;
    pthread_t writer;
    bool      is_there; /* the file was written; owned by the writer while it writes */
    struct event *again; /* something has changed while the writer wrote; NULL: never yet */
};

static void    look_later(struct run *run);
static void    again_cb(evutil_socket_t fd, short what, void *arg);
static void    look(struct run *run);
static bool    is_due(const struct run_status *status, const char *state);
static void   *write_cb(void *arg);
static char   *make_text(const struct run *run, bool with_said);
static json_t *json_of_rank(const struct run *run, const struct node *node, int rank,
                            bool with_said);
static json_t *json_of_checkpoints(const struct run *run);
static json_t *json_of_waits(const struct run *run);
static json_t *seconds_or_null(double seconds);
static void    rank_words(const struct run *run, const struct node *node, int rank,
                          char text[STATE_SIZE]);

struct run_status *run_status_new(const struct run *run, json_t *(*page)(const struct run *run))
{
    struct run_status *status = xcalloc(1, sizeof *status);

    status->rank = xcalloc((size_t)run->plan->world_size, sizeof *status->rank);
    status->page = page;
    status->dir_fd = fcntl(run->dir.fd, F_DUPFD_CLOEXEC, 0);
    return status;
}

/* If the thread hangs in the file system, its data is never freed. */
void run_status_free(struct run_status *status)
{
    struct timespec until = { 0 };

    if (status == NULL)
        return;
    if (status->again != NULL)
        event_free(status->again);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    if (status->is_writing && pthread_timedjoin_np(status->writer, NULL, &until) != 0)
        return;
    close(status->dir_fd);
    free(status->state);
    free(status->text);
    free(status->rank);
    free(status);
}

void run_status_again(struct run *run, const struct plan *world)
{
    if (run->status == NULL)
        return;
    memset(&run->status->rank[world->first_rank], 0,
           (size_t)world->world_size * sizeof *run->status->rank);
    run_status_beat(run); /* so that muster resume never uses this generation's number again */
}

void run_status_make_room(struct run *run)
{
    struct run_status *status = run->status;

    if (status == NULL)
        return;
    free(status->rank);
    status->rank = xcalloc((size_t)run->plan->world_size, sizeof *status->rank);
}

void run_status_rank_started(struct run *run, uint32_t rank)
{
    if (run->status != NULL)
        run->status->rank[rank].started_ns = clock_now_ns();
}

void run_status_rank_said(struct run *run, uint32_t rank)
{
    if (run->status == NULL)
        return;
    run->status->rank[rank].said_ns = clock_now_ns();
    run->status->has_said = true;
}

void run_status_ask(struct run *run)
{
    if (run->status != NULL)
        run->status->is_asked = true;
    run_status_beat(run);
}

/* A home directory that hangs must not hold up the run: one thread at a time writes there. */
void run_status_beat(struct run *run)
{
    struct run_status *status = run->status;

    if (status == NULL)
        return;
    if (status->is_writing && pthread_tryjoin_np(status->writer, NULL) != 0) {
        look_later(run);
        return;
    }
    status->is_writing = false;
    look(run);
}

/* The next heartbeat may be far, and muster resume must know where ranks live. */
static void look_later(struct run *run)
{
    const struct timeval pause = clock_interval(AGAIN_S);

    if (run->status->again == NULL)
        run->status->again = evtimer_new(run->base, again_cb, run);
    if (run->status->again == NULL)
        xalloc_die();
    xevent_add(run->status->again, &pause);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    run_status_beat(arg);
}

/* If no thread can be started, or the disk is full, the next heartbeat tries again. */
static void look(struct run *run)
{
    struct run_status *status = run->status;
    char              *state = make_text(run, false);

    if (!is_due(status, state)) {
        free(state);
        return;
    }
    free(status->state);
    free(status->text);
    status->state = state;
    costs_look(run);
    status->text = make_text(run, true);
    status->written_ns = clock_now_ns();
    status->is_asked = status->has_said = status->is_there = false;
    status->is_writing = thread_start(&status->writer, write_cb, status) == 0;
}

static bool is_due(const struct run_status *status, const char *state)
{
    double age_s = (double)(clock_now_ns() - status->written_ns) / NS_PER_S;

    return !status->is_there || status->is_asked || strcmp(state, status->state) != 0 ||
           (status->has_said && age_s >= SAID_S);
}

static void *write_cb(void *arg)
{
    struct run_status *status = arg;

    status->is_there = run_dir_write(status->dir_fd, "status.json", status->text,
                                     strlen(status->text)) == 0;
    return NULL;
}

static char *make_text(const struct run *run, bool with_said)
{
    json_t *ranks = json_array(), *body, *world;
    char   *text;
    size_t  n;
    int     i;

    for (n = 0; n < run->plan->nodes; n++)
        for (i = 0; i < run->plan->node[n].ranks; i++)
            json_array_append_new(
                ranks,
                json_of_rank(run, run->node[n], run->plan->node[n].rank[i].rank, with_said));
    body = json_pack("{s:s, s:i, s:i, s:i, s:i, s:o}", "state", run_phase_name(run->phase.now),
                     "generation", plan_latest_generation(run->plan), "max_restarts",
                     run->plan->max_restarts, "node_count", run->plan->node_count, "world_size",
                     run->plan->world_size, "ranks", ranks);
    if (run->metrics_at != NULL)
        json_object_set_new(body, "metrics", json_text(run->metrics_at, strlen(run->metrics_at)));
    json_object_set_new(body, "slow", slow_list_now(run->outcome.slow));
    world = run_status_world(run);
    if (world != NULL)
        json_object_set_new(body, "world", world);
    if (with_said) {
        json_object_set_new(body, "cost", cost_json(&run->cost));
        json_object_set_new(body, "steps", steps_json(run));
        json_object_set_new(body, "checkpoints", json_of_checkpoints(run));
        json_object_set_new(body, "page", run->status->page(run));
        json_object_set_new(body, "collectives", hang_collectives_json(run));
        json_object_set_new(body, "waits", json_of_waits(run));
    }
    text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (text == NULL)
        xalloc_die();
    return text;
}

static json_t *json_of_rank(const struct run *run, const struct node *node, int rank,
                            bool with_said)
{
    const struct rank_times *status = &run->status->rank[rank];
    const struct rank_end   *end = &run->outcome.rank[rank];
    const struct plan       *world = plan_world_of_rank(run->plan, rank);
    const char              *host = node->plan->host;
    char                     state[STATE_SIZE];
    json_t                  *body;

    rank_words(run, node, rank, state);
    body = json_pack("{s:i, s:o, s:i, s:o, s:I, s:I}", "rank", rank - world->first_rank, "node",
                     json_text(host, strlen(host)), "pid", end->pid, "state",
                     json_text(state, strlen(state)), "started_ns",
                     (json_int_t)(end->started ? status->started_ns : 0), "said_ns",
                     (json_int_t)(end->started && with_said ? status->said_ns : 0));
    if (with_said)
        steps_add_rank(run, rank, body);
    if (world->role_name != NULL)
        json_object_set_new(body, "role", json_string(world->role_name));
    return body;
}

/* The last one of each world that has one. */
static json_t *json_of_checkpoints(const struct run *run)
{
    json_t *list = json_array(), *one;
    size_t  i;

    for (i = 0; i < plan_worlds(run->plan); i++) {
        const struct checkpoint_log *log = &run->checkpoints[i];

        if (log->count == 0)
            continue;
        one = json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "path",
                        json_text(log->path, strlen(log->path)), "says",
                        json_text(log->says, strlen(log->says)), "number",
                        (json_int_t)log->count, "at_ns", (json_int_t)(log->at_s * NS_PER_S),
                        "save_s", seconds_or_null(log->save_s), "every_s",
                        seconds_or_null(checkpoint_log_median_s(log)));
        if (run->plan->roles > 0)
            json_object_set_new(one, "role", json_string(run->plan->role[i].role_name));
        json_array_append_new(list, one);
    }
    return list;
}

/* The same in words, of ranks that wait for each other. */
static json_t *json_of_waits(const struct run *run)
{
    struct strlist lines = { 0 };
    json_t        *list = json_array();
    size_t         i;

    hang_collectives(run, &lines);
    for (i = 0; i < lines.count; i++)
        json_array_append_new(list, json_text(lines.item[i], strlen(lines.item[i])));
    strlist_clear(&lines);
    return list;
}

static json_t *seconds_or_null(double seconds)
{
    return seconds >= 0 ? json_real(seconds) : json_null();
}

/* Before a rank starts its state is that of its node. */
static bool is_here(const struct run *run, size_t place);
static void rank_words(const struct run *run, const struct node *node, int rank,
                       char text[STATE_SIZE])
{
    const struct rank_end *end = &run->outcome.rank[rank];

    if (end->ended)
        rank_end_words(end, text, STATE_SIZE);
    else if (!end->started || node_is_over(node))
        snprintf(text, STATE_SIZE, "%s", node_state_name(node));
    else if (reconnect_is_cut(node->reconnect))
        snprintf(text, STATE_SIZE, "reconnecting");
    else
        snprintf(text, STATE_SIZE, "%s", node->liveness.is_suspect ? "silent node" : "running");
}

json_t *run_status_world(const struct run *run)
{
    const struct member_rules *rules = &run->rules.members;
    const struct batch        *batch = &run->batch.first;
    json_t                    *nodes;
    size_t                     i;

    if (!rules->goes_on)
        return NULL;
    nodes = json_array();
    for (i = 0; i < run->plan->nodes; i++) {
        const char *host = run->plan->node[i].host;

        json_array_append_new(
            nodes, json_pack("{s:o, s:i, s:b}", "host", json_text(host, strlen(host)), "ranks",
                             run->plan->node[i].ranks, "is_here", (int)is_here(run, i)));
    }
    return json_pack("{s:o, s:I, s:[I, I, I]}", "nodes", nodes, "target",
                     (json_int_t)rules->target, "batch", (json_int_t)batch->total,
                     (json_int_t)batch->micro, (json_int_t)batch->steps);
}

static bool is_here(const struct run *run, size_t place)
{
    const struct membership *members = pool_members(run);

    return run->node[place]->failure == NULL &&
           !membership_is_due(members, members->place[place]);
}
