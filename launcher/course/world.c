/* world.c - see world.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/world.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "course/progress.h"
#include "discovery/last_world.h"
#include "elastic/next_world.h"
#include "file.h"
#include "frame.h"
#include "log.h"
#include "node/flow.h"
#include "output/rank_labels.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/rank_keys.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/stacks.h"
#include "run/steps.h"
#include "xalloc.h"

static void find_rules(const struct options *options, struct member_rules *rules);
static bool read_batch(const struct options *options, bool tells, struct batch_rules *batch);
static void take_batch(struct run *run);
static void note_more_ranks(const struct options *options, const struct selection *hosts,
                            size_t count);
static bool go_on(const struct options *options, struct selection *hosts, size_t *count);
static int  make_plan(struct run *run, const struct member_rules *rules, const size_t *world,
                      size_t places, struct error *err);
static void move_nodes(struct run *run, const size_t *world, size_t places);
static void make_room(struct run *run);

void world_make_nodes(struct run *run)
{
    size_t i;

    run->node = xcalloc(run->plan->nodes, sizeof(struct node *));
    for (i = 0; i < run->plan->nodes; i++) {
        run->node[i] = xcalloc(1, sizeof(struct node));
        node_init(run->node[i], i, &run->plan->node[i], run->base, &progress_node_ops, run);
    }
}

void world_free_nodes(struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++) {
        node_clear(run->node[i]);
        free(run->node[i]);
    }
    free(run->node);
}

void world_open(struct run *run)
{
    const struct options *options = run->options;
    struct member_rules  *rules = &run->rules.members;

    find_rules(options, rules);
    if (!options_are_elastic(options) || !read_batch(options, false, &run->batch))
        return;
    if (run->batch.first.total == 0 &&
        batch_of(&run->batch, run->plan->world_size, &run->batch.first) < 0)
        run->batch.first = (struct batch){ 0 };
    if (!options->members.allow_batch_change)
        rules->batch = &run->batch;
    take_batch(run);
}

void world_close(struct run *run)
{
    batch_rules_clear(&run->batch);
}

static void find_rules(const struct options *options, struct member_rules *rules)
{
    const struct options_members *members = &options->members;

    *rules = (struct member_rules){
        .goes_on = options_go_on(options),
        .is_elastic = options_are_elastic(options),
        .min_nodes = members->min_nodes > 0 ? (size_t)members->min_nodes : 0,
        .max_nodes = members->max_nodes > 0 ? (size_t)members->max_nodes : 0,
        .target = options->last_world != NULL ? last_world_target(options->last_world)
                  : options->num_nodes > 0    ? (size_t)options->num_nodes
                                              : 0,
        .min_ranks = members->min_ranks,
        .max_ranks = members->max_ranks,
        .spares = (size_t)members->spares,
    };
    if (members->worlds != NULL)
        next_world_parse_sizes(members->worlds, rules); /* options.c has checked it */
}

/* False: there is no ds_config, or muster finds no batch in it. The script may still
 * understand it. */
static bool read_batch(const struct options *options, bool tells, struct batch_rules *batch)
{
    const char  *name = batch_config_name(options->args.item, options->args.count);
    char        *path, *text;
    struct error err;
    size_t       size;
    int          rc = -1;

    *batch = (struct batch_rules){ 0 };
    if (name == NULL)
        return false;
    path = name[0] != '/' && options->cwd != NULL ? xasprintf("%s/%s", options->cwd, name)
                                                  : xstrdup(name);
    text = file_read_at_once(path, BATCH_CONFIG_MAX, &size, &err);
    if (text != NULL)
        rc = batch_rules_parse(batch, path, text, size, &err);
    if (rc < 0 && tells)
        log_warn("the batch size is not checked: %s", err.text);
    if (rc == 0 &&
        batch_rules_split(batch, options->args.item, options->args.count, &err) < 0 && tells)
        log_warn("%s: %s", path, err.text);
    if (rc != 0)
        batch_rules_clear(batch);
    else if (options->last_world != NULL)
        last_world_batch(options->last_world, batch);
    free(text);
    free(path);
    return rc == 0;
}

