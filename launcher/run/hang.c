/* hang.c - --hang-timeout: a run that stands still is told from one that works
 *
 * Agents say with each heartbeat how long their ranks have done nothing. When all of
 * them have done nothing for long enough, that is why the run ends, whatever follows.
 * Before it is stopped every agent is asked where its ranks are, and whether it reaches
 * the other nodes (peers.c).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "run/peers.h"
#include "sanitize.h"
#include "xalloc.h"
#include "xevent.h"

#define STACKS_S      15.0        /* agents take 10 s at most */
#define TEXT_MAX      (16u << 20) /* kept of all ranks */
#define LINES_MAX     400         /* shown of all ranks */
#define LINE_WORDS    "  | "

struct hang {
    struct run   *run;
    struct event *late;
    struct buffer text;    /* safe to print, whole lines */
    size_t        awaited; /* nodes that have not told all */
    struct peers *peers;
    bool          is_over; /* the run was stopped */
};

static void hang_begin(struct run *run);
static void add_stack(struct hang *hang, const struct node *node, uint32_t rank,
                      const char *text);
static void hang_maybe_end(void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void hang_end(struct hang *hang);
static void keep(const struct hang *hang);
static void report_stacks(const struct hang *hang, FILE *out);

/* A node whose ranks have all ended has nothing to say. Ranks whose output nobody takes, and
 * so has used up the credit, do nothing either, and that is no hang of theirs. */
void hang_look(struct run *run)
{
    int64_t now_ns = clock_now_ns();
    size_t  i, running = 0;

    if (run->options->hang_timeout_s <= 0 || run->phase != PHASE_RUNNING || run->hang != NULL)
        return;
    for (i = 0; i < run->plan->nodes; i++) {
        const struct node *node = &run->node[i];

        if (node->state != NODE_RUNNING || node->ranks_left == 0)
            continue;
        if (run->credit_left[i] == 0)
            run->held_up_ns = now_ns;
        if (node->idle_s < run->options->hang_timeout_s)
            return;
        running++;
    }
    if (running > 0 &&
        (double)(now_ns - run->held_up_ns) / NS_PER_S >= run->options->hang_timeout_s)
        hang_begin(run);
}

void hang_take_idle(struct node *node, const json_t *body)
{
    node->idle_s = json_number_value(json_object_get(body, "idle_s"));
}

static void hang_begin(struct run *run)
{
    struct timeval limit = clock_interval(STACKS_S);
    struct hang   *hang = run->hang = xcalloc(1, sizeof *hang);
    size_t         i;

    hang->run = run;
    hang->late = event_new(run->base, -1, 0, late_cb, hang);
    if (hang->late == NULL)
        xalloc_die();
    xevent_add(hang->late, &limit);
    outcome_cause(&run->outcome, EXIT_TIMEOUT,
                  "hang: no output and no CPU time from any rank for %g s (--hang-timeout)",
                  run->options->hang_timeout_s);
    log_error("no output and no CPU time from any rank for %g s: asking where they are",
              run->options->hang_timeout_s);
    for (i = 0; i < run->plan->nodes; i++) {
        if (run->node[i].state != NODE_RUNNING || run->node[i].ranks_left == 0)
            continue;
        hang->awaited++;
        run->node[i].owes_stacks = true;
        node_send_empty(&run->node[i], FRAME_STACKS);
    }
    hang->peers = peers_begin(run, hang_maybe_end, hang);
}

void hang_take_stack(struct run *run, struct node *node, uint32_t rank, const json_t *body)
{
    struct hang *hang = run->hang;
    const char  *text = json_string_value(json_object_get(body, "text"));

    if (!node->owes_stacks) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "STACKED frame: nobody has asked");
        return;
    }
    if (text != NULL)
        add_stack(hang, node, rank, text);
    if (!json_is_true(json_object_get(body, "end")))
        return;
    node->owes_stacks = false;
    hang->awaited--;
    hang_maybe_end(hang);
}

static void add_stack(struct hang *hang, const struct node *node, uint32_t rank, const char *text)
{
    char  *head = xasprintf("rank %u on %s:\n", rank, node->plan->host), *line;
    size_t length;

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
    if (run->hang != NULL)
        peers_take(run->hang->peers, node, body);
}

static void hang_maybe_end(void *arg)
{
    struct hang *hang = arg;

    if (hang->awaited == 0 && peers_are_known(hang->peers))
        hang_end(hang);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hang *hang = arg;

    (void)fd, (void)what;
    log_warn("%zu nodes did not say where their ranks are within %g s", hang->awaited, STACKS_S);
    hang_end(hang);
}

static void hang_end(struct hang *hang)
{
    if (hang->is_over)
        return;
    hang->is_over = true;
    event_del(hang->late);
    hang->run->outcome.unreached = peers_json(hang->peers);
    if (hang->run->dir.path != NULL)
        keep(hang);
    run_end(hang->run);
}

static void keep(const struct hang *hang)
{
    const struct strlist *lines = peers_lines(hang->peers);
    struct buffer         all = { 0 };
    struct error          err;
    size_t                i;

    for (i = 0; i < lines->count; i++) {
        buffer_add_text(&all, lines->item[i]);
        buffer_add_text(&all, "\n");
    }
    buffer_add(&all, hang->text.bytes, hang->text.size);
    if (run_dir_stacks(&hang->run->dir, all.bytes, all.size, &err) < 0)
        log_warn("%s: %s", hang->run->dir.path, err.text);
    buffer_clear(&all);
}

/* In front of the report, which must stay the last thing on the screen. */
void hang_report(const struct run *run, FILE *out)
{
    const struct strlist *lines;
    size_t                i;

    if (run->hang == NULL)
        return;
    if (run->hang->text.size > 0)
        report_stacks(run->hang, out);
    lines = peers_lines(run->hang->peers);
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
        fprintf(out, "muster: where the ranks were is kept in %s/stacks.txt\n",
                hang->run->dir.path);
}

void hang_free(struct hang *hang)
{
    if (hang == NULL)
        return;
    event_free(hang->late);
    peers_free(hang->peers);
    buffer_clear(&hang->text);
    free(hang);
}
