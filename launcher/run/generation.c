/* generation.c - see generation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/generation.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "elastic/policy.h"
#include "log.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/interrupt.h"
#include "run/kvs.h"
#include "run/rank_labels.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/run_status.h"
#include "xalloc.h"
#include "xevent.h"

#define WORDS_SIZE 1200 /* of how a generation ended; longer ones are cut */

struct generation {
    struct policy_rules rules;
    struct policy       policy;
    struct event       *over;  /* from a fresh turn of the loop */
    struct event       *pause; /* before the next generation */
    struct policy_event last;   /* how the last generation ended, and ... */
    enum policy_why     why;    /* ... why none follows; WHY_NONE: not decided */
};

static void over_cb(evutil_socket_t fd, short what, void *arg);
static void pause_cb(evutil_socket_t fd, short what, void *arg);
static struct policy_event describe(const struct run *run);
static enum policy_end end_of(const struct run *run);
static bool is_wanted(const struct run *run);
static void describe_rank(const struct run *run, struct policy_event *event);
static bool any_ended_well(const struct outcome *outcome);
static void why_words(const struct run *run, char *text);
static void begin_again(struct run *run, const struct policy_action *action);
static void tell_restart(const struct run *run, const struct policy_action *action,
                         const char *why);
static void tell_end(const struct run *run, const struct policy_event *event,
                     enum policy_why why);
static void tell_port(const struct run *run, const struct policy_event *event);
static const char *missing_node(const struct run *run);
static void forget(struct run *run);
static void print_hang(const struct run *run);
static double seconds(int64_t from_ns, int64_t to_ns);

struct generation *generation_new(struct run *run)
{
    const struct options *options = run->options;
    struct generation    *made = xcalloc(1, sizeof *made);
    struct error          err;

    made->rules = (struct policy_rules){ .max_restarts = options->max_restarts,
                                         .delay_s = options->restart_delay_s,
                                         .may_move_port = options->master_port == 0 };
    if (restart_on_parse(options->restart_on, &made->rules.on, &err) < 0)
        log_warn("--restart-on: %s", err.text); /* options.c has refused it */
    made->over = evtimer_new(run->base, over_cb, run);
    made->pause = evtimer_new(run->base, pause_cb, run);
    if (made->over == NULL || made->pause == NULL)
        xalloc_die();
    return made;
}

void generation_free(struct generation *generation)
{
    if (generation == NULL)
        return;
    event_free(generation->over);
    event_free(generation->pause);
    free(generation);
}

bool generation_may_follow(const struct run *run)
{
    return !run_is_exec(run) && !run->options->no_ssh &&
           policy_may_restart(&run->generation->rules);
}

void generation_look(struct run *run)
{
    const struct timeval now = { 0 };

    if (phase_is_over(run))
        xevent_add(run->generation->over, &now);
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run          *run = arg;
    struct generation   *generation = run->generation;
    struct policy_event  event = describe(run);
    struct policy_action action;

    (void)fd, (void)what;
    if (!phase_is_over(run))
        return;
    action = policy_next(&generation->policy, &generation->rules, &event);
    if (action.what == POLICY_DO_WAIT) {
        begin_again(run, &action);
        return;
    }
    generation->last = event;
    generation->why = action.why;
    phase_leave(run);
}

void generation_lost_node(struct run *run)
{
    const struct policy_event event = { .kind = POLICY_EVENT_NODE_LOST };

    policy_next(&run->generation->policy, &run->generation->rules, &event);
    event_del(run->generation->pause);
    log_note("no restart: it needs every node (%s)", missing_node(run));
    phase_stop(run);
}

/* --- how it ended ----------------------------------------------------------- */

static struct policy_event describe(const struct run *run)
{
    const struct phase *phase = &run->phase;
    int64_t             end_ns = phase->stop_ns != 0 ? phase->stop_ns : clock_now_ns();
    struct policy_event event = { .kind = POLICY_EVENT_OVER, .end = end_of(run),
                                  .is_world_whole = missing_node(run) == NULL };

