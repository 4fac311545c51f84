/* stacks.c - see stacks.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "hostrange.h"
#include "log.h"
#include "outcome/rank_stacks.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define ASKERS     4   /* hang.c, deadline.c, requests.c */
#define LINES_MAX  400 /* shown of all ranks */
#define LINE_WORDS "  | "

struct stacks {
    struct run *run;
    struct asked_node {
        bool owes;   /* STACKS was sent, and the answer is not complete */
        bool is_old; /* ... that STACKS was of an earlier request, which is over */
        bool has_left; /* before it had answered */
    } * node;
    size_t            nodes;
    bool             *has_come; /* by rank: its text, for this request */
    struct rank_stacks known;
    size_t            awaited; /* nodes that owe an answer to this request */
    bool              is_asking;
    struct event     *late;
    void (*asker[ASKERS])(struct run *run);
    size_t        askers;
    struct buffer text; /* of the last request: safe to print, whole lines */
    json_t       *json; /* the same; NULL: there was none */
};

static void begin(struct stacks *stacks);
static void answered(struct stacks *stacks);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void finish(struct stacks *stacks);
static json_t *silent_json(const struct stacks *stacks);
static void add_silent(struct stacks *stacks, bool has_left, const char *what);

void stacks_open(struct run *run)
{
    struct stacks *stacks = xcalloc(1, sizeof *stacks);

    run->stacks = stacks;
    stacks->run = run;
    stacks->nodes = run->plan->nodes;
    stacks->node = xcalloc(stacks->nodes, sizeof *stacks->node);
    stacks->has_come = xcalloc((size_t)run->plan->world_size, sizeof *stacks->has_come);
    stacks->late = xevent_new(run->base, -1, late_cb, stacks);
}

void stacks_free(struct stacks *stacks)
{
    if (stacks == NULL)
        return;
    event_free(stacks->late);
    rank_stacks_clear(&stacks->known);
    buffer_clear(&stacks->text);
    json_decref(stacks->json);
    free(stacks->has_come);
    free(stacks->node);
    free(stacks);
}

void stacks_again(struct run *run)
{
    if (run->stacks->is_asking)
        finish(run->stacks);
    stacks_free(run->stacks);
    stacks_open(run);
}

bool stacks_has_ranks(const struct run *run, size_t node)
{
    return run->node[node]->state == NODE_RUNNING && run->outcome.ranks_left[node] > 0;
}

void stacks_ask(struct run *run, void (*known)(struct run *run))
{
    struct stacks *stacks = run->stacks;
    size_t         i;

    for (i = 0; i < stacks->askers && stacks->asker[i] != known; i++)
        ;
    if (i == stacks->askers && i < ASKERS)
        stacks->asker[stacks->askers++] = known;
    if (!stacks->is_asking)
        begin(stacks);
}

/* An agent takes one STACKS at a time. If it has not answered the last one, it gets this one
 * after that. */
static void begin(struct stacks *stacks)
{
    struct timeval limit = clock_interval(STACKS_S);
    struct run    *run = stacks->run;
    size_t         i;

    rank_stacks_clear(&stacks->known);
    memset(stacks->has_come, 0, (size_t)run->plan->world_size * sizeof *stacks->has_come);
    stacks->is_asking = true;
    stacks->awaited = 0;
    for (i = 0; i < stacks->nodes; i++) {
        struct asked_node *node = &stacks->node[i];

        node->has_left = false;
        node->is_old = node->owes;
        if (!stacks_has_ranks(run, i) && !node->owes)
            continue;
        if (!node->owes)
            node_send_empty(run->node[i], FRAME_STACKS);
        node->owes = true;
        stacks->awaited++;
    }
    if (stacks->awaited == 0)
        limit = (struct timeval){ 0 };
    xevent_add(stacks->late, &limit);
}

void stacks_take(struct run *run, struct node *node, uint32_t rank, const json_t *body)
{
    struct stacks     *stacks = run->stacks;
    struct asked_node *asked = &stacks->node[node->index];
    const char        *text = json_string_value(json_object_get(body, "text"));

    if (!asked->owes && node->state == NODE_DONE)
        return; /* it was late */
    if (!asked->owes) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL,
                  "STACKED frame: muster did not ask for it");
        return;
    }
    if (text != NULL && stacks->is_asking && !asked->is_old && !stacks->has_come[rank]) {
        stacks->has_come[rank] = true;
        rank_stacks_add(&stacks->known, (int)rank, text);
    }
    if (!json_is_true(json_object_get(body, "end")))
        return;
    if (stacks->is_asking && asked->is_old && stacks_has_ranks(run, node->index)) {
        asked->is_old = false;
        node_send_empty(node, FRAME_STACKS);
        return;
    }
    asked->owes = false;
    answered(stacks);
}

