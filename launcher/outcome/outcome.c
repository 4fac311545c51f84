/* outcome.c - see outcome.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/outcome.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"
#include "xalloc.h"

static void forget_rank(struct outcome *outcome, int rank);
static void note_first_rank(struct outcome *outcome, int rank);
static bool is_before(const struct outcome *outcome, int rank, int other);
static bool first_node(const struct outcome *outcome, size_t *first);
static void set_cause(struct outcome *outcome, int exit_code, const char *format, va_list ap);
static int  status_of_exec(const struct outcome *outcome);
static bool output_is_whole(const struct outcome *outcome);
static void note_seen(struct outcome *outcome, const struct rank_end *known);
static void note_start(struct outcome *outcome, struct rank_end *known);
static bool all_ended(const struct outcome *outcome);
static bool is_service(const struct outcome *outcome, int rank);

void outcome_init(struct outcome *outcome, const struct plan *plan)
{
    size_t ranks = (size_t)plan->world_size, rank, n;
    int    i;

    *outcome = (struct outcome){ .plan = plan, .nodes = plan->nodes, .ranks = plan->world_size,
                                 .first_rank = -1, .aborted_by = -1,
                                 .start_ns = clock_now_ns() };
    outcome->rank = xcalloc(ranks, sizeof *outcome->rank);
    outcome->node_of = xcalloc(ranks, sizeof *outcome->node_of);
    outcome->ranks_left = xcalloc(plan->nodes, sizeof *outcome->ranks_left);
    outcome->node = xcalloc(plan->nodes, sizeof *outcome->node);
    outcome->node_failed_ns = xcalloc(plan->nodes, sizeof *outcome->node_failed_ns);
    outcome->cleaned = xcalloc(plan->nodes, sizeof *outcome->cleaned);
    outcome->pace = xcalloc(plan->nodes, sizeof *outcome->pace);
    for (rank = 0; rank < ranks; rank++)
        outcome->node_of[rank] = OUTCOME_NOT_OURS;
    for (n = 0; n < plan->nodes; n++) {
        for (i = 0; i < plan->node[n].ranks; i++)
            outcome->node_of[plan->node[n].rank[i].rank] = n;
        outcome->ranks_left[n] = plan->node[n].ranks;
        outcome->ours += plan->node[n].ranks;
    }
}

void outcome_clear(struct outcome *outcome)
{
    size_t n;
    int    rank;

    if (outcome->plan == NULL)
        return;
    for (rank = 0; rank < outcome->ranks; rank++) {
        free(outcome->rank[rank].error);
        free(outcome->rank[rank].oom);
    }
    for (n = 0; n < outcome->nodes; n++) {
        free(outcome->node[n]);
        free(outcome->cleaned[n].text);
    }
    free(outcome->rank);
    free(outcome->node_of);
    free(outcome->ranks_left);
    free(outcome->node);
    free(outcome->node_failed_ns);
    free(outcome->cleaned);
    free(outcome->pace);
    free(outcome->cause_text);
    free(outcome->apart_text);
    free(outcome->given_up);
    json_decref(outcome->unreached);
    json_decref(outcome->suspects);
    json_decref(outcome->slow);
    cautions_clear(&outcome->cautions);
    evidence_clear(&outcome->evidence);
    flight_records_clear(&outcome->flight);
    generations_clear(&outcome->past);
    *outcome = (struct outcome){ .first_rank = -1 };
}

void outcome_set_rules(struct outcome *outcome, bool is_exec, bool largest_status)
{
    outcome->is_exec = is_exec;
    outcome->largest_status = largest_status;
}

void outcome_restart(struct outcome *outcome, const char *text)
{
    generations_add(&outcome->past, outcome, outcome->plan, outcome_status(outcome), text);
    outcome_again(outcome);
}

void outcome_restart_role(struct outcome *outcome, const struct plan *role, int code,
                          const char *text)
{
    size_t n;
    int    rank;

    generations_add(&outcome->past, outcome, role, code, text);
    for (rank = role->first_rank; rank < role->first_rank + role->world_size; rank++)
        forget_rank(outcome, rank);
    for (n = role->first_node; n < role->first_node + role->nodes; n++)
        outcome->ranks_left[n] = outcome->plan->node[n].ranks;
    evidence_forget(&outcome->evidence, role->first_node, role->nodes);
    flight_records_forget(&outcome->flight, role->first_rank, role->world_size);
    outcome->first_rank = -1;
    for (rank = 0; rank < outcome->ranks; rank++)
        if (rank_end_is_failure(&outcome->rank[rank]))
            note_first_rank(outcome, rank);
}

static void forget_rank(struct outcome *outcome, int rank)
{
    struct rank_end *end = &outcome->rank[rank];

    outcome->started -= end->started;
    outcome->seen -= end->started || end->ended;
    free(end->error);
    free(end->oom);
    *end = (struct rank_end){ 0 };
}

void outcome_again(struct outcome *outcome)
{
    struct outcome last = *outcome;

    outcome->past = (struct generations){ 0 };
    outcome->suspects = outcome->slow = NULL;
    outcome->cautions = (struct cautions){ 0 };
    outcome_clear(outcome);
    outcome_init(outcome, last.plan);
    outcome_set_rules(outcome, last.is_exec, last.largest_status);
    outcome->start_ns = last.start_ns;
    outcome->past = last.past;
    outcome->suspects = last.suspects;
    outcome->slow = last.slow;
    outcome->cautions = last.cautions;
    cautions_again(&outcome->cautions);
    outcome->lost_bytes = last.lost_bytes;
    memcpy(outcome->output_why, last.output_why, sizeof last.output_why);
}

/* --- facts ------------------------------------------------------------------ */

