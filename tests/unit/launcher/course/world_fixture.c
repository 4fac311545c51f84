/* world_fixture.c - see world_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "world_fixture.h"

#include "course/progress.h"
#include "course/world.h"
#include "log.h"
#include "node/flow.h"
#include "output/rank_labels.h"
#include "run/rank_keys.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/run_status.h"
#include "run/stacks.h"
#include "run/steps.h"
#include "xalloc.h"

struct host      host[HOSTS];
struct selected  selected[HOSTS];
struct selection hosts = { selected, HOSTS };
struct node     *spare;

struct member_rules *const rules = &run.rules.members;

static int                slots[2] = { 0, 1 };
static struct program     program;
static char              *here[] = { NULL };
static struct plan_source source = { &options, &hosts, &program, here };

/* --- the others ------------------------------------------------------------- */

static void ignore(struct node *of, void *arg)
{
    (void)of, (void)arg;
}

const struct node_ops progress_node_ops = { .changed = ignore, .over = ignore };

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

struct selected pool_host(const struct run *of, size_t which, int most)
{
    struct selected found = selected[which];

    (void)of;
    found.slots = most < found.slots ? most : found.slots;
    return found;
}

struct node *pool_take(struct run *of, size_t which)
{
    struct node *taken = spare;

    (void)of;
    told("take %s;", names[which]);
    spare = NULL;
    return taken;
}

void pool_put(struct run *of, size_t which, struct node *put)
{
    (void)of;
    told("put %s;", names[which]);
    assert_null(spare);
    spare = put;
}

void phase_make_room(struct run *of)
{
    (void)of;
    told("phase;");
}

void flow_make_room(struct flow *of, size_t count)
{
    (void)of;
    told("flow %zu;", count);
}

void deadline_make_room(struct deadline *of, size_t count)
{
    (void)of;
    told("deadline %zu;", count);
}

void hang_again(struct run *of)
{
    (void)of;
    told("hang;");
}

void stacks_again(struct run *of)
{
    (void)of;
    told("stacks;");
}

void rank_keys_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    told("keys;");
}

void rank_labels_add(struct output *of, const struct plan *by, const struct options *with,
                     const bool *shown, size_t count)
{
    (void)of, (void)by, (void)with, (void)shown, (void)count;
    told("labels;");
}

void run_status_make_room(struct run *of)
{
    (void)of;
    told("status;");
}

void steps_make_room(struct run *of)
{
    (void)of;
    told("steps;");
}

/* --- the run ---------------------------------------------------------------- */

static void line_cb(const char *line, size_t size, void *arg)
{
    (void)arg;
    told("%.*s;", (int)size, line);
}

struct node *waiting(size_t which)
{
    struct node *made = xcalloc(1, sizeof *made);

    node_init(made, which, &plan_node[which], run.base, &progress_node_ops, &run);
    made->state = NODE_STAYING;
    return made;
}

int world_fixture_begin(void **state)
{
    struct selection first = { selected, NODES };
    struct error     err;
    struct plan      made;
    size_t           i;

    (void)state;
    run_fixture_begin();
    log_sink(line_cb, NULL);
    options = (struct options){ .num_nodes = -1,
                                .num_gpus = -1,
                                .cwd = (char *)"/tmp",
                                .members = { .max_wait_s = OPTION_AUTO } };
    hosts.count = HOSTS;
    for (i = 0; i < HOSTS; i++) {
        host[i] = (struct host){ .name = (char *)names[i], .slots = 2 };
        selected[i] = (struct selected){ .host = &host[i], .slot = slots, .slots = 2 };
        members.item[i].slots = 2;
    }
    members.ranks[0] = members.ranks[1] = 2;
    *rules = (struct member_rules){ .goes_on = true };
    plan = (struct plan){ .source = &source,
                          .run_id = (char *)"r",
                          .stamp = (char *)"r-1",
                          .generation = 1,
                          .master_port = 7 };
    assert_int_equal(plan_make_like(&made, &plan, &first, &err), 0);
    plan = made;
    outcome_init(&run.outcome, &plan);
    world_make_nodes(&run);
    for (i = 0; i < NODES; i++)
        run.node[i]->state = NODE_STAYING;
    spare = waiting(2);
    return 0;
}

int world_fixture_end(void **state)
{
    (void)state;
    log_sink(NULL, NULL);
    world_free_nodes(&run);
    world_close(&run);
    if (spare != NULL)
        node_clear(spare);
    free(spare);
    outcome_clear(&run.outcome);
    plan_clear(&plan);
    run_fixture_end();
    return 0;
}

void no_spare(void)
{
    node_clear(spare);
    free(spare);
    spare = NULL;
}

void elastic(void)
{
    options.members.is_elastic = true;
    rules->is_elastic = true;
}

void change(size_t first, size_t second, size_t places)
{
    const size_t world[NODES] = { first, second };
    struct error err;

    forget_told();
    assert_int_equal(world_change(&run, rules, world, places, &err), 0);
}