    if (phase->go_ns != 0)
        event.lived_s = seconds(phase->go_ns, end_ns);
    if (event.end == POLICY_END_RANK)
        describe_rank(run, &event);
    return event;
}

static enum policy_end end_of(const struct run *run)
{
    size_t node;

    if (is_wanted(run))
        return POLICY_END_WANTED;
    switch (outcome_first(&run->outcome, &node)) {
    case FIRST_RANK:
        return POLICY_END_RANK;
    case FIRST_NODE:
        return POLICY_END_NODE;
    case FIRST_CAUSE:
        return run->outcome.aborted_by >= 0 ? POLICY_END_RANK
               : hang_is_over(run)          ? POLICY_END_HANG
                                            : POLICY_END_WANTED;
    case FIRST_NONE:
        break;
    }
    return POLICY_END_WELL;
}

/* Whatever failed first: the run is not to go on. */
static bool is_wanted(const struct run *run)
{
    return interrupt_has_come(run) || deadline_has_passed(run->deadline) ||
           (run->outcome.is_reader_gone && run->options->log_dir == NULL);
}

static void describe_rank(const struct run *run, struct policy_event *event)
{
    const struct outcome  *outcome = &run->outcome;
    bool                   is_abort = outcome->aborted_by >= 0 && outcome->first_rank < 0;
    const struct rank_end *end =
        &outcome->rank[is_abort ? outcome->aborted_by : outcome->first_rank];

    event->code = is_abort ? outcome->cause : rank_end_code(end);
    event->out_of_memory = !is_abort && end->oom != NULL;
    event->not_started = !is_abort && end->error != NULL;
    if (end->started)
        event->rank_lived_s = seconds(end->start_ns, is_abort ? outcome->cause_ns : end->end_ns);
    event->port_taken = rendezvous_port_holder(run->rendezvous) != NULL;
    event->any_ended_well = any_ended_well(outcome);
}

static bool any_ended_well(const struct outcome *outcome)
{
    int rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];

        if (end->ended && !end->after_stop && rank_end_code(end) == 0)
            return true;
    }
    return false;
}

/* "rank 3 on te2: killed by SIGKILL", into text of WORDS_SIZE. */
static void why_words(const struct run *run, char *text)
{
    const struct outcome *outcome = &run->outcome;
    const struct plan    *plan = run->plan;
    const char           *holder = rendezvous_port_holder(run->rendezvous);
    int                   used, rank = outcome->first_rank;
    size_t                node;

    if (holder != NULL)
        snprintf(text, WORDS_SIZE, "%s: MASTER_PORT %d was taken by %s before rank 0 could bind it",
                 plan->node[0].host, plan->master_port, holder);
    else if (outcome_first(outcome, &node) == FIRST_RANK) {
        used = snprintf(text, WORDS_SIZE, "rank %d on %s: ", rank,
                        plan_label(&plan->node[outcome->node_of[rank]]));
        if (used > 0 && used < WORDS_SIZE)
            rank_end_words(&outcome->rank[rank], text + used, (size_t)(WORDS_SIZE - used));
    } else {
        snprintf(text, WORDS_SIZE, "%s", outcome->cause_text != NULL ? outcome->cause_text : "");
    }
}

/* --- the end ---------------------------------------------------------------- */

/* If agents could not stay, nothing was decided before. */
void generation_end(struct run *run)
{
    struct generation *generation = run->generation;

    if (run_is_exec(run))
        return;
    if (generation->policy.phase != POLICY_OVER) {
        generation->last = describe(run);
        generation->why =
            policy_next(&generation->policy, &generation->rules, &generation->last).why;
    }
    tell_port(run, &generation->last);
    if (run->options->max_restarts > 0 && run->outcome.has_begun)
        tell_end(run, &generation->last, generation->why);
}

static void tell_port(const struct run *run, const struct policy_event *event)
{
    const char *holder = rendezvous_port_holder(run->rendezvous);

    if (holder != NULL && event->end == POLICY_END_RANK)
        log_warn("%s: MASTER_PORT %d was taken by %s before rank 0 could bind it%s",
                 run->plan->node[0].host, run->plan->master_port, holder,
                 run->options->master_port > 0
                     ? "; without --master_port muster chooses another one" : "");
}

