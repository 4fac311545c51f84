/* ending.h - how a generation ended, as elastic/policy.h asks for it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENDING_H
#define MUSTER_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "elastic/policy.h"

struct run;
struct plan;

/* The rank whose failure ended its world. */
struct failed_rank {
    int     rank; /* -1: none */
    bool    is_abort; /* by PMI: the other ranks do not matter */
    int     code; /* as in a shell */
    int64_t at_ns;
};

/* Returns the event POLICY_EVENT_OVER of this generation of the run. is_change: muster ended it
 * because the world must change. */
struct policy_event ending_describe(const struct run *run, bool is_change);

/* Returns the same of a role that has started at go_ns, and ended since that rank failed. */
struct policy_event ending_of_role(const struct run *run, const struct plan *role,
                                   const struct failed_rank *failed, int64_t go_ns);

/* Returns the rank of that world (the plan, or a role) that failed first; its rank is -1 if none
 * did. */
struct failed_rank ending_failed_rank(const struct run *run, const struct plan *world);

/* A rank of that world (the plan, or a role) has failed: returns how many seconds its others may
 * take to exit before they are stopped. If they all fail as in the generation before, another one
 * is pointless, and only their exits can show it. */
double ending_others_s(const struct run *run, const struct plan *world,
                       const struct policy *policy, bool is_change);

/* Must the run end, whatever failed first? */
bool ending_is_wanted(const struct run *run);

#endif
