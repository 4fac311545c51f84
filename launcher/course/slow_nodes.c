/* slow_nodes.c - see slow_nodes.h
 *
 * What is known of a node is kept by its number among the members, which stays the same in all
 * generations.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/slow_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "elastic/slow_node.h"
#include "hook/event.h"
#include "log.h"
#include "run/events.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/steps.h"
#include "sanitize.h"
#include "xalloc.h"

#define SECONDS_MAX 1e9
#define EVERY_S     10.0 /* between two samples of a node that sends none */
#define WINDOW      3    /* samples for the pace of steps, at least */

/* What we know of a member. */
struct slow_member {
    struct slow_node node;
    struct slow_pace pace;
    bool             has_samples;    /* its agent sends some */
    bool             is_driver_told; /* the user knows that its driver hangs */
};

struct slow_nodes {
    struct slow_member **member;
    size_t               members;
    struct slow_world   *world; /* by role; [0] if there are none */
    size_t               worlds;
};

static void                forget(struct slow_member *member);
static struct slow_member *member_of(struct run *run, size_t place);
static struct slow_world  *world_of(const struct run *run, const struct plan *world);
static void tell_unanswered(const struct node *node, struct slow_member *member, double seconds);
static void add_pace(const struct run *run, const struct node *node, struct slow_member *member);
static void judge(struct run *run, const struct node *node, struct slow_member *member,
                  double now_s);
static void look(struct run *run, const struct plan *world, double every_s, double now_s);
static void tell_slow(struct run *run, const char *host, const struct slow_node *node,
                      double now_s);

void slow_nodes_open(struct run *run)
{
    run->slow_nodes = xcalloc(1, sizeof *run->slow_nodes);
    run->slow_nodes->worlds = plan_worlds(run->plan);
    run->slow_nodes->world = xcalloc(run->slow_nodes->worlds, sizeof *run->slow_nodes->world);
}

void slow_nodes_free(struct slow_nodes *slow_nodes)
{
    size_t i;

    if (slow_nodes == NULL)
        return;
    for (i = 0; i < slow_nodes->members; i++) {
        if (slow_nodes->member[i] != NULL)
            slow_node_clear(&slow_nodes->member[i]->node);
        free(slow_nodes->member[i]);
    }
    for (i = 0; i < slow_nodes->worlds; i++)
        slow_world_clear(&slow_nodes->world[i]);
    free(slow_nodes->member);
    free(slow_nodes->world);
    free(slow_nodes);
}

void slow_nodes_again(struct run *run, const struct plan *world)
{
    size_t n;

    for (n = 0; n < run->plan->nodes; n++)
        if (world == run->plan || plan_world(run->plan, n) == world)
            forget(member_of(run, n));
}

static void forget(struct slow_member *member)
{
    slow_node_again(&member->node);
    member->pace = (struct slow_pace){ 0 };
}

static struct slow_member *member_of(struct run *run, size_t place)
{
    struct slow_nodes *slow_nodes = run->slow_nodes;
    const size_t       which = pool_members(run)->place[place];

    if (which >= slow_nodes->members) {
        slow_nodes->member =
            xreallocarray(slow_nodes->member, which + 1, sizeof *slow_nodes->member);
        memset(slow_nodes->member + slow_nodes->members, 0,
               (which + 1 - slow_nodes->members) * sizeof *slow_nodes->member);
        slow_nodes->members = which + 1;
    }
    if (slow_nodes->member[which] == NULL)
        slow_nodes->member[which] = xcalloc(1, sizeof *slow_nodes->member[which]);
    return slow_nodes->member[which];
}

static struct slow_world *world_of(const struct run *run, const struct plan *world)
{
    return &run->slow_nodes->world[plan_world_index(run->plan, world)];
}

/* --- what an agent says ---------------------------------------------------------- */

void slow_nodes_take(struct run *run, const struct node *node, const json_t *body)
{
    struct slow_member *member = member_of(run, node->index);
    const double        now_s = clock_now_s();
    const double unanswered_s = json_number_value(json_object_get(body, "unanswered_s"));

    if (unanswered_s > 0 && unanswered_s < SECONDS_MAX) {
        tell_unanswered(node, member, unanswered_s);
        return;
    }
    member->has_samples = true;
    slow_sample_read(&member->node.sample, body, now_s);
    add_pace(run, node, member);
    judge(run, node, member, now_s);
}

void slow_nodes_stepped(struct run *run, const struct node *node)
{
    struct slow_member *member = member_of(run, node->index);
    const double        now_s = clock_now_s();

    if (member->has_samples ||
        (member->node.sample.every_s > 0 && now_s - member->node.sample.at_s < EVERY_S))
        return;
    slow_sample_begin(&member->node.sample, EVERY_S, now_s);
    add_pace(run, node, member);
    judge(run, node, member, now_s);
}

static void add_pace(const struct run *run, const struct node *node, struct slow_member *member)
{
    struct slow_sample *sample = &member->node.sample;
    int64_t             step, at_ns;
    double              pace;

    if (!steps_of_node(run, node, &step, &at_ns))
        return;
    pace = slow_pace_note(&member->pace, step, (double)at_ns / NS_PER_S, WINDOW * sample->every_s);
    if (pace >= 0)
        slow_sample_add_pace(sample, pace);
}

static void judge(struct run *run, const struct node *node, struct slow_member *member,
                  double now_s)
{
    const struct plan *world = plan_world(run->plan, node->index);

    look(run, world, member->node.sample.every_s, now_s);
    switch (slow_node_judge(&member->node, world_of(run, world), now_s)) {
    case SLOW_BEGINS:
        tell_slow(run, node->plan->host, &member->node, now_s);
        break;
    case SLOW_IS_OVER:
        log_note("%s: is as fast as the others again", node->plan->host);
        outcome_slow_over(&run->outcome, node->plan->host);
        break;
    case SLOW_AS_BEFORE:
        break;
    }
}

/* Once: what hangs, hangs for long. */
static void tell_unanswered(const struct node *node, struct slow_member *member, double seconds)
{
    if (!member->is_driver_told)
        log_warn("%s: the driver of its GPUs or network ports does not answer: a look at their "
                 "counters has not come back for %.0f s",
                 plan_label(node->plan), seconds);
    member->is_driver_told = true;
}

static void look(struct run *run, const struct plan *world, double every_s, double now_s)
{
    const struct slow_node **node = xcalloc(run->plan->nodes + 1, sizeof *node);
    size_t                   n, nodes = 0;

    for (n = 0; n < run->plan->nodes; n++)
        if (plan_world(run->plan, n) == world)
            node[nodes++] = &member_of(run, n)->node;
    slow_world_look(world_of(run, world), node, nodes, every_s, now_s);
    free(node);
}

/* --- what users learn -------------------------------------------------------------- */

static void tell_slow(struct run *run, const char *host, const struct slow_node *node,
                      double now_s)
{
    const double since_s = now_s - node->off_since_s;
    char        *why = sanitize_text(node->why, strlen(node->why));

    log_warn("%s: slow for %.0f s: %s", host, since_s, why);
    events_tell(run, "slow",
                json_pack("{s:o, s:o, s:f}", "node", event_string(host, EVENT_TEXT_MAX), "reason",
                          event_string(why, EVENT_TEXT_MAX), "since_s", since_s),
                "%s: slow for %.0f s: %s", host, since_s, why);
    outcome_slow(&run->outcome, host, why, since_s);
    free(why);
}