int world_first_size(const struct options *options, struct selection *hosts, size_t *count,
                     struct error *err)
{
    size_t              spares = (size_t)options->members.spares, i;
    struct member_rules rules;
    struct membership   members = { 0 };
    struct batch_rules  batch;
    size_t              most;
    int                 slots = 0;

    *count = hosts->count;
    if (!options_go_on(options) ||
        (options->last_world != NULL && go_on(options, hosts, count)))
        return 0;
    if (hosts->count <= spares)
        return err_set(err, "--spares %zu: there %s only %zu in the list of hosts", spares,
                       hosts->count == 1 ? "is" : "are", hosts->count);
    *count = hosts->count - spares;
    if (options->num_nodes > 0 && (size_t)options->num_nodes > *count)
        return err_set(err, "--num_nodes %d and --spares %zu: there are only %zu hosts",
                       options->num_nodes, spares, hosts->count);
    if (options->num_nodes > 0)
        *count = (size_t)options->num_nodes;
    if (!options_are_elastic(options))
        return 0;
    find_rules(options, &rules);
    if (rules.min_ranks < options->members.start_ranks)
        rules.min_ranks = options->members.start_ranks;
    for (i = 0; i < *count; i++) {
        membership_joined(&members, membership_add(&members, hosts->node[i].host->name,
                                                   hosts->node[i].slots));
        slots += hosts->node[i].slots;
    }
    most = next_world_size(&members, &rules);
    if (read_batch(options, true, &batch) && !options->members.allow_batch_change)
        rules.batch = &batch;
    i = next_world_size(&members, &rules);
    membership_clear(&members);
    batch_rules_clear(&batch);
    if (most == 0 && slots < options->members.start_ranks)
        return err_set(err, "-np %d: there %s only %d slot%s on %zu host%s",
                       options->members.start_ranks, slots == 1 ? "is" : "are", slots,
                       slots == 1 ? "" : "s", *count, *count == 1 ? "" : "s");
    if (most == 0)
        return err_set(err,
                       "no world of the first of these %zu nodes has an allowed number of "
                       "nodes and ranks (--nnodes, -np, --min-np, --max-np, --worlds)",
                       *count);
    if (i == 0)
        return err_set(err,
                       "the batch sizes in %s do not suit any number of ranks that these nodes "
                       "can have; --allow-batch-change starts the run anyway",
                       batch_config_name(options->args.item, options->args.count));
    if (i < most)
        log_note("starting on %zu of %zu nodes: the batch sizes in %s suit no larger world "
                 "(--allow-batch-change)",
                 i, most, batch_config_name(options->args.item, options->args.count));
    *count = i;
    note_more_ranks(options, hosts, i);
    return 0;
}

/* horovodrun does so, too, but those who read -np elsewhere expect that number. */
static void note_more_ranks(const struct options *options, const struct selection *hosts,
                            size_t count)
{
    const struct options_members *members = &options->members;
    int                           ranks = 0;
    size_t                        i;

    for (i = 0; i < count; i++)
        ranks += hosts->node[i].slots;
    if (members->start_ranks > 0 && ranks > members->start_ranks && members->max_ranks == 0 &&
        members->max_nodes == 0 && members->worlds == NULL)
        log_note("-np %d is the least that an elastic run starts with; it has %d ranks, and "
                 "--max-np limits it", members->start_ranks, ranks);
}

/* muster resume: continues with the nodes of the last world. */
static bool go_on(const struct options *options, struct selection *hosts, size_t *count)
{
    struct member_rules rules;
    struct batch_rules  batch = { 0 };
    bool                is_found;

    find_rules(options, &rules);
    if (rules.is_elastic && read_batch(options, true, &batch) &&
        !options->members.allow_batch_change)
        rules.batch = &batch;
    is_found = last_world_choose(options->last_world, &rules, hosts, count);
    batch_rules_clear(&batch);
    return is_found;
}

