/* outcome_json.c - how a run ended, as JSON (--json)
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/outcome.h"

#include <string.h>
#include <time.h>

#include "clock.h"
#include "frame.h"

static json_t *json_of_first(const struct outcome *outcome);
static json_t *json_of_rank(const struct outcome *outcome, int rank);
static json_t *json_of_node(const struct outcome *outcome, size_t node);
static json_t *json_of_cleaned(const struct node_cleaned *cleaned);
static json_t *json_of_pace(const struct outcome *outcome, size_t node);
static double  unix_now(void);
static json_t *unix_time(bool is_known, int64_t at_ns);
static bool    is_of(const json_t *suspect, const char *host);
static json_t *text_or_null(const char *text);

json_t *outcome_json(const struct outcome *outcome, bool with_values)
{
    json_t *json = plan_json(outcome->plan, with_values), *results = json_array();
    json_t *failures = json_array(), *heartbeats = json_array();
    size_t  n;
    int     rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++)
        if (outcome->node_of[rank] != OUTCOME_NOT_OURS)
            json_array_append_new(results, json_of_rank(outcome, rank));
    for (n = 0; n < outcome->plan->nodes; n++)
        if (outcome->node[n] != NULL)
            json_array_append_new(failures, json_of_node(outcome, n));
    for (n = 0; n < outcome->plan->nodes; n++)
        if (outcome->pace[n].count > 0)
            json_array_append_new(heartbeats, json_of_pace(outcome, n));
    json_object_set_new(json, "generation", json_integer(plan_latest_generation(outcome->plan)));
    json_object_set_new(json, "generations", generations_json(outcome));
    json_object_set_new(json, "exit_status", json_integer(outcome_status(outcome)));
    json_object_set_new(json, "lost_bytes", json_integer((json_int_t)outcome->lost_bytes));
    json_object_set_new(json, "output_error",
                        text_or_null(outcome->output_why[0] != '\0' ? outcome->output_why : NULL));
    json_object_set_new(json, "start", unix_time(true, outcome->start_ns));
    json_object_set_new(json, "end", unix_time(true, outcome->end_ns));
    json_object_set_new(json, "results", results);
    json_object_set_new(json, "node_failures", failures);
    json_object_set_new(json, "first_failure", json_of_first(outcome));
    json_object_set_new(json, "heartbeats", heartbeats);
    json_object_set_new(json, "suspects", outcome->suspects != NULL
                                              ? json_incref(outcome->suspects)
                                              : json_array());
    json_object_set_new(json, "slow",
                        outcome->slow != NULL ? json_deep_copy(outcome->slow) : json_array());
    json_object_set_new(json, "cautions", cautions_json(&outcome->cautions));
    json_object_set_new(json, "evidence", evidence_json(&outcome->evidence, outcome->plan));
    json_object_set_new(json, "evidence_unread",
                        evidence_unread_json(&outcome->evidence, outcome->plan));
    json_object_set_new(json, "flight_recorder",
                        flight_records_lines_json(&outcome->flight, outcome->plan));
    if (outcome->unreached != NULL)
        json_object_set(json, "unreached", outcome->unreached);
    return json;
}

static json_t *json_of_first(const struct outcome *outcome)
{
    size_t node;

    switch (outcome_first(outcome, &node)) {
    case FIRST_RANK:
        return json_of_rank(outcome, outcome->first_rank);
    case FIRST_NODE:
        return json_of_node(outcome, node);
    case FIRST_CAUSE:
        return json_pack("{s:i, s:o, s:o}", "exit_code", outcome->cause, "text",
                         text_or_null(outcome->cause_text), "at",
                         unix_time(true, outcome->cause_ns));
    case FIRST_NONE:
        break;
    }
    return json_null();
}

static json_t *json_of_rank(const struct outcome *outcome, int rank)
{
    const struct rank_end *end = &outcome->rank[rank];
    const struct plan     *world = plan_world_of_rank(outcome->plan, rank);
    bool                   has_code = end->ended && end->signal == 0;
    char                   words[1200];
    json_t                *body;

    rank_end_words(end, words, sizeof words);
    body = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:I, s:o, s:o, s:o}",
                     "rank", rank - world->first_rank,
                     "node", text_or_null(outcome->plan->node[outcome->node_of[rank]].host),
                     "pid", end->pid > 0 ? json_integer(end->pid) : json_null(),
                     "start", unix_time(end->started, end->start_ns),
                     "end", unix_time(end->ended, end->end_ns),
                     "code", has_code ? json_integer(end->code) : json_null(),
                     "signal", end->signal != 0 ? json_integer(end->signal) : json_null(),
                     "core", end->core, "after_stop", end->after_stop,
                     "maxrss_kb", (json_int_t)end->maxrss_kb,
                     "error", text_or_null(end->error), "oom", text_or_null(end->oom),
                     "text", text_or_null(words));
    if (world->role_name != NULL)
        json_object_set_new(body, "role", json_string(world->role_name));
    return body;
}

static json_t *json_of_node(const struct outcome *outcome, size_t node)
{
    const struct conn_failure *why = outcome->node[node];

    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "node",
                     text_or_null(outcome->plan->node[node].host), "stage",
                     text_or_null(why->stage), "text", text_or_null(why->text), "hint",
                     why->hint[0] != '\0' ? text_or_null(why->hint) : json_null(),
                     "exit_code", why->exit_code,
                     "at", unix_time(true, outcome->node_failed_ns[node]), "cleaned",
                     json_of_cleaned(&outcome->cleaned[node]));
}

static json_t *json_of_cleaned(const struct node_cleaned *cleaned)
{
    if (cleaned->text == NULL)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "ended",
                     cleaned->ended >= 0 ? json_integer(cleaned->ended) : json_null(), "left",
                     cleaned->left >= 0 ? json_integer(cleaned->left) : json_null(), "text",
                     text_or_null(cleaned->text));
}

static json_t *json_of_pace(const struct outcome *outcome, size_t node)
{
    const struct node_pace *pace = &outcome->pace[node];

    return json_pack("{s:o, s:I, s:f, s:f, s:f, s:b}", "node",
                     text_or_null(outcome->plan->node[node].host), "count",
                     (json_int_t)pace->count, "p50", (double)pace->p50_ns / NS_PER_S, "p99",
                     (double)pace->p99_ns / NS_PER_S, "max", (double)pace->most_ns / NS_PER_S,
                     "slow", pace->was_slow);
}

/* Converts a time of the monotonic clock to Unix time. */
static json_t *unix_time(bool is_known, int64_t at_ns)
{
    if (!is_known)
        return json_null();
    return json_real(unix_now() + (double)(at_ns - clock_now_ns()) / 1e9);
}

