/* steps.c - see steps.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "frame.h"
#include "log.h"
#include "outcome/group.h"
#include "run/events.h"
#include "run/run.h"
#include "sanitize.h"
#include "xalloc.h"

#define FORM_SIZE 24 /* with its end */
#define AGE_MAX_S 1e9

struct steps {
    struct rank_steps {
        uint64_t count; /* 0: none yet */
        int64_t  step;  /* -1: it has no number */
        int64_t  at_ns;
        bool     is_last;
        char     form[FORM_SIZE];
    } *rank; /* by its number in the run */
    struct step_pace pace; /* of one rank: others may report the same step a little later */
    int              leader; /* that rank, which has reported first; -1: none yet */
    struct step_history history; /* of that rank */
    bool             has_loss;
    double           loss; /* that a rank has reported last; often only one reports any */
    bool             is_found; /* the user knows that there are steps, and the pace */
    bool             is_pace_known;
    struct world_steps {
        struct step_reach reach;
        char              form[FORM_SIZE]; /* of the last one */
    } *world; /* by role; [0] if there are none */
};

static json_int_t rank_of(const struct node *node, const json_t *entry);
static void  take_rank(struct run *run, int number, const json_t *entry, int64_t now_ns);
static struct world_steps *world_of(const struct run *run, const struct plan *world);
static void  note_loss(struct steps *steps, const json_t *loss);
static void  note_pace(struct run *run, int number);
static void  tell(struct run *run, const struct rank_steps *rank, int number);
static char *words_of(const struct run *run, const struct plan *world, int64_t now_ns);
static bool  counts(const struct run *run, int rank);
static char *differing_words(const struct run *run, const struct plan *world, int64_t least,
                             int64_t most);
static char *ranks_at(const struct run *run, const struct plan *world, int64_t step);

void steps_open(struct run *run)
{
    const size_t worlds = plan_worlds(run->plan);
    size_t       i;

    run->steps = xcalloc(1, sizeof *run->steps);
    run->steps->world = xcalloc(worlds, sizeof *run->steps->world);
    for (i = 0; i < worlds; i++)
        run->steps->world[i].reach = step_reach_none;
    steps_make_room(run);
}

void steps_free(struct steps *steps)
{
    if (steps == NULL)
        return;
    free(steps->rank);
    free(steps->world);
    free(steps);
}

void steps_again(struct run *run, const struct plan *world)
{
    size_t i;

    if (world != run->plan || run->plan->roles == 0)
        step_reach_again(&world_of(run, world)->reach);
    for (i = 0; world == run->plan && i < run->plan->roles; i++)
        step_reach_again(&run->steps->world[i].reach);
    memset(&run->steps->rank[world->first_rank], 0,
           (size_t)world->world_size * sizeof *run->steps->rank);
    run->steps->leader = -1;
}

void steps_make_room(struct run *run)
{
    free(run->steps->rank);
    run->steps->rank = xcalloc((size_t)run->plan->world_size, sizeof *run->steps->rank);
    run->steps->leader = -1;
}

int steps_take(struct run *run, const struct node *node, const json_t *body, struct error *err)
{
    const json_t *entry;
    json_int_t    rank, step, count;
    double        age_s;
    const char   *form;
    size_t        i;

    if (json_array_size(json_object_get(body, "ranks")) == 0)
        return err_set(err, "STEPS frame: it names no rank");
    json_array_foreach(json_object_get(body, "ranks"), i, entry) {
        rank = rank_of(node, entry);
        step = json_integer_value(json_object_get(entry, "step"));
        count = json_integer_value(json_object_get(entry, "count"));
        age_s = json_number_value(json_object_get(entry, "age_s"));
        form = json_string_value(json_object_get(entry, "form"));
        if (rank < 0 || rank >= run->plan->world_size ||
            run->outcome.node_of[rank] != node->index || step < -1 || count < 1 ||
            !(age_s >= 0 && age_s <= AGE_MAX_S) || form == NULL)
            return err_set(err, "STEPS frame: entry %zu is not about a step of a rank there", i);
    }
    json_array_foreach(json_object_get(body, "ranks"), i, entry)
        take_rank(run, (int)rank_of(node, entry), entry, clock_now_ns());
    return 0;
}

/* Returns the rank's number in the run; the agent knows only that in its world. */
static json_int_t rank_of(const struct node *node, const json_t *entry)
{
    json_int_t rank = json_integer_value(json_object_get(entry, "rank"));

    return rank >= 0 && rank < FRAME_WORLD_MAX ? rank + node->plan->first_rank : -1;
}

