/* hang.c - --hang-timeout: a run that stands still is told from one that works
 *
 * Agents say with each heartbeat how long their ranks have done nothing. When all of
 * them have done nothing for long enough, that is why the run ends, whatever follows.
 * Before it is stopped every agent is asked where its ranks are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "visible.h"
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
    bool          is_over; /* the run was stopped */
};

static void hang_begin(struct run *run);
static void hang_end(struct hang *hang);
static void late_cb(evutil_socket_t fd, short what, void *arg);

/* A node whose ranks have all ended has nothing to say. */
void hang_look(struct run *run)
{
    size_t i, running = 0;

    if (run->options->hang_timeout_s <= 0 || run->phase != PHASE_RUNNING || run->hang != NULL)
        return;
    for (i = 0; i < run->plan->nodes; i++) {
        const struct node *node = &run->node[i];

        if (node->state != NODE_RUNNING || node->ranks_left == 0)
            continue;
        if (node->idle_s < run->options->hang_timeout_s)
            return;
        running++;
    }
    if (running > 0)
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
        line = visible_text(text, length);
        buffer_add_text(&hang->text, line);
        buffer_add_text(&hang->text, "\n");
        free(line);
    }
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
    if (--hang->awaited == 0)
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
    struct error err;

    if (hang->is_over)
        return;
    hang->is_over = true;
    event_del(hang->late);
    if (hang->run->kept.path != NULL &&
        rundir_stacks(&hang->run->kept, hang->text.bytes, hang->text.size, &err) < 0)
        log_warn("%s: %s", hang->run->kept.path, err.text);
    run_end(hang->run);
}

/* In front of the report, which must stay the last thing on the screen. */
void hang_report(const struct run *run, FILE *out)
{
    const struct hang *hang = run->hang;
    const char        *at, *end, *newline;
    int                lines = 0;

    if (hang == NULL || hang->text.size == 0)
        return;
    at = hang->text.bytes;
    end = at + hang->text.size;
    for (; at < end && lines < LINES_MAX; at = newline + 1, lines++) {
        newline = memchr(at, '\n', (size_t)(end - at));
        fprintf(out, LINE_WORDS "%.*s\n", (int)(newline - at), at);
    }
    if (at < end)
        fprintf(out, LINE_WORDS "... and more\n");
    if (run->kept.path != NULL)
        fprintf(out, "muster: where the ranks were is kept in %s/stacks.txt\n", run->kept.path);
}

void hang_free(struct hang *hang)
{
    if (hang == NULL)
        return;
    event_free(hang->late);
    buffer_clear(&hang->text);
    free(hang);
}