void outcome_begun(struct outcome *outcome)
{
    outcome->has_begun = true;
}

void outcome_ended(struct outcome *outcome)
{
    outcome->end_ns = clock_now_ns();
    if (outcome->apart_text != NULL && outcome_status(outcome) == 0)
        outcome_cause(outcome, EXIT_CANNOT_EXECUTE, "%s", outcome->apart_text);
}

void outcome_apart(struct outcome *outcome, const char *format, ...)
{
    va_list ap;

    free(outcome->apart_text);
    va_start(ap, format);
    if (vasprintf(&outcome->apart_text, format, ap) < 0)
        xalloc_die();
    va_end(ap);
}

void outcome_give_up(struct outcome *outcome, char *text)
{
    free(outcome->given_up);
    outcome->given_up = text;
}

void outcome_rank_started(struct outcome *outcome, int rank, int pid, int64_t at_ns)
{
    struct rank_end *end = &outcome->rank[rank];

    note_start(outcome, end);
    end->pid = pid;
    end->start_ns = at_ns;
}

void outcome_rank_ended(struct outcome *outcome, int rank, const struct rank_end *end)
{
    struct rank_end *own = &outcome->rank[rank];
    size_t           node = outcome->node_of[rank];

    note_seen(outcome, own);
    if (!own->ended && node != OUTCOME_NOT_OURS)
        outcome->ranks_left[node]--;
    free(own->error);
    free(own->oom);
    *own = *end;
    own->ended = true;
    own->error = end->error != NULL ? xstrdup(end->error) : NULL;
    own->oom = end->oom != NULL ? xstrdup(end->oom) : NULL;
    if (rank_end_is_failure(own))
        note_first_rank(outcome, rank);
}

static void note_start(struct outcome *outcome, struct rank_end *known)
{
    note_seen(outcome, known);
    if (!known->started)
        outcome->started++;
    known->started = true;
}

/* Counts a rank that starts or ends. Call it before known is changed. */
static void note_seen(struct outcome *outcome, const struct rank_end *known)
{
    if (!known->started && !known->ended)
        outcome->seen++;
}

/* The earliest end counts. If two ranks ended at the same time, the lower rank counts,
 * whichever was reported first. */
static void note_first_rank(struct outcome *outcome, int rank)
{
    if (is_before(outcome, rank, outcome->first_rank))
        outcome->first_rank = rank;
}

/* Did the rank end before the other one? -1: there is no other. */
static bool is_before(const struct outcome *outcome, int rank, int other)
{
    int64_t at_ns = outcome->rank[rank].end_ns;

    return other < 0 || at_ns < outcome->rank[other].end_ns ||
           (at_ns == outcome->rank[other].end_ns && rank < other);
}

void outcome_node_failed(struct outcome *outcome, size_t node, const struct conn_failure *why,
                         int64_t at_ns)
{
    const struct plan_node *its = &outcome->plan->node[node];
    int                     i;

    if (outcome->node[node] != NULL)
        return;
    outcome->node[node] = xmemdup(why, sizeof *why);
    outcome->node_failed_ns[node] = at_ns;
    /* The node may have started its ranks without being able to report it. */
    for (i = 0; outcome->has_begun && !outcome->is_exec && i < its->ranks; i++)
        note_start(outcome, &outcome->rank[its->rank[i].rank]);
}

void outcome_node_pace(struct outcome *outcome, size_t node, const struct roundtrips *trips)
{
    outcome->pace[node] = (struct node_pace){
        .count = trips->count,
        .p50_ns = roundtrips_percentile(trips, 50),
        .p99_ns = roundtrips_percentile(trips, 99),
        .most_ns = trips->most_ns,
        .was_slow = trips->is_slow,
    };
}