static double unix_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_text(text, strlen(text)) : json_null();
}

/* --- nodes that have spoilt a generation ------------------------------------ */

void outcome_suspect(struct outcome *outcome, const char *host, const char *reason,
                     bool is_left_out)
{
    if (outcome->suspects == NULL)
        outcome->suspects = json_array();
    json_array_append_new(outcome->suspects,
                          json_pack("{s:o, s:i, s:o, s:b}", "node", text_or_null(host),
                                    "generation", outcome->plan->generation, "reason",
                                    text_or_null(reason), "left_out", (int)is_left_out));
}

void outcome_trust(struct outcome *outcome, const char *host)
{
    size_t i = json_array_size(outcome->suspects);

    while (i-- > 0)
        if (is_of(json_array_get(outcome->suspects, i), host))
            json_array_remove(outcome->suspects, i);
}

bool outcome_is_suspect(const struct outcome *outcome, const char *host)
{
    const json_t *suspect;
    size_t        i;

    json_array_foreach(outcome->suspects, i, suspect) if (is_of(suspect, host)) return true;
    return false;
}

static bool is_of(const json_t *suspect, const char *host)
{
    return strcmp(json_string_value(json_object_get(suspect, "node")), host) == 0;
}

/* --- nodes that are slow ------------------------------------------------------ */

void outcome_slow(struct outcome *outcome, const char *host, const char *reason, double since_s)
{
    if (outcome->slow == NULL)
        outcome->slow = json_array();
    slow_list_add(outcome->slow, host, outcome->plan->generation, reason, unix_now() - since_s);
}

void outcome_slow_over(struct outcome *outcome, const char *host)
{
    slow_list_end(outcome->slow, host, unix_now());
}
