/* collective_watch.c - see collective_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/collective_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "run/run.h"
#include "run/stacks.h"
#include "sanitize.h"
#include "xalloc.h"
#include "xevent.h"

/* An agent answers within 10 s. If its answer takes longer on its way, another node is asked. */
#define ANSWER_S 20.0

/* What the log says of a run: at first nothing may listen there, and then something else than
 * NCCL. */
#define REASONS_MAX 3

struct collective_watch {
    struct event *look;
    struct asked {
        size_t  node;      /* which asks, counted from the first node of its world */
        int64_t asked_ns;  /* when; 0: it does not owe an answer */
        char    why[120];  /* the reason why there is no answer that the log had last */
        int     reasons;   /* that the log has */
    } * asked; /* by world */
};

static void   look_cb(evutil_socket_t fd, short what, void *arg);
static void   ask(struct run *run, size_t index);
static void   tell_no_answer(struct asked *asked, const struct node *node, const json_t *body);

void collective_watch_open(struct run *run)
{
    const struct timeval every = clock_interval(collectives_every_s(run->options->hang_timeout_s));
    struct collective_watch *watch = xcalloc(1, sizeof *watch);

    run->collectives = xcalloc(plan_worlds(run->plan), sizeof *run->collectives);
    run->collective_watch = watch;
    watch->asked = xcalloc(plan_worlds(run->plan), sizeof *watch->asked);
    watch->look = event_new(run->base, -1, EV_PERSIST, look_cb, run);
    if (watch->look == NULL)
        xalloc_die();
    if (!run_is_exec(run))
        xevent_add(watch->look, &every);
}

void collective_watch_close(struct run *run)
{
    size_t i;

    if (run->collective_watch == NULL)
        return;
    for (i = 0; i < plan_worlds(run->plan); i++)
        collectives_again(&run->collectives[i]);
    free(run->collectives);
    event_free(run->collective_watch->look);
    free(run->collective_watch->asked);
    free(run->collective_watch);
    run->collective_watch = NULL;
    run->collectives = NULL;
}

void collective_watch_again(struct run *run, const struct plan *world)
{
    size_t i;

    for (i = 0; i < plan_worlds(run->plan); i++)
        if (world == run->plan || world == plan_world_at(run->plan, i)) {
            collectives_again(&run->collectives[i]);
            run->collective_watch->asked[i] = (struct asked){ 0 };
        }
}

/* --- the question ------------------------------------------------------------- */

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    size_t      i;

    (void)fd, (void)what;
    for (i = 0; run->phase.now == PHASE_RUNNING && i < plan_worlds(run->plan); i++)
        ask(run, i);
}

static void ask(struct run *run, size_t index)
{
    const struct plan *world = plan_world_at(run->plan, index);
    struct asked      *asked = &run->collective_watch->asked[index];
    const int64_t      now_ns = clock_now_ns();
    size_t             tries, node;

    if (asked->asked_ns != 0 && (double)(now_ns - asked->asked_ns) / NS_PER_S < ANSWER_S)
        return;
    if (asked->asked_ns != 0)
        asked->node++;
    asked->asked_ns = 0;
    for (tries = 0; tries < world->nodes; tries++, asked->node++) {
        node = world->first_node + asked->node % world->nodes;
        if (!stacks_has_ranks(run, node) || run->node[node]->liveness.is_suspect)
            continue;
        asked->asked_ns = now_ns;
        node_send_empty(run->node[node], FRAME_RAS);
        return;
    }
}

/* --- its answer --------------------------------------------------------------- */

int collective_watch_take(struct run *run, const struct node *node, const json_t *body,
                          struct error *err)
{
    const struct plan *world = plan_world(run->plan, node->index);
    const size_t       index = plan_world_index(run->plan, world);
    struct asked      *asked = &run->collective_watch->asked[index];

    if (node->index != world->first_node + asked->node % world->nodes)
        return 0; /* it was late: another one asks now */
    asked->asked_ns = 0;
    if (json_is_string(json_object_get(body, "error"))) {
        tell_no_answer(asked, node, body);
        asked->node++;
        return 0;
    }
    return collectives_take(&run->collectives[index], body, clock_now_s(), err);
}

/* Says a reason once, as most ranks without NCCL give no other. */
static void tell_no_answer(struct asked *asked, const struct node *node, const json_t *body)
{
    const char *why = json_string_value(json_object_get(body, "error"));
    char       *safe;

    if (asked->reasons == REASONS_MAX || strncmp(asked->why, why, sizeof asked->why - 1) == 0)
        return;
    asked->reasons++;
    snprintf(asked->why, sizeof asked->why, "%s", why);
    safe = sanitize_text(why, strlen(why));
    log_info("%s: NCCL's RAS does not say how many collectives the ranks have launched: %s",
             plan_label(node->plan), safe);
    free(safe);
}
