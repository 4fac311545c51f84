/* remains.h - is anything left of a run whose launcher is gone?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REMAINS_H
#define MUSTER_REMAINS_H

#include <jansson.h>

#include "options/options.h"

/* Ask the nodes of that run (plan: its plan.json; ranks: those of its
 * status.json, since nodes may have come later) until none has a process of it: its agents end
 * all of them on their own, within the time that options allow. A node that does not answer is
 * given that time. Tells who is in the way. options: of that run, for how to connect. Returns 0,
 * EXIT_WAITED if something is left, or another exit status. */
int remains_await(const struct options *options, const char *id, const json_t *plan,
                  const json_t *ranks);

#endif
