/* ending_event.c - see ending_event.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/ending_event.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "course/ending.h"
#include "course/generation_words.h"
#include "hook/event.h"
#include "hostrange.h"
#include "run/events.h"
#include "run/run.h"
#include "xalloc.h"

static bool    is_failure(enum policy_end end);
static json_t *report_of(const struct run *run);
static void    tell_hosts(struct run *run, const char *event, const struct strlist *hosts,
                          const struct strlist *but, const char *verb);
static void    last_words(const struct run *run, char text[GENERATION_WORDS_SIZE]);

void ending_event_restart(struct run *run, enum policy_end end, const char *why)
{
    if (run->events == NULL || !is_failure(end))
        return;
    events_tell(run, "failed",
                json_pack("{s:b, s:o, s:o}", "goes_on", 1, "cause",
                          event_string(why, EVENT_TEXT_MAX), "report", report_of(run)),
                "generation %d failed: %s; another one follows", run->plan->generation, why);
}

void ending_event_last(struct run *run)
{
    char why[GENERATION_WORDS_SIZE];

    if (run->events == NULL || !is_failure(ending_describe(run, false).end))
        return;
    last_words(run, why);
    events_tell(run, "failed",
                json_pack("{s:b, s:o, s:o}", "goes_on", 0, "cause",
                          event_string(why, EVENT_TEXT_MAX), "report", report_of(run)),
                "generation %d failed: %s; the run ends", run->plan->generation, why);
}

void ending_event_role(struct run *run, const struct plan *role, const char *why)
{
    if (run->events == NULL)
        return;
    events_tell(run, "failed",
                json_pack("{s:s, s:i, s:b, s:o}", "role", role->role_name, "generation",
                          role->generation, "goes_on", 1, "cause",
                          event_string(why, EVENT_TEXT_MAX)),
                "generation %d of %s failed: %s; another one follows", role->generation,
                role->role_name, why);
}

static bool is_failure(enum policy_end end)
{
    return end == POLICY_END_RANK || end == POLICY_END_HANG || end == POLICY_END_NODE ||
           end == POLICY_END_NO_START || end == POLICY_END_UNFIT;
}

/* As the user sees it at the end of a run, but not wrapped. */
static json_t *report_of(const struct run *run)
{
    char   *text = NULL;
    size_t  size = 0;
    FILE   *out = open_memstream(&text, &size);
    json_t *made;

    if (out == NULL)
        xalloc_die();
    outcome_report(&run->outcome, run->output, 0, out);
    if (fclose(out) != 0)
        xalloc_die();
    made = event_string(text, EVENT_REPORT_MAX);
    free(text);
    return made;
}

struct strlist ending_event_hosts(const struct run *run)
{
    struct strlist hosts = { 0 };
    size_t         i;

    for (i = 0; i < run->plan->nodes && run->events != NULL; i++)
        strlist_add(&hosts, run->plan->node[i].host);
    return hosts;
}

void ending_event_nodes(struct run *run, const struct strlist *before)
{
    struct strlist now = ending_event_hosts(run);

    tell_hosts(run, "node_left", before, &now, "left");
    tell_hosts(run, "node_came", &now, before, "came");
    strlist_clear(&now);
}

static void tell_hosts(struct run *run, const char *event, const struct strlist *hosts,
                       const struct strlist *but, const char *verb)
{
    const struct plan *plan = run->plan;
    struct strlist     names = { 0 };
    char              *folded;
    size_t             i;

    for (i = 0; i < hosts->count; i++)
        if (!strlist_has(but, hosts->item[i]))
            strlist_add(&names, hosts->item[i]);
    if (names.count > 0) {
        folded = hostrange_fold(&names);
        events_tell(run, event, json_pack("{s:o}", "node", event_string(folded, EVENT_TEXT_MAX)),
                    "%s %s; generation %d has %d ranks on %d nodes", folded, verb,
                    plan->generation, plan->world_size, plan->node_count);
        free(folded);
    }
    strlist_clear(&names);
}

void ending_event_run(struct run *run, int status)
{
    const struct outcome *outcome = &run->outcome;
    double                seconds = (double)(outcome->end_ns - outcome->start_ns) / NS_PER_S;
    char                  why[GENERATION_WORDS_SIZE];

    if (run->events == NULL)
        return;
    last_words(run, why);
    events_tell(run, "ended",
                json_pack("{s:i, s:o, s:f}", "exit_status", status, "cause",
                          status != 0 && why[0] != '\0' ? event_string(why, EVENT_TEXT_MAX)
                                                        : json_null(),
                          "seconds", (double)(int64_t)(seconds * 1000) / 1000),
                "ended with exit status %d after %.0f s%s%s", status, seconds,
                status != 0 && why[0] != '\0' ? ": " : "", status != 0 ? why : "");
}

static void last_words(const struct run *run, char text[GENERATION_WORDS_SIZE])
{
    size_t node;

    if (run->outcome.given_up != NULL)
        snprintf(text, GENERATION_WORDS_SIZE, "%s", run->outcome.given_up);
    else if (outcome_first(&run->outcome, &node) != FIRST_CAUSE && run->outcome.apart_text != NULL)
        snprintf(text, GENERATION_WORDS_SIZE, "%s", run->outcome.apart_text);
    else
        generation_why_words(run, NULL, text);
}
