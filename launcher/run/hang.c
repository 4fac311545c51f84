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
#include "run/events.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/stacks.h"
#include "run/steps.h"
#include "xalloc.h"

#define EVENT_LINES 4 /* of what is known of steps and of NCCL: in the event's text */

struct hang {
    struct run *run;
    struct node_hang {
        double idle_s; /* from the last IDLE: how long its ranks have done nothing */
    } * node;
    int64_t held_up_ns; /* when a node was last seen without credit */
    int64_t silent_ns;  /* when one was last silent */

    /* Set once a hang was seen. */
    bool          is_seen;
    bool          is_over; /* the run was stopped */
    bool          has_stacks;
    struct strlist steps;    /* what the ranks have reported, and NCCL of them: lines */
    struct peers *peers;     /* NULL: no node was asked */
};

/* For rank_name(). */
struct of_world {
    const struct run  *run;
    const struct plan *world;
};

static void note_held_up(struct hang *hang);
static enum hang_verdict judge(const struct hang *hang, double *limit_s);
static void checkpoint_signs(const struct run *run, int64_t now_ns, struct hang_signs *signs);
static double stuck_s(const struct run *run);
static bool has_ranks(const struct run *run, const struct plan *world);
static double at_most(double seconds, double limit_s);
static double idle_s(const struct hang *hang);
static void begin(struct hang *hang, enum hang_verdict verdict, double limit_s);
static void rank_name(int rank, char *name, size_t size, const void *arg);
static void ask_peers(struct hang *hang);
static void stacks_known(struct run *run);
static void maybe_end(void *arg);
static void finish(struct hang *hang);
static void add_lines(struct strlist *to, const struct strlist *from);
static void print_lines(const struct strlist *lines, FILE *out);

void hang_open(struct run *run)
{
    struct hang *hang = xcalloc(1, sizeof *hang);

    run->hang = hang;
    hang->run = run;
    hang->node = xcalloc(run->plan->nodes, sizeof *hang->node);
}

void hang_free(struct hang *hang)
{
    if (hang == NULL)
        return;
    peers_free(hang->peers);
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
    const int64_t     now_ns = clock_now_ns();
    size_t            i;

    for (i = 0; i < run->plan->nodes; i++) {
        if (!stacks_has_ranks(run, i))
            continue;
        if (flow_is_used_up(run->flow, i))
            hang->held_up_ns = now_ns;
        if (run->node[i]->liveness.is_suspect || reconnect_is_cut(run->node[i]->reconnect))
            hang->silent_ns = now_ns;
    }
    if (phase_any_away(run))
        hang->held_up_ns = now_ns;
}

static enum hang_verdict judge(const struct hang *hang, double *limit_s)
{
    int64_t           now_ns = clock_now_ns();
    double            free_s = (double)(now_ns - hang->held_up_ns) / NS_PER_S;
    double            heard_s = (double)(now_ns - hang->silent_ns) / NS_PER_S;
    struct hang_signs signs = { .limit_s = hang->run->options->hang_timeout_s };

    steps_signs(hang->run, now_ns, &signs);
    signs.idle_s = at_most(idle_s(hang), free_s);
    signs.step_s = at_most(at_most(signs.step_s, free_s), heard_s);
    checkpoint_signs(hang->run, now_ns, &signs);
    signs.checkpoint_s = at_most(at_most(signs.checkpoint_s, free_s), heard_s);
    signs.stuck_s = at_most(at_most(stuck_s(hang->run), free_s), heard_s);
    return hang_judge(&signs, limit_s);
}

/* The last checkpoint of this generation, of a world that still runs. */
static void checkpoint_signs(const struct run *run, int64_t now_ns, struct hang_signs *signs)
{
    const size_t                 worlds = plan_worlds(run->plan);
    const struct checkpoint_log *log;
    double                       since_s;
    size_t                       i;

    for (i = 0; i < worlds; i++) {
        log = &run->checkpoints[i];
        since_s = (double)now_ns / NS_PER_S - log->at_s;
        if (!log->is_new || (signs->has_checkpoint && since_s >= signs->checkpoint_s) ||
            !has_ranks(run, plan_world_at(run->plan, i)))
            continue;
        signs->has_checkpoint = true;
        signs->checkpoint_s = since_s;
        signs->checkpoint_pace = &log->pace;
    }
}

/* One world that waits is enough: the others may serve it. */
static double stuck_s(const struct run *run)
{
    const double now_s = clock_now_s();
    double       longest_s = 0, world_s;
    size_t       i;

    for (i = 0; i < plan_worlds(run->plan); i++) {
        world_s = collectives_stuck_s(&run->collectives[i], now_s);
        if (world_s > longest_s &&
            has_ranks(run, plan_world_at(run->plan, i)))
            longest_s = world_s;
    }
    return longest_s;
}

static bool has_ranks(const struct run *run, const struct plan *world)
{
    size_t i;

    for (i = world->first_node; i < world->first_node + world->nodes; i++)
        if (stacks_has_ranks(run, i))
            return true;
    return false;
}

static double at_most(double seconds, double limit_s)
{
    return seconds < limit_s ? seconds : limit_s;
}

/* Returns for how long no rank has done anything. A node whose ranks have all exited does not
 * count. */
