/* generation.c - see generation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/generation.h"

#include "clock.h"
#include "log.h"
#include "run/interrupt.h"
#include "run/rendezvous.h"
#include "run/run.h"

#define GENERATIONS_MAX 3
/* A rank that has run for longer has bound its port, and fails for another reason. */
#define YOUNG_S 60.0

static bool may_start_again(const struct run *run);
static bool any_ended_well(const struct outcome *outcome);

bool generation_starts_again(const struct run *run)
{
    const char *holder = rendezvous_port_holder(run->rendezvous);
    size_t      node;
    bool        again = may_start_again(run);

    if (holder == NULL || outcome_first(&run->outcome, &node) != FIRST_RANK)
        return false;
    log_warn("%s: MASTER_PORT %d was taken by %s before rank 0 could bind it%s",
             run->plan->node[0].host, run->plan->master_port, holder,
             again                           ? ": starting all ranks again with another one"
             : run->options->master_port > 0 ? "; without --master_port muster chooses another one"
                                             : "");
    return again;
}

/* Only a run that ended for this reason alone, and before it came to any result. */
static bool may_start_again(const struct run *run)
{
    const struct outcome *outcome = &run->outcome;
    int                   first = outcome->first_rank;
    size_t                n;

    for (n = 0; n < run->plan->nodes; n++)
        if (outcome->node[n] != NULL)
            return false;
    return first >= 0 && outcome->cause == 0 && !interrupt_has_come(run) &&
           run->options->master_port == 0 && run->plan->generation + 1 < GENERATIONS_MAX &&
           (double)(outcome->rank[first].end_ns - run->phase.go_ns) / NS_PER_S < YOUNG_S &&
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
