/* page_look.c - see page_look.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/page_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "frame.h"
#include "hook/event.h"
#include "page/page_points.h"
#include "page/page_runs.h"
#include "run/events.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/steps.h"
#include "xalloc.h"

#define REAL_DIGITS 12 /* of a time: hundredths of a second */
#define LINES_RANKS 8 /* of which a file has the last lines */
#define WORDS_SIZE 1200 /* of the end of a rank */

static char        *run_part(const struct run *run, double offset_s);
static char        *state_part(const struct run *run, int status);
static char        *nodes_part(const struct run *run);
static json_t      *ranges_of(const struct plan_node *node);
static void         set_columns(struct page_view *view, const struct run *run);
static char         letter_of(const struct run *run, const struct node *node, int rank);
static char        *step_part(const struct run *run);
static char        *checkpoints_part(const struct run *run, double offset_s);
static char        *generations_part(const struct run *run, int status, double offset_s);
static json_t      *present_generation(const struct run *run, int status,
                                       double offset_s);
static json_t      *unix_time(int64_t at_ns, double offset_s);
static char        *without_colours(const char *line);
static json_t      *failed_lines(const struct run *run);
static json_t      *role_of(const struct plan *world);
static json_t      *text_of(const char *text);
static char        *dump(json_t *body);

void page_look(struct page_view *view, const struct run *run, int status, double offset_s)
{
    json_t *suspects = run->outcome.suspects;

    page_view_next(view);
    page_view_set(view, PAGE_RUN, run_part(run, offset_s));
    page_view_set(view, PAGE_STATE, state_part(run, status));
    page_view_set(view, PAGE_NODES, nodes_part(run));
    set_columns(view, run);
    page_view_set(view, PAGE_STEP, step_part(run));
    page_view_set(view, PAGE_GENERATIONS, generations_part(run, status, offset_s));
    page_view_set(view, PAGE_SUSPECTS,
                  suspects != NULL ? dump(json_incref(suspects)) : xstrdup("[]"));
    page_view_set(view, PAGE_CHECKPOINTS, checkpoints_part(run, offset_s));
}

/* --- the run ------------------------------------------------------------------------ */

static char *run_part(const struct run *run, double offset_s)
{
    char    host[RUN_DIR_HOST_SIZE];
    char   *script = event_script(run->options);
    json_t *body;

    run_dir_host(host);
    body = json_pack("{s:s, s:o, s:o, s:o, s:o}", "id", run->plan->run_id, "name",
                     text_of(run->options->name), "script", text_of(script), "host",
                     text_of(host), "start",
                     unix_time(run->outcome.start_ns, offset_s));
    free(script);
    return dump(body);
}

static char *state_part(const struct run *run, int status)
{
    const struct membership *members = pool_members(run);
    size_t                   i, spares = 0;
    double                   loss;

    for (i = 0; i < members->count; i++)
        spares += members->item[i].state == MEMBER_SPARE;
    return dump(json_pack(
        "{s:s, s:o, s:i, s:i, s:b, s:I, s:o}", "state",
        status >= 0 ? "ended" : run_phase_name(run->phase.now), "status",
        status >= 0 ? json_integer(status) : json_null(), "generation",
        plan_latest_generation(run->plan), "most", run->plan->max_restarts, "hangs",
        (int)hang_is_seen(run), "spares", (json_int_t)spares, "loss",
        steps_loss(run, &loss) ? json_real(loss) : json_null()));
}

/* --- nodes and ranks ------------------------------------------------------------------ */

static char *nodes_part(const struct run *run)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < run->plan->nodes; i++) {
        const struct plan_node *node = &run->plan->node[i];

        json_array_append_new(list, json_pack("[o, o, o, i]", text_of(plan_label(node)),
                                              role_of(plan_world(run->plan, i)),
                                              ranges_of(node),
                                              plan_world(run->plan, i)->first_rank));
    }
    return dump(list);
}

/* Returns [first, last, first, last, ...], numbers in the run. */
static json_t *ranges_of(const struct plan_node *node)
{
    json_t *list = json_array();
    int     i, first = 0;

    for (i = 0; i < node->ranks; i++) {
        if (i + 1 < node->ranks && node->rank[i + 1].rank == node->rank[i].rank + 1)
            continue;
        json_array_append_new(list, json_integer(node->rank[first].rank));
        json_array_append_new(list, json_integer(node->rank[i].rank));
        first = i + 1;
    }
    return list;
}