static double idle_s(const struct hang *hang)
{
    const struct run *run = hang->run;
    double            least_s = INFINITY;
    size_t            i;

    for (i = 0; i < run->plan->nodes; i++)
        if (stacks_has_ranks(run, i) && hang->node[i].idle_s < least_s)
            least_s = hang->node[i].idle_s;
    return isinf(least_s) ? 0 : least_s;
}

void hang_take_idle(struct run *run, const struct node *node, const json_t *body)
{
    run->hang->node[node->index].idle_s = json_number_value(json_object_get(body, "idle_s"));
}

static void begin(struct hang *hang, enum hang_verdict verdict, double limit_s)
{
    struct run   *run = hang->run;
    struct buffer known = { 0 };
    size_t        i;
    const char   *sign = verdict == HANG_IDLE      ? "no output and no CPU time"
                       : verdict == HANG_NO_STEP    ? "no step"
                       : verdict == HANG_COLLECTIVE ? "no further collective in NCCL"
                                                    : "no checkpoint";

    hang->is_seen = true;
    outcome_cause(&run->outcome, EXIT_TIMEOUT, "hang: %s from any rank for %.0f s (--hang-timeout)",
                  sign, limit_s);
    log_error("%s from any rank for %.0f s: asking where they are", sign, limit_s);
    steps_words(run, &hang->steps);
    hang_collectives(run, &hang->steps);
    for (i = 0; i < hang->steps.count && i < EVENT_LINES; i++) {
        buffer_add_text(&known, "; ");
        buffer_add_text(&known, hang->steps.item[i]);
    }
    buffer_add(&known, "", 1);
    events_tell(run, "hang", NULL, "%s from any rank for %.0f s (--hang-timeout)%s", sign, limit_s,
                known.bytes);
    buffer_clear(&known);
    stacks_ask(run, stacks_known);
    ask_peers(hang);
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
        if (stacks_has_ranks(run, i))
            node[question.nodes++] = run->node[i];
    hang->peers = peers_begin(run->base, &question, maybe_end, hang);
    free(node);
}

void hang_collectives(const struct run *run, struct strlist *lines)
{
    const double now_s = clock_now_s();
    size_t       i;

    for (i = 0; i < plan_worlds(run->plan); i++) {
        const struct plan     *world = plan_world_at(run->plan, i);
        const struct of_world  of = { run, world };

        collectives_words(&run->collectives[i], now_s, rank_name, &of, lines);
    }
}

json_t *hang_collectives_json(const struct run *run)
{
    json_t *list = json_array(), *one;
    size_t  i;

    for (i = 0; i < plan_worlds(run->plan); i++) {
        one = collectives_json(&run->collectives[i], clock_now_s());
        if (!json_is_object(one)) {
            json_decref(one);
            continue;
        }
        if (run->plan->roles > 0)
            json_object_set_new(one, "role", json_string(run->plan->role[i].role_name));
        json_array_append_new(list, one);
    }
    return list;
}

/* The rank may have ended since. */
static void rank_name(int rank, char *name, size_t size, const void *arg)
{
    const struct of_world *of = arg;
    const int              of_run = of->world->first_rank + rank;
    char                   plain[PLAN_RANK_NAME];

    size_t                 node;

    if (rank >= of->world->world_size) {
        snprintf(name, size, "rank %d", rank);
        return;
    }
    plan_rank_name(of->run->plan, of_run, plain);
    node = of->run->outcome.node_of[of_run];
    if (node < of->run->plan->nodes)
        snprintf(name, size, "%s on %s", plain, plan_label(&of->run->plan->node[node]));
    else
        snprintf(name, size, "%s", plain);
}

static void stacks_known(struct run *run)
{
    struct hang *hang = run->hang;

    if (!hang->is_seen)
        return; /* another generation has begun */
    hang->has_stacks = true;
    maybe_end(hang);
}

void hang_take_probed(struct run *run, struct node *node, const json_t *body)
{
    if (run->hang->is_seen)
        peers_take(run->hang->peers, node, body);
}

static void maybe_end(void *arg)
{
    struct hang *hang = arg;

    if (hang->has_stacks && peers_are_known(hang->peers))
        finish(hang);
}

static void finish(struct hang *hang)
{
    struct strlist lines = { 0 };
    struct error   err;

    if (hang->is_over)
        return;
    hang->is_over = true;
    outcome_unreached(&hang->run->outcome, peers_json(hang->peers));
    add_lines(&lines, &hang->steps);
    add_lines(&lines, peers_lines(hang->peers));
    if (stacks_write(hang->run, &lines, &err) < 0)
        log_warn("%s: %s", hang->run->dir.path, err.text);
    strlist_clear(&lines);
    phase_stop(hang->run);
}

static void add_lines(struct strlist *to, const struct strlist *from)
{
    size_t i;

    for (i = 0; i < from->count; i++)
        strlist_add(to, from->item[i]);
}

bool hang_is_seen(const struct run *run)
{
    return run->hang->is_seen;
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
    if (hang->has_stacks)
        stacks_report(run, out);
    print_lines(peers_lines(hang->peers), out);
}

static void print_lines(const struct strlist *lines, FILE *out)
{
    size_t i;

    for (i = 0; i < lines->count; i++)
        fprintf(out, "muster: %s\n", lines->item[i]);
}
