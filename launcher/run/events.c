/* events.c - see events.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "hook/event.h"
#include "hook/event_hook.h"
#include "log.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define URGENT 2 /* signals from the user */
#define TICK_S 0.1

struct events {
    struct event_hook *hook; /* NULL: there is no --on-event */
    struct past_event  past[EVENTS_KEPT]; /* the oldest is overwritten */
    uint64_t           count;
    char               host[RUN_DIR_HOST_SIZE];
    char              *script;
    int                told;      /* the number of the next generation whose start is an event */
    int               *role_told; /* by role: the same, where only that role has started again */
};

static void keep(struct events *events, const char *event, const char *text, time_t at);
static void tell_start(struct run *run);
static void tick_cb(evutil_socket_t fd, short what, void *arg);
static bool is_wait_over(const struct run *run, int64_t since_ns, bool was_urgent);

struct events *events_new(struct run *run)
{
    static const struct event_hook_limits limits = { EVENT_HOOK_S, EVENT_HOOK_TERM_S };
    struct events                        *events;

    if (run->plan->command != COMMAND_RUN || run_is_exec(run))
        return NULL;
    events = xcalloc(1, sizeof *events);
    if (run->options->on_event != NULL)
        events->hook = event_hook_new(run->base, run->options->on_event, run->dir.path,
                                      run->dir.path != NULL ? run->dir.fd : -1, &limits);
    run_dir_host(events->host);
    events->script = event_script(run->options);
    events->role_told = xcalloc(run->plan->roles + 1, sizeof *events->role_told);
    return events;
}

void events_free(struct events *events)
{
    size_t i;

    if (events == NULL)
        return;
    event_hook_free(events->hook);
    for (i = 0; i < EVENTS_KEPT; i++)
        json_decref(events->past[i].text);
    free(events->script);
    free(events->role_told);
    free(events);
}

void events_tell(struct run *run, const char *event, json_t *own, const char *format, ...)
{
    struct event_about about;
    char               text[EVENT_TEXT_MAX];
    va_list            words;

    if (run->events == NULL) {
        json_decref(own);
        return;
    }
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    keep(run->events, event, text, time(NULL));
    if (run->events->hook == NULL) {
        json_decref(own);
        return;
    }
    about = (struct event_about){ .run_id = run->plan->run_id,
                                  .name = run->options->name,
                                  .host = run->events->host,
                                  .script = run->events->script,
                                  .generation = plan_latest_generation(run->plan),
                                  .nodes = run->plan->node_count,
                                  .world_size = run->plan->world_size,
                                  .at = time(NULL) };
    event_hook_put(run->events->hook, event_make(&about, event, own, text));
}

static void keep(struct events *events, const char *event, const char *text, time_t at)
{
    struct past_event *past = &events->past[events->count % EVENTS_KEPT];

    json_decref(past->text);
    *past = (struct past_event){ .number = ++events->count,
                                 .at = at,
                                 .name = event,
                                 .text = event_string(text, EVENTS_SHORT) };
}

const struct past_event *events_past(const struct run *run, size_t back)
{
    const struct events *events = run->events;

    if (events == NULL || back >= EVENTS_KEPT || back >= events->count)
        return NULL;
    return &events->past[(events->count - 1 - back) % EVENTS_KEPT];
}

bool events_counts(const struct run *run, struct event_hook_counts *counts)
{
    if (run->events == NULL || run->events->hook == NULL)
        return false;
    *counts = event_hook_counts(run->events->hook);
    return true;
}

void events_rank_started(struct run *run)
{
    struct events     *events = run->events;
    const struct plan *plan = run->plan, *role;
    bool               is_whole;
    size_t             i;

    if (events == NULL || !outcome_all_started(&run->outcome))
        return;
    is_whole = events->told <= plan->generation;
    if (is_whole)
        tell_start(run);
    events->told = plan->generation + 1;
    for (i = 0; i < plan->roles; i++) {
        role = &plan->role[i];
        if (!is_whole && events->role_told[i] <= role->generation)
            events_tell(run, "restarted", json_pack("{s:s, s:i}", "role", role->role_name,
                                                    "generation", role->generation),
                        "generation %d of %s: %d %s run again", role->generation,
                        role->role_name, role->world_size,
                        role->world_size == 1 ? "rank" : "ranks");
        events->role_told[i] = role->generation + 1;
    }
}

static void tell_start(struct run *run)
{
    const struct plan *plan = run->plan;
    char               numbers[80];

    snprintf(numbers, sizeof numbers, "%d %s on %d %s", plan->world_size,
             plan->world_size == 1 ? "rank" : "ranks", plan->node_count,
             plan->node_count == 1 ? "node" : "nodes");
    if (plan_is_first(plan))
        events_tell(run, "started", NULL, "%s started", numbers);
    else
        events_tell(run, "restarted", NULL, "generation %d: %s run again", plan->generation,
                    numbers);
}

void events_await(struct run *run)
{
    const struct timeval tick = clock_interval(TICK_S);
    const int64_t        since_ns = clock_now_ns();
    const int            signals = run->reader.signals;
    bool                 is_told = false;
    struct event        *timer;

    if (run->events == NULL || run->events->hook == NULL)
        return;
    timer = event_new(run->base, -1, EV_PERSIST, tick_cb, NULL);
    if (timer == NULL)
        xalloc_die();
    xevent_add(timer, &tick);
    while (!event_hook_is_idle(run->events->hook) &&
           !is_wait_over(run, since_ns, signals >= URGENT)) {
        event_base_loop(run->base, EVLOOP_ONCE);
        if (run->reader.signals > signals && !is_told)
            log_note("waiting for %s, the program of --on-event (repeat to exit)",
                     run->options->on_event);
        is_told = run->reader.signals > signals;
    }
    event_free(timer);
}

/* It only makes the loop return. */
static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
}

static bool is_wait_over(const struct run *run, int64_t since_ns, bool was_urgent)
{
    double passed_s = (double)(clock_now_ns() - since_ns) / NS_PER_S;

    if (!was_urgent && run->reader.signals >= URGENT)
        return true;
    if (was_urgent || passed_s >= EVENTS_BEFORE_S)
        event_hook_hurry(run->events->hook);
    return passed_s >= (was_urgent ? EVENTS_HURRIED_S : EVENTS_END_S);
}