static void set_columns(struct page_view *view, const struct run *run)
{
    struct page_runs states = { 0 }, behind = { 0 };
    int64_t          lowest, highest, step;
    size_t           n;
    int              i, rank;

    for (n = 0; n < run->plan->nodes; n++) {
        if (!steps_range(run, plan_world(run->plan, n), &lowest, &highest))
            highest = -1;
        for (i = 0; i < run->plan->node[n].ranks; i++) {
            rank = run->plan->node[n].rank[i].rank;
            step = steps_of(run, rank);
            page_runs_letter(&states, letter_of(run, run->node[n], rank));
            page_runs_number(&behind, step >= 0 && highest >= step ? highest - step : -1);
        }
    }
    page_view_set(view, PAGE_RANKS, page_runs_end(&states));
    page_view_set(view, PAGE_BEHIND, page_runs_end(&behind));
}

static char letter_of(const struct run *run, const struct node *node, int rank)
{
    const struct rank_end *end = &run->outcome.rank[rank];

    if (end->ended && rank_end_is_failure(end))
        return PAGE_FAILED;
    if (end->ended)
        return rank_end_code(end) == 0 ? PAGE_DONE : PAGE_STOPPED;
    if (node_is_over(node))
        return PAGE_LOST;
    if (!end->started)
        return PAGE_STARTING;
    return node->liveness.is_suspect || reconnect_is_cut(node->reconnect) ? PAGE_SILENT
                                                                          : PAGE_RUNNING;
}

/* --- steps and checkpoints -------------------------------------------------------------- */

static char *step_part(const struct run *run)
{
    const struct plan *world;
    json_t            *list = json_array();
    int64_t            lowest, highest;
    size_t             i;

    for (i = 0; i < plan_worlds(run->plan); i++) {
        world = plan_world_at(run->plan, i);
        if (steps_range(run, world, &lowest, &highest))
            json_array_append_new(list, json_pack("[o, I, I, o]", role_of(world),
                                                  (json_int_t)highest, (json_int_t)lowest,
                                                  text_of(steps_form(run, world))));
    }
    return dump(list);
}

static char *checkpoints_part(const struct run *run, double offset_s)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < plan_worlds(run->plan) && run->checkpoints != NULL; i++)
        if (run->checkpoints[i].count > 0)
            json_array_append_new(
                list, json_pack("[o, I, I, o]", role_of(plan_world_at(run->plan, i)),
                                (json_int_t)run->checkpoints[i].count,
                                (json_int_t)(run->checkpoints[i].at_s + offset_s),
                                text_of(run->checkpoints[i].path)));
    return dump(list);
}

static char *generations_part(const struct run *run, int status, double offset_s)
{
    const struct generations *past = &run->outcome.past;
    json_t                   *list = json_array();
    size_t                    i;

    for (i = 0; i < past->count; i++)
        json_array_append_new(
            list, json_pack("[i, o, i, o, o, o]", past->item[i].number,
                            text_of(past->item[i].role), past->item[i].status,
                            text_of(past->item[i].text),
                            unix_time(past->item[i].first_start_ns, offset_s),
                            unix_time(past->item[i].last_end_ns, offset_s)));
    json_array_append_new(list, present_generation(run, status, offset_s));
    return dump(list);
}

static json_t *present_generation(const struct run *run, int status,
                                       double offset_s)
{
    int64_t start_ns = 0;
    int     rank;

    for (rank = 0; rank < run->plan->world_size; rank++) {
        const struct rank_end *end = &run->outcome.rank[rank];

        if (end->start_ns > 0 && (start_ns == 0 || end->start_ns < start_ns))
            start_ns = end->start_ns;
    }
    return json_pack("[i, n, n, n, o, o]", plan_latest_generation(run->plan),
                     unix_time(start_ns, offset_s),
                     unix_time(status >= 0 ? run->outcome.end_ns : 0, offset_s));
}

/* --- events, and one rank ------------------------------------------------------------------ */