static void tell_end(const struct run *run, const struct policy_event *event, enum policy_why why)
{
    switch (why) {
    case POLICY_WHY_NODE:
        log_note("no restart: it needs every node (%s)",
                 missing_node(run) != NULL ? missing_node(run) : "one has failed");
        break;
    case POLICY_WHY_CLASS:
        log_note("no restart: not for exit code %d (%s; see --restart-on)", event->code,
                 exit_class_of(event->code, event->out_of_memory)->name);
        break;
    case POLICY_WHY_NOT_STARTED:
        log_note("no restart: the program cannot be executed");
        break;
    case POLICY_WHY_YOUNG:
        log_note("no restart: exit code %d within %g s of the start, as in the generation before",
                 event->code, POLICY_YOUNG_S);
        break;
    case POLICY_WHY_USED_UP:
        log_note("no restart: none is left of %d", run->options->max_restarts);
        break;
    case POLICY_WHY_NONE:
    case POLICY_WHY_RESTART:
    case POLICY_WHY_PORT:
    case POLICY_WHY_OFF:
    case POLICY_WHY_WANTED:
        break;
    }
}

/* One that is not there for another generation; NULL: all are. */
static const char *missing_node(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i].state == NODE_FAILED)
            return plan_label(run->node[i].plan);
    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i].state != NODE_STAYING)
            return plan_label(run->node[i].plan);
    return NULL;
}

/* --- the next one ----------------------------------------------------------- */

static void begin_again(struct run *run, const struct policy_action *action)
{
    struct generation *generation = run->generation;
    struct timeval     pause = clock_interval(action->delay_s);
    char               why[WORDS_SIZE];

    why_words(run, why);
    print_hang(run);
    outcome_restart(&run->outcome, why);
    forget(run);
    tell_restart(run, action, why);
    rendezvous_again(run);
    if (action->delay_s > 0)
        xevent_add(generation->pause, &pause);
    else
        pause_cb(-1, EV_TIMEOUT, run);
}

/* "generation 1: rank 3 on te2: killed by SIGKILL; 16 ranks on 2 nodes start again; restart 1 of
 * 3". */
static void tell_restart(const struct run *run, const struct policy_action *action,
                         const char *why)
{
    const struct plan *plan = run->plan;
    char               when[40] = "", count[60] = "";

    if (action->delay_s > 0)
        snprintf(when, sizeof when, " in %g s", action->delay_s);
    if (action->why == POLICY_WHY_RESTART)
        snprintf(count, sizeof count, "; restart %d of %d", run->generation->policy.restarts,
                 plan->max_restarts);
    log_note("generation %d: %s; %d %s on %zu %s again%s%s", plan->generation, why,
             plan->world_size, plan->world_size == 1 ? "rank" : "ranks", plan->nodes,
             plan->nodes == 1 ? "node start" : "nodes start", when, count);
}

/* What the last generation has left in our own memory. */
static void forget(struct run *run)
{
    plan_next_generation(run->plan);
    phase_restart(run);
    deadline_reset(run->deadline);
    run->is_reader_told = false;
    hang_free(run->hang);
    run->hang = hang_new(run);
    kvs_free(run->kvs);
    run->kvs = kvs_new(run->plan->nodes);
    rank_labels_again(run->output, run->plan, run->options);
    run_status_again(run);
}

/* In the report there is only what the last generation did. */
static void print_hang(const struct run *run)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    hang_report(run, out);
    if (fclose(out) != 0)
        xalloc_die();
    if (size > 0)
        output_own(run->output, text, size);
    free(text);
}

static void pause_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct policy_event time = { .kind = POLICY_EVENT_TIME };
    struct run               *run = arg;
    struct generation        *generation = run->generation;

    (void)fd, (void)what;
    if (policy_next(&generation->policy, &generation->rules, &time).what == POLICY_DO_START &&
        run->phase.now == PHASE_RESTARTING)
        phase_prepare(run);
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}