static void take_rank(struct run *run, int number, const json_t *entry, int64_t now_ns)
{
    const json_t      *form = json_object_get(entry, "form");
    double             age_s = json_number_value(json_object_get(entry, "age_s"));
    struct world_steps *world = world_of(run, plan_world_of_rank(run->plan, number));
    struct rank_steps *rank = &run->steps->rank[number];
    char              *name = sanitize_text(json_string_value(form), json_string_length(form));

    step_reach_note(&world->reach, json_integer_value(json_object_get(entry, "step")),
                    rank->count > 0 ? rank->step : -1);
    snprintf(world->form, sizeof world->form, "%s", name);
    *rank = (struct rank_steps){
        .count = (uint64_t)json_integer_value(json_object_get(entry, "count")),
        .step = json_integer_value(json_object_get(entry, "step")),
        .at_ns = now_ns - (int64_t)(age_s * NS_PER_S),
        .is_last = json_is_true(json_object_get(entry, "last")),
    };
    snprintf(rank->form, sizeof rank->form, "%s", name);
    free(name);
    note_loss(run->steps, json_object_get(entry, "loss"));
    note_pace(run, number);
    tell(run, rank, number);
}

static struct world_steps *world_of(const struct run *run, const struct plan *world)
{
    return &run->steps->world[plan_world_index(run->plan, world)];
}

const struct step_reach *steps_reach(const struct run *run, const struct plan *world)
{
    return &world_of(run, world)->reach;
}

int64_t steps_most(const struct run *run, const struct plan *world)
{
    return step_reach_most(&world_of(run, world)->reach);
}

const char *steps_form(const struct run *run, const struct plan *world)
{
    return world_of(run, world)->form;
}

static void note_loss(struct steps *steps, const json_t *loss)
{
    if (!json_is_number(loss) || !isfinite(json_number_value(loss)))
        return;
    steps->has_loss = true;
    steps->loss = json_number_value(loss);
}

static void note_pace(struct run *run, int number)
{
    struct steps            *steps = run->steps;
    const struct rank_steps *rank = &steps->rank[number];
    const double             at_s = (double)rank->at_ns / NS_PER_S;

    if (steps->leader < 0 || run->outcome.rank[steps->leader].ended) {
        steps->leader = number;
        step_pace_again(&steps->pace);
    }
    if (number != steps->leader)
        return;
    step_pace_note(&steps->pace, at_s);
    if (rank->step >= 0)
        step_history_note(&steps->history, at_s, rank->step,
                          steps->has_loss ? &steps->loss : NULL);
}

/* Tells the user once how muster knows that the ranks make progress, and once with auto when
 * they do not. */
static void tell(struct run *run, const struct rank_steps *rank, int number)
{
    struct steps *steps = run->steps;
    double        limit_s = step_pace_limit_s(&steps->pace);
    char          name[PLAN_RANK_NAME], text[100];

    if (!steps->is_found) {
        snprintf(text, sizeof text, "%s reports its steps (found by: %s)",
                 plan_rank_name(run->plan, number, name), rank->form);
        log_info("%s", text);
        events_tell(run, "steps_found",
                    json_pack("{s:o}", "step_form", json_text(rank->form, strlen(rank->form))),
                    "%s", text);
    }
    steps->is_found = true;
    if (steps->is_pace_known || limit_s < 0)
        return;
    steps->is_pace_known = true;
    if (run->options->hang_timeout_s == HANG_AUTO)
        log_note("--hang-timeout=auto: ranks report a step about every %.1f s (%s); without one "
                 "for %.0f s the run hangs",
                 step_pace_median_s(&steps->pace), rank->form, limit_s);
}

void steps_signs(const struct run *run, int64_t now_ns, struct hang_signs *signs)
{
    const struct rank_steps *rank, *latest = NULL;
    int                      i;

    for (i = 0; i < run->plan->world_size; i++) {
        rank = &run->steps->rank[i];
        if (counts(run, i) && (latest == NULL || rank->at_ns > latest->at_ns))
            latest = rank;
    }
    signs->pace = &run->steps->pace;
    signs->step_s = latest != NULL ? (double)(now_ns - latest->at_ns) / NS_PER_S : -1;
    signs->is_last_step = latest != NULL && latest->is_last;
}

/* Has the rank, which still runs, reported a step? */
static bool counts(const struct run *run, int rank)
{
    return run->steps->rank[rank].count > 0 && !run->outcome.rank[rank].ended;
}

bool steps_range(const struct run *run, const struct plan *world, int64_t *lowest,
                 int64_t *highest)
{
    const struct rank_steps *rank = &run->steps->rank[world->first_rank];
    int                      i;

    *lowest = INT64_MAX;
    *highest = -1;
    for (i = 0; i < world->world_size; i++, rank++) {
        if (rank->count == 0 || rank->step < 0)
            continue;
        *lowest = rank->step < *lowest ? rank->step : *lowest;
        *highest = rank->step > *highest ? rank->step : *highest;
    }
    return *highest >= 0;
}