void outcome_node_cleaned(struct outcome *outcome, size_t node, int ended, int left,
                          const char *text)
{
    free(outcome->cleaned[node].text);
    outcome->cleaned[node] = (struct node_cleaned){ ended, left, xstrdup(text) };
}

void outcome_cause(struct outcome *outcome, int exit_code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    set_cause(outcome, exit_code, format, ap);
    va_end(ap);
}

void outcome_aborted(struct outcome *outcome, int rank, int exit_code, const char *format, ...)
{
    va_list ap;

    if (outcome->cause == 0)
        outcome->aborted_by = rank;
    va_start(ap, format);
    set_cause(outcome, exit_code, format, ap);
    va_end(ap);
}

/* Only the first cause counts. */
static void set_cause(struct outcome *outcome, int exit_code, const char *format, va_list ap)
{
    if (outcome->cause != 0)
        return;
    outcome->cause = exit_code;
    outcome->cause_ns = clock_now_ns();
    if (vasprintf(&outcome->cause_text, format, ap) < 0)
        xalloc_die();
}

void outcome_reader_gone(struct outcome *outcome, const char *stream, bool ends_run)
{
    outcome->is_reader_gone = true;
    if (ends_run)
        outcome_cause(outcome, EXIT_OUTPUT, "%s: the reader is gone", stream);
}

void outcome_output_failed(struct outcome *outcome, const char *format, ...)
{
    va_list ap;

    if (outcome->output_why[0] != '\0')
        return;
    va_start(ap, format);
    vsnprintf(outcome->output_why, sizeof outcome->output_why, format, ap);
    va_end(ap);
}

void outcome_sent(struct outcome *outcome, int signal)
{
    outcome->sent = signal;
}

void outcome_unkilled(struct outcome *outcome)
{
    outcome->is_left = true;
}

void outcome_output_lost(struct outcome *outcome, uint64_t bytes)
{
    outcome->lost_bytes += bytes;
}

void outcome_unreached(struct outcome *outcome, json_t *pairs)
{
    json_decref(outcome->unreached);
    outcome->unreached = pairs;
}

void outcome_evidence(struct outcome *outcome, size_t node, const json_t *body)
{
    evidence_take(&outcome->evidence, outcome->plan, node, body);
}

void outcome_flight(struct outcome *outcome, int rank, const json_t *body)
{
    flight_records_take(&outcome->flight, rank, body);
}

void outcome_caution(struct outcome *outcome, const char *host, const char *format, ...)
{
    va_list ap;
    char   *text;

    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        xalloc_die();
    va_end(ap);
    cautions_add(&outcome->cautions, host, text);
    free(text);
}

void outcome_tell(struct outcome *outcome)
{
    cautions_tell(&outcome->cautions);
}

int outcome_first_rank(const struct outcome *outcome, const struct plan *world)
{
    int rank, first = -1;

    for (rank = world->first_rank; rank < world->first_rank + world->world_size; rank++)
        if (rank_end_is_failure(&outcome->rank[rank]) && is_before(outcome, rank, first))
            first = rank;
    return first;
}

bool outcome_any_ended_well(const struct outcome *outcome, const struct plan *world)
{
    int rank;

    for (rank = world->first_rank; rank < world->first_rank + world->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];

        if (end->ended && !end->after_stop && rank_end_code(end) == 0)
            return true;
    }
    return false;
}

int outcome_alike(const struct outcome *outcome, const struct plan *world, double within_s)
{
    const struct rank_end *rank = outcome->rank;
    const int              first = outcome_first_rank(outcome, world);
    int                    i, alike = 0;

    for (i = world->first_rank; i < world->first_rank + world->world_size && first >= 0; i++) {
        if (outcome->node_of[i] == OUTCOME_NOT_OURS || !rank[i].ended)
            continue;
        if (!rank_end_is_failure(&rank[i]) || !rank[i].started ||
            rank_end_code(&rank[i]) != rank_end_code(&rank[first]) ||
            (double)(rank[i].end_ns - rank[i].start_ns) / NS_PER_S > within_s)
            return -1;
        alike++;
    }
    return alike > 0 ? alike : -1;
}

int outcome_ranks(const struct outcome *outcome, const struct plan *world)
{
    return world == outcome->plan ? outcome->ours : world->world_size;
}

bool outcome_is_left(const struct outcome *outcome)
{
    size_t i;

    for (i = 0; i < outcome->nodes; i++)
        if (outcome->cleaned[i].text != NULL && outcome->cleaned[i].left > 0)
            return true;
    return outcome->is_left;
}

/* --- conclusions ------------------------------------------------------ */