int world_change(struct run *run, const struct member_rules *rules, const size_t *world,
                 size_t places, struct error *err)
{
    if (make_plan(run, rules, world, places, err) < 0)
        return -1;
    move_nodes(run, world, places);
    membership_take(pool_members(run), rules, world, places);
    make_room(run);
    take_batch(run);
    if (world_is_held(run, rules, run->plan->nodes))
        log_note("more nodes are available, but a larger world would not keep the global batch "
                 "%lld (--allow-batch-change)",
                 (long long)run->batch.first.total);
    return 0;
}

static int make_plan(struct run *run, const struct member_rules *rules, const size_t *world,
                     size_t places, struct error *err)
{
    struct selected *host = xcalloc(places, sizeof *host);
    struct selection hosts = { host, places };
    struct plan      made;
    size_t           i;
    int              rc;

    for (i = 0; i < places; i++)
        host[i] =
            pool_host(run, world[i], membership_ranks(pool_members(run), rules, i, world[i]));
    rc = plan_make_like(&made, run->plan, &hosts, err);
    free(host);
    if (rc < 0)
        return -1;
    plan_clear(run->plan);
    *run->plan = made;
    return 0;
}

/* Call it before membership_take(), while the places are those of the last world. */
static void move_nodes(struct run *run, const size_t *world, size_t places)
{
    const struct membership *members = pool_members(run);
    struct node            **old = run->node, **made = xcalloc(places, sizeof(struct node *));
    size_t                   i, j;

    for (i = 0; i < places; i++) {
        for (j = 0; j < members->places; j++)
            if (members->place[j] == world[i] && old[j] != NULL && !node_is_over(old[j]))
                break;
        made[i] = j < members->places ? old[j] : pool_take(run, world[i]);
        if (j < members->places)
            old[j] = NULL;
        node_place(made[i], i, &run->plan->node[i], &progress_node_ops);
    }
    for (j = 0; j < members->places; j++) {
        if (old[j] != NULL && !node_is_over(old[j])) {
            pool_put(run, members->place[j], old[j]);
        } else if (old[j] != NULL) {
            node_clear(old[j]);
            free(old[j]);
        }
    }
    free(old);
    run->node = made;
}

/* With --allow-batch-change a world may have another batch than the first: the one that
 * results from its ds_config. */
static void take_batch(struct run *run)
{
    struct batch_rules *all = &run->batch;
    const struct batch  first = all->first;
    struct batch        batch = { 0 };

    if (first.total == 0)
        return;
    if (batch_of(all, run->plan->world_size, &batch) < 0) {
        all->first = (struct batch){ 0 };
        if (batch_of(all, run->plan->world_size, &batch) < 0)
            batch = (struct batch){ 0 };
        all->first = first;
        log_warn("with %d ranks the global batch changes from %lld to %lld (0: not known)",
                 run->plan->world_size, (long long)first.total, (long long)batch.total);
    }
    run->plan->accumulation_steps = (long)batch.steps;
}

bool world_is_held(const struct run *run, const struct member_rules *rules, size_t places)
{
    struct member_rules free_rules = *rules;

    free_rules.batch = NULL;
    return rules->batch != NULL && next_world_size(pool_members(run), &free_rules) > places;
}

/* Clears all state per node or rank of the last world, except output that waits for its
 * reader. */
static void make_room(struct run *run)
{
    phase_make_room(run);
    outcome_again(&run->outcome);
    flow_make_room(run->flow, run->plan->nodes);
    deadline_make_room(run->deadline, run->plan->nodes);
    hang_again(run);
    stacks_again(run);
    rank_keys_again(run, run->plan);
    rank_labels_add(run->output, run->plan, run->options, run->shown, run->shown_count);
    run_status_make_room(run);
    steps_make_room(run);
}
