/* hang.c - see hang.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/hang.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "node/flow.h"
#include "node/peers.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/steps.h"
#include "sanitize.h"
#include "xalloc.h"
#include "xevent.h"

#define STACKS_S      15.0        /* agents take 10 s at most */
#define TEXT_MAX      (16u << 20) /* of all ranks */
#define LINES_MAX     400         /* shown of all ranks */
#define LINE_WORDS    "  | "

struct hang {
    struct run *run;
    struct node_hang {
        double idle_s; /* from the last IDLE: how long its ranks have done nothing */
        bool   owes;   /* it has not yet answered where its ranks are */
    } * node;
    int64_t held_up_ns; /* when a node was last seen without credit */

    /* Set once a hang was seen. */
    bool          is_seen;
    bool          is_over; /* the run was stopped */
    struct event *late;
    size_t        awaited; /* nodes that owe stacks */
    struct peers *peers;   /* NULL: no node was asked */
    struct buffer text;    /* safe to print, whole lines */
    struct strlist steps;  /* what the ranks have reported: lines */
};

static void   note_held_up(struct hang *hang);
static enum hang_verdict judge(const struct hang *hang, double *limit_s);
static double idle_s(const struct hang *hang);
static bool   has_ranks(const struct run *run, size_t node);
static void   begin(struct hang *hang, enum hang_verdict verdict, double limit_s);
static size_t ask_all(struct hang *hang);
static void   ask_peers(struct hang *hang);
static void   add_stack(struct hang *hang, const struct node *node, uint32_t rank,
                        const char *text);
static void   maybe_end(void *arg);
static void   late_cb(evutil_socket_t fd, short what, void *arg);
static void   finish(struct hang *hang);
static void   write_stacks(const struct hang *hang);
static void   add_lines(struct buffer *all, const struct strlist *lines);
static void   print_lines(const struct strlist *lines, FILE *out);
static void   report_stacks(const struct hang *hang, FILE *out);

void hang_open(struct run *run)
{
    struct hang *hang = xcalloc(1, sizeof *hang);

    run->hang = hang;
    hang->run = run;
    hang->node = xcalloc(run->plan->nodes, sizeof *hang->node);
    hang->late = event_new(run->base, -1, 0, late_cb, hang);
    if (hang->late == NULL)
        xalloc_die();
}

void hang_free(struct hang *hang)
{
    if (hang == NULL)
        return;
    event_free(hang->late);
    peers_free(hang->peers);
    buffer_clear(&hang->text);
    strlist_clear(&hang->steps);
    free(hang->node);
    free(hang);
}

void hang_again(struct run *run)
{
    hang_free(run->hang);
    hang_open(run);
}

void hang_look(struct run *run)
{
    struct hang      *hang = run->hang;
    enum hang_verdict verdict;
    double            limit_s;

    if (run->options->hang_timeout_s == 0 || run->phase.now != PHASE_RUNNING || hang->is_seen)
        return;
    note_held_up(hang);
    verdict = judge(hang, &limit_s);
    if (verdict != HANG_NO)
        begin(hang, verdict, limit_s);
}

/* Ranks do nothing while their output waits for a reader that has stalled, and the credit is
 * used up, nor while a role that they need starts again: that is not a hang. Of a node that is
 * silent muster does not know the last step. */
static void note_held_up(struct hang *hang)
{
    const struct run *run = hang->run;
    size_t            i;

    for (i = 0; i < run->plan->nodes; i++)
        if (has_ranks(run, i) &&
            (flow_is_used_up(run->flow, i) || run->node[i]->liveness.is_suspect ||
             reconnect_is_cut(run->node[i]->reconnect)))
            hang->held_up_ns = clock_now_ns();
    if (phase_any_away(run))
        hang->held_up_ns = clock_now_ns();
}

static enum hang_verdict judge(const struct hang *hang, double *limit_s)
{
    int64_t           now_ns = clock_now_ns();
    double            free_s = (double)(now_ns - hang->held_up_ns) / NS_PER_S;
    struct hang_signs signs = { .limit_s = hang->run->options->hang_timeout_s };

    steps_signs(hang->run, now_ns, &signs);
    signs.idle_s = idle_s(hang);
    if (signs.idle_s > free_s)
        signs.idle_s = free_s;
    if (signs.step_s > free_s)
        signs.step_s = free_s;
    return hang_judge(&signs, limit_s);
}

/* Returns for how long no rank has done anything. A node whose ranks have all exited does not
 * count. */
static double idle_s(const struct hang *hang)
{
    const struct run *run = hang->run;
    double            least_s = INFINITY;
    size_t            i;

    for (i = 0; i < run->plan->nodes; i++)
        if (has_ranks(run, i) && hang->node[i].idle_s < least_s)
            least_s = hang->node[i].idle_s;
    return isinf(least_s) ? 0 : least_s;
}

static bool has_ranks(const struct run *run, size_t node)
{
    return run->node[node]->state == NODE_RUNNING && run->outcome.ranks_left[node] > 0;
}

void hang_take_idle(struct run *run, const struct node *node, const json_t *body)
{
    run->hang->node[node->index].idle_s = json_number_value(json_object_get(body, "idle_s"));
}