enum outcome_first outcome_first(const struct outcome *outcome, size_t *node)
{
    enum outcome_first first = FIRST_NONE;
    int64_t            at_ns = INT64_MAX;

    if (outcome->first_rank >= 0) {
        first = FIRST_RANK;
        at_ns = outcome->rank[outcome->first_rank].end_ns;
    }
    if (first_node(outcome, node) && outcome->node_failed_ns[*node] < at_ns) {
        first = FIRST_NODE;
        at_ns = outcome->node_failed_ns[*node];
    }
    if (outcome->cause != 0 && (outcome->cause_ns < at_ns || !outcome_any_started(outcome)))
        first = FIRST_CAUSE;
    return first;
}

/* Finds the node that failed first. If no rank was started, it is the first failed node in the
 * plan, since the times mean nothing then. */
static bool first_node(const struct outcome *outcome, size_t *first)
{
    bool   by_time = outcome_any_started(outcome), found = false;
    size_t n;

    for (n = 0; n < outcome->plan->nodes; n++) {
        if (outcome->node[n] == NULL)
            continue;
        if (!found ||
            (by_time && outcome->node_failed_ns[n] < outcome->node_failed_ns[*first]))
            *first = n;
        found = true;
    }
    return found;
}

int outcome_status(const struct outcome *outcome)
{
    size_t node;
    int    status = 0;

    if (outcome->is_exec)
        return status_of_exec(outcome);
    switch (outcome_first(outcome, &node)) {
    case FIRST_RANK:
        status = rank_end_code(&outcome->rank[outcome->first_rank]);
        break;
    case FIRST_NODE:
        status = outcome->node[node]->exit_code;
        break;
    case FIRST_CAUSE:
        status = outcome->cause;
        break;
    case FIRST_NONE:
        if (!all_ended(outcome))
            return EXIT_INTERNAL;
        return output_is_whole(outcome) ? 0 : EXIT_OUTPUT;
    }
    if (outcome->given_up != NULL)
        return EXIT_NO_PROGRESS;
    return status != 0 ? status : EXIT_INTERNAL;
}

/* The exit status of the command counts only with -S, as in pdsh. A node that could not run the
 * command always counts. */
static int status_of_exec(const struct outcome *outcome)
{
    int    largest = 0, rank;
    size_t n;

    if (outcome->cause != 0)
        return outcome->cause;
    for (rank = 0; outcome->largest_status && rank < outcome->plan->world_size; rank++)
        if (outcome->rank[rank].ended && rank_end_code(&outcome->rank[rank]) > largest)
            largest = rank_end_code(&outcome->rank[rank]);
    for (n = 0; n < outcome->plan->nodes; n++) {
        int code = outcome->node[n] != NULL ? outcome->node[n]->exit_code : 0;

        if (code > 0 && !outcome->largest_status)
            return code;
        if (code > largest)
            largest = code;
    }
    if (largest > 0)
        return largest;
    if (!all_ended(outcome))
        return EXIT_INTERNAL;
    return output_is_whole(outcome) ? 0 : EXIT_OUTPUT;
}

static bool output_is_whole(const struct outcome *outcome)
{
    return outcome->lost_bytes == 0 && outcome->output_why[0] == '\0';
}

bool outcome_any_started(const struct outcome *outcome)
{
    return outcome->seen > 0;
}

bool outcome_all_started(const struct outcome *outcome)
{
    return outcome->started == outcome->ours;
}

/* Have all our ranks exited with 0 (for exec, with any status)? A rank whose end is not known,
 * or that STOP ended, must never look like success. A service that was about to start again when
 * the others ended has no rank. */
static bool all_ended(const struct outcome *outcome)
{
    int rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];

        if (outcome->node_of[rank] == OUTCOME_NOT_OURS ||
            (!end->started && !end->ended && is_service(outcome, rank)))
            continue;
        if (!end->ended || (rank_end_code(end) != 0 && !outcome->is_exec &&
                            !(end->after_stop && is_service(outcome, rank))))
            return false;
    }
    return true;
}

bool outcome_only_services_run(const struct outcome *outcome)
{
    int rank, running = 0;

    if (outcome->plan->roles == 0)
        return false; /* of many thousands of ranks each asks when it ends */
    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        if (outcome->rank[rank].ended && rank_end_code(&outcome->rank[rank]) == 0)
            continue;
        if (outcome->rank[rank].ended || !is_service(outcome, rank))
            return false;
        running++;
    }
    return running > 0;
}

/* Is it of a role that ends when the others have ended? */
static bool is_service(const struct outcome *outcome, int rank)
{
    const struct plan *world = plan_world_of_rank(outcome->plan, rank);

    return world->role_name != NULL && world->options->service;
}