bool steps_of_node(const struct run *run, const struct node *node, int64_t *step, int64_t *at_ns)
{
    const struct rank_steps *rank;
    int                      i, number;

    *step = -1;
    for (i = 0; i < node->plan->ranks; i++) {
        number = node->plan->rank[i].rank;
        rank = &run->steps->rank[number];
        if (!counts(run, number) || rank->step <= *step)
            continue;
        *step = rank->step;
        *at_ns = rank->at_ns;
    }
    return *step >= 0;
}

void steps_words(const struct run *run, struct strlist *lines)
{
    const struct plan *world;
    int                first;
    char              *line;

    for (first = 0; first < run->plan->world_size; first += world->world_size) {
        world = plan_world_of_rank(run->plan, first);
        line = words_of(run, world, clock_now_ns());
        if (line != NULL)
            strlist_add(lines, line);
        free(line);
    }
}

/* Returns NULL if no rank has reported a step. */
static char *words_of(const struct run *run, const struct plan *world, int64_t now_ns)
{
    const struct rank_steps *rank, *latest = NULL;
    int64_t                  least = INT64_MAX, most = -1;
    char                    *differing, *line, name[PLAN_RANK_NAME];
    int                      i, last = world->first_rank;

    for (i = world->first_rank; i < world->first_rank + world->world_size; i++) {
        rank = &run->steps->rank[i];
        if (!counts(run, i))
            continue;
        least = rank->step < least ? rank->step : least;
        most = rank->step > most ? rank->step : most;
        if (latest == NULL || rank->at_ns > latest->at_ns) {
            latest = rank;
            last = i;
        }
    }
    if (latest == NULL)
        return NULL;
    differing = least < most ? differing_words(run, world, least, most) : xstrdup("");
    line = latest->step >= 0
               ? xasprintf("last step: %lld, of %s %.0f s ago (found by: %s)%s",
                           (long long)latest->step, plan_rank_name(run->plan, last, name),
                           (double)(now_ns - latest->at_ns) / NS_PER_S, latest->form, differing)
               : xasprintf("last step: of %s %.0f s ago (found by: %s)",
                           plan_rank_name(run->plan, last, name),
                           (double)(now_ns - latest->at_ns) / NS_PER_S, latest->form);
    free(differing);
    return line;
}

/* Either may be the cause: a rank that is late, or one that has left out what the others wait
 * for. */
static char *differing_words(const struct run *run, const struct plan *world, int64_t least,
                             int64_t most)
{
    char *late = ranks_at(run, world, least), *early = ranks_at(run, world, most);
    char *text = xasprintf("; they differ: step %lld: %s, step %lld: %s", (long long)least, late,
                           (long long)most, early);

    free(late);
    free(early);
    return text;
}

/* Returns "ranks 0-2,5": those at that step. */
static char *ranks_at(const struct run *run, const struct plan *world, int64_t step)
{
    struct groups groups = { 0 };
    char         *text;
    int           i;

    for (i = world->first_rank; i < world->first_rank + world->world_size; i++)
        if (counts(run, i) && run->steps->rank[i].step == step)
            groups_add(&groups, "", i);
    text = group_ranks(&groups.group[0], run->plan);
    groups_clear(&groups);
    return text;
}

void steps_add_rank(const struct run *run, int rank, json_t *body)
{
    const struct rank_steps *of = &run->steps->rank[rank];

    if (of->count == 0)
        return;
    json_object_set_new(body, "step", of->step >= 0 ? json_integer(of->step) : json_null());
    json_object_set_new(body, "step_form", json_text(of->form, strlen(of->form)));
    json_object_set_new(body, "step_ns", json_integer(of->at_ns));
}

const struct step_history *steps_history(const struct run *run)
{
    return &run->steps->history;
}

int64_t steps_of(const struct run *run, int rank)
{
    return run->steps->rank[rank].count > 0 ? run->steps->rank[rank].step : -1;
}

bool steps_loss(const struct run *run, double *loss)
{
    *loss = run->steps->loss;
    return run->steps->has_loss;
}

json_t *steps_json(const struct run *run)
{
    struct hang_signs signs = { .limit_s = run->options->hang_timeout_s };
    double            median_s, limit_s;

    steps_signs(run, clock_now_ns(), &signs);
    if (signs.step_s < 0)
        return json_null();
    median_s = step_pace_median_s(signs.pace);
    limit_s = signs.limit_s == 0 ? -1 : hang_step_limit_s(&signs);
    return json_pack("{s:o, s:o}", "report_s", median_s >= 0 ? json_real(median_s) : json_null(),
                     "hang_s", limit_s >= 0 ? json_real(limit_s) : json_null());
}