void stacks_node_left(struct run *run, const struct node *node)
{
    struct stacks     *stacks = run->stacks;
    struct asked_node *asked = &stacks->node[node->index];

    if (!asked->owes)
        return;
    asked->owes = false;
    asked->has_left = true;
    answered(stacks);
}

static void answered(struct stacks *stacks)
{
    if (stacks->is_asking && --stacks->awaited == 0)
        finish(stacks);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct stacks *stacks = arg;

    (void)fd, (void)what;
    if (stacks->awaited > 0)
        log_warn("%zu nodes did not report the stacks of their ranks within %g s",
                 stacks->awaited, STACKS_S);
    finish(stacks);
}

/* Who is called may ask again, or end the run. */
static void finish(struct stacks *stacks)
{
    struct run *run = stacks->run;
    void (*asker[ASKERS])(struct run *run);
    char   silent[60];
    size_t i, askers = stacks->askers;

    stacks->is_asking = false;
    stacks->askers = 0;
    event_del(stacks->late);
    memcpy(asker, stacks->asker, sizeof asker);
    stacks->text.size = 0;
    snprintf(silent, sizeof silent, "no answer within %g s", STACKS_S);
    add_silent(stacks, false, silent);
    add_silent(stacks, true, "gone before it answered");
    rank_stacks_write(&stacks->known, run->plan, &stacks->text);
    json_decref(stacks->json);
    stacks->json = json_pack("{s:s, s:o, s:o}", "run_id", run->plan->run_id, "stacks",
                             rank_stacks_json(&stacks->known, run->plan), "silent",
                             silent_json(stacks));
    rank_stacks_clear(&stacks->known);
    for (i = 0; i < askers; i++)
        asker[i](run);
}

/* Adds "te[2-4]: no answer within 15 s" for the nodes that have left, or owe an answer. */
static void add_silent(struct stacks *stacks, bool has_left, const char *what)
{
    struct strlist names = { 0 };
    char          *folded;
    size_t         i;

    for (i = 0; i < stacks->nodes; i++)
        if (has_left ? stacks->node[i].has_left : stacks->node[i].owes)
            strlist_add(&names, plan_label(&stacks->run->plan->node[i]));
    if (names.count > 0) {
        folded = hostrange_fold(&names);
        buffer_add_text(&stacks->text, folded);
        buffer_add_text(&stacks->text, ": ");
        buffer_add_text(&stacks->text, what);
        buffer_add_text(&stacks->text, "\n");
        free(folded);
    }
    strlist_clear(&names);
}

/* Returns the names of these nodes, a new array. */
static json_t *silent_json(const struct stacks *stacks)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < stacks->nodes; i++)
        if (stacks->node[i].has_left || stacks->node[i].owes)
            json_array_append_new(list, json_string(plan_label(&stacks->run->plan->node[i])));
    return list;
}

int stacks_write(const struct run *run, const struct strlist *lines, struct error *err)
{
    const struct buffer *text = &run->stacks->text;
    struct buffer        all = { 0 };
    struct strlist       head = { 0 };
    size_t               i;
    int                  rc;

    if (run->dir.path == NULL)
        return 0;
    if (lines != NULL)
        strlist_append(&head, lines);
    flight_records_lines(&run->outcome.flight, run->plan, &head);
    for (i = 0; i < head.count; i++) {
        buffer_add_text(&all, head.item[i]);
        buffer_add_text(&all, "\n");
    }
    strlist_clear(&head);
    buffer_add(&all, text->bytes, text->size);
    rc = run_dir_stacks(&run->dir, all.bytes, all.size, run->stacks->json, err);
    buffer_clear(&all);
    return rc;
}

void stacks_report(const struct run *run, FILE *out)
{
    const struct buffer *text = &run->stacks->text;
    const char          *at = text->bytes, *end = at + text->size, *newline;
    int                  lines = 0;

    if (text->size == 0)
        return;
    for (; at < end && lines < LINES_MAX; at = newline + 1, lines++) {
        newline = memchr(at, '\n', (size_t)(end - at));
        fprintf(out, LINE_WORDS "%.*s\n", (int)(newline - at), at);
    }
    if (at < end)
        fprintf(out, LINE_WORDS "... and more\n");
    if (run->dir.path != NULL)
        fprintf(out, "muster: all stacks are in %s/stacks.txt\n", run->dir.path);
}