static void begin(struct hang *hang, enum hang_verdict verdict, double limit_s)
{
    struct timeval limit = clock_interval(STACKS_S);
    struct run    *run = hang->run;
    const char    *sign = verdict == HANG_IDLE ? "no output and no CPU time" : "no step";

    hang->is_seen = true;
    xevent_add(hang->late, &limit);
    outcome_cause(&run->outcome, EXIT_TIMEOUT, "hang: %s from any rank for %.0f s (--hang-timeout)",
                  sign, limit_s);
    log_error("%s from any rank for %.0f s: asking where they are", sign, limit_s);
    steps_words(run, &hang->steps);
    hang->awaited = ask_all(hang);
    ask_peers(hang);
}

static size_t ask_all(struct hang *hang)
{
    struct run *run = hang->run;
    size_t      i, asked = 0;

    for (i = 0; i < run->plan->nodes; i++) {
        if (!has_ranks(run, i))
            continue;
        hang->node[i].owes = true;
        asked++;
        node_send_empty(run->node[i], FRAME_STACKS);
    }
    return asked;
}

static void ask_peers(struct hang *hang)
{
    const struct run     *run = hang->run;
    struct node         **node = xcalloc(run->plan->nodes, sizeof(struct node *));
    struct peers_question question = { .node = node,
                                       .token = rendezvous_token(run->rendezvous),
                                       .master_addr = plan_world(run->plan, 0)->master_addr };
    size_t                i;

    for (i = 0; i < run->plan->nodes; i++)
        if (has_ranks(run, i))
            node[question.nodes++] = run->node[i];
    hang->peers = peers_begin(run->base, &question, maybe_end, hang);
    free(node);
}

void hang_take_stack(struct run *run, struct node *node, uint32_t rank, const json_t *body)
{
    struct hang *hang = run->hang;
    const char  *text = json_string_value(json_object_get(body, "text"));

    if (!hang->node[node->index].owes) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL,
                  "STACKED frame: muster did not ask for it");
        return;
    }
    if (text != NULL)
        add_stack(hang, node, rank, text);
    if (!json_is_true(json_object_get(body, "end")))
        return;
    hang->node[node->index].owes = false;
    hang->awaited--;
    maybe_end(hang);
}

static void add_stack(struct hang *hang, const struct node *node, uint32_t rank, const char *text)
{
    char   name[PLAN_RANK_NAME], *head, *line;
    size_t length;

    head = xasprintf("%s on %s:\n", plan_rank_name(hang->run->plan, (int)rank, name),
                     node->plan->host);
    if (hang->text.size < TEXT_MAX)
        buffer_add_text(&hang->text, head);
    free(head);
    for (; *text != '\0' && hang->text.size < TEXT_MAX; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        line = sanitize_text(text, length);
        buffer_add_text(&hang->text, line);
        buffer_add_text(&hang->text, "\n");
        free(line);
    }
}

void hang_take_probed(struct run *run, struct node *node, const json_t *body)
{
    if (run->hang->is_seen)
        peers_take(run->hang->peers, node, body);
}

static void maybe_end(void *arg)
{
    struct hang *hang = arg;

    if (hang->awaited == 0 && peers_are_known(hang->peers))
        finish(hang);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hang *hang = arg;

    (void)fd, (void)what;
    log_warn("%zu nodes did not report the stacks of their ranks within %g s", hang->awaited,
             STACKS_S);
    finish(hang);
}

static void finish(struct hang *hang)
{
    if (hang->is_over)
        return;
    hang->is_over = true;
    event_del(hang->late);
    outcome_unreached(&hang->run->outcome, peers_json(hang->peers));
    if (hang->run->dir.path != NULL)
        write_stacks(hang);
    phase_stop(hang->run);
}

static void write_stacks(const struct hang *hang)
{
    struct buffer all = { 0 };
    struct error  err;

    add_lines(&all, &hang->steps);
    add_lines(&all, peers_lines(hang->peers));
    buffer_add(&all, hang->text.bytes, hang->text.size);
    if (run_dir_stacks(&hang->run->dir, all.bytes, all.size, &err) < 0)
        log_warn("%s: %s", hang->run->dir.path, err.text);
    buffer_clear(&all);
}

static void add_lines(struct buffer *all, const struct strlist *lines)
{
    size_t i;

    for (i = 0; i < lines->count; i++) {
        buffer_add_text(all, lines->item[i]);
        buffer_add_text(all, "\n");
    }
}

bool hang_is_over(const struct run *run)
{
    return run->hang->is_over;
}

void hang_report(const struct run *run, FILE *out)
{
    const struct hang *hang = run->hang;

    if (!hang->is_seen)
        return;
    print_lines(&hang->steps, out);
    if (hang->text.size > 0)
        report_stacks(hang, out);
    print_lines(peers_lines(hang->peers), out);
}

static void print_lines(const struct strlist *lines, FILE *out)
{
    size_t i;

    for (i = 0; i < lines->count; i++)
        fprintf(out, "muster: %s\n", lines->item[i]);
}

static void report_stacks(const struct hang *hang, FILE *out)
{
    const char *at, *end, *newline;
    int         lines = 0;

    at = hang->text.bytes;
    end = at + hang->text.size;
    for (; at < end && lines < LINES_MAX; at = newline + 1, lines++) {
        newline = memchr(at, '\n', (size_t)(end - at));
        fprintf(out, LINE_WORDS "%.*s\n", (int)(newline - at), at);
    }
    if (at < end)
        fprintf(out, LINE_WORDS "... and more\n");
    if (hang->run->dir.path != NULL)
        fprintf(out, "muster: all stacks are in %s/stacks.txt\n",
                hang->run->dir.path);
}
