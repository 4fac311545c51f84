/* plan_roles.h - a plan of several worlds: which slots each role gets, and who runs there
 *
 * Roles take their slots in the order in which they were given, each in the order of the hostfile:
 * train:8 has the first eight, gen:4 the next four. A role with its own --include or --exclude
 * takes only what these leave. A host that two roles share has two nodes, with an agent each.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_ROLES_H
#define MUSTER_PLAN_ROLES_H

#include "plan/plan.h"

/* Fills share[options->roles], which are { 0 }, from the slots of all, which are of hosts. -1 with
 * err: too few, or a filter that names none. Clear all of them in either case. */
int plan_roles_divide(struct selection *share, const struct options *options,
                      const struct hostlist *hosts, const struct selection *all,
                      struct error *err);

/* Makes the plan of them all, as plan_make() does for one world. share and program have
 * options->roles each. -1 with err. */
int plan_roles_make(struct plan *plan, const struct options *options,
                    const struct selection *share, const struct program *program,
                    char *const *here, struct error *err);

#endif