char *page_look_events(const struct run *run, uint64_t after, uint64_t *last)
{
    const struct past_event *event;
    json_t                  *list = json_array();
    size_t                   back = 0;

    *last = after;
    while ((event = events_past(run, back)) != NULL && event->number > after)
        back++;
    while (back-- > 0) {
        event = events_past(run, back);
        *last = event->number;
        json_array_append_new(list, json_pack("[I, I, s, O]", (json_int_t)event->number,
                                              (json_int_t)event->at, event->name, event->text));
    }
    if (json_array_size(list) > 0)
        return dump(list);
    json_decref(list);
    return NULL;
}

json_t *page_look_rank(const struct run *run, int rank, json_t *lines)
{
    const struct rank_end *end = &run->outcome.rank[rank];
    const struct plan     *world = plan_world_of_rank(run->plan, rank);
    const size_t           node = run->outcome.node_of[rank];
    const int64_t          step = steps_of(run, rank);
    char                   words[WORDS_SIZE] = "";

    if (end->ended)
        rank_end_words(end, words, sizeof words);
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "rank", rank - world->first_rank,
                     "role", role_of(world), "node",
                     node < run->plan->nodes ? text_of(run->plan->node[node].host) : json_null(),
                     "pid", end->pid > 0 ? json_integer(end->pid) : json_null(), "step",
                     step >= 0 ? json_integer(step) : json_null(), "words",
                     end->ended ? text_of(words) : json_null(), "lines", lines);
}

json_t *page_look_lines(const struct strlist *lines)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < lines->count; i++) {
        char *plain = without_colours(lines->item[i]);

        json_array_append_new(list, json_text(plain, strlen(plain)));
        free(plain);
    }
    return list;
}

/* tail.h lets colours pass, "ESC [ ... m", and nothing else with an ESC. */
static char *without_colours(const char *line)
{
    char  *made = xmalloc(strlen(line) + 1), *to = made;
    size_t size;

    while (*line != '\0') {
        size = strcspn(line, "\033");
        memcpy(to, line, size);
        to += size;
        line += size;
        if (*line == '\033') {
            line += strcspn(line, "m");
            line += *line == 'm';
        }
    }
    *to = '\0';
    return made;
}

/* --- the whole page ------------------------------------------------------------------------- */

json_t *page_look_whole(const struct run *run, int status)
{
    const double     offset_s = page_look_offset_s();
    struct page_view view = { 0 };
    uint64_t         last;
    char            *points, *events, *message;
    json_t          *whole;

    page_look(&view, run, status, offset_s);
    points = page_points(steps_history(run), 0, offset_s);
    events = page_look_events(run, 0, &last);
    message = page_view_message(&view, 0, points, events);
    whole = json_loads(message, 0, NULL);
    if (whole == NULL)
        xalloc_die();
    json_object_set_new(whole, "at", json_integer((json_int_t)time(NULL)));
    json_object_set_new(whole, "lines", failed_lines(run));
    free(points);
    free(events);
    free(message);
    page_view_clear(&view);
    return whole;
}

json_t *page_look_now(const struct run *run)
{
    return page_look_whole(run, -1);
}

static json_t *failed_lines(const struct run *run)
{
    json_t        *list = json_object();
    struct strlist lines;
    char           number[16];
    int            rank;

    for (rank = 0; rank < run->plan->world_size && json_object_size(list) < LINES_RANKS; rank++) {
        if (!run->outcome.rank[rank].ended || !rank_end_is_failure(&run->outcome.rank[rank]))
            continue;
        lines = (struct strlist){ 0 };
        output_tail(run->output, rank, &lines);
        snprintf(number, sizeof number, "%d", rank);
        json_object_set_new(list, number, page_look_rank(run, rank, page_look_lines(&lines)));
        strlist_clear(&lines);
    }
    return list;
}

/* --- JSON -------------------------------------------------------------------------------- */

static json_t *role_of(const struct plan *world)
{
    return text_of(world->role_name);
}

static json_t *text_of(const char *text)
{
    return text != NULL ? event_string(text, EVENT_TEXT_MAX) : json_null();
}

double page_look_offset_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_S - clock_now_s();
}

static json_t *unix_time(int64_t at_ns, double offset_s)
{
    return at_ns != 0 ? json_real((double)at_ns / NS_PER_S + offset_s) : json_null();
}

static char *dump(json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));

    json_decref(body);
    if (text == NULL)
        xalloc_die();
    return text;
}
