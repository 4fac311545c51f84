/* generation.c - when all ranks are started a second time
 *
 * muster chooses MASTER_PORT, and the agent of node 0 holds it, but only until the ranks
 * start: rank 0 must be able to bind it. Whoever takes it in that moment makes the run
 * fail, which is neither the program's fault nor the user's choice. So when everything
 * has ended all ranks start again, as the next generation, with another port.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "xalloc.h"

#define GENERATIONS_MAX 3
/* A rank that has run for longer has bound its port, and fails for another reason. */
#define YOUNG_S 60.0

static bool may_start_again(const struct run *run);
static bool any_ended_well(const struct outcome *outcome);

void generation_port_taken(struct run *run, const struct node *node, const char *holder)
{
    if (node->index != 0 || holder[0] == '\0' || run->port_taken != NULL)
        return;
    run->port_taken = xstrdup(holder);
}

bool generation_starts_again(struct run *run)
{
    size_t node;
    bool   again = may_start_again(run);

    if (run->port_taken == NULL || outcome_first(&run->outcome, &node) != FIRST_RANK)
        return false;
    log_warn("%s: MASTER_PORT %d was taken by %s before rank 0 had it%s", run->plan->node[0].host,
             run->plan->master_port, run->port_taken,
             again                           ? ": all ranks start again, with another one"
             : run->options->master_port > 0 ? "; without --master_port muster takes another one"
                                             : "");
    return again;
}

/* Only a run that nothing but this can have ended, and of which nothing came. */
static bool may_start_again(const struct run *run)
{
    const struct outcome *outcome = &run->outcome;
    int                   first = outcome->first_rank;
    size_t                n;

    for (n = 0; n < run->plan->nodes; n++)
        if (outcome->node[n] != NULL)
            return false;
    return first >= 0 && outcome->cause == 0 && run->interrupts == 0 &&
           run->options->master_port == 0 && run->plan->generation + 1 < GENERATIONS_MAX &&
           (double)(outcome->rank[first].end_ns - run->go_ns) / NS_PER_S < YOUNG_S &&
           !any_ended_well(outcome);
}

static bool any_ended_well(const struct outcome *outcome)
{
    int rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];

        if (end->ended && !end->after_stop && end->code == 0 && end->signal == 0 &&
            end->error == NULL)
            return true;
    }
    return false;
}

/* Files of ranks must not have the names of those that are there already. */
void generation_next(struct run *run)
{
    struct plan *plan = run->plan;
    char        *stamp = xasprintf("%s-%d", plan->stamp, plan->generation + 1);

    free(plan->stamp);
    plan->stamp = stamp;
    plan->generation++;
    plan->master_port = 0;
    free(run->port_taken);
    run->port_taken = NULL;
}
