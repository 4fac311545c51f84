/* remains.h - waits until nothing is left of a run whose launcher is gone
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REMAINS_H
#define MUSTER_REMAINS_H

#include <jansson.h>

#include "options/options.h"

/* Asks the nodes of that run until none has a process of it. plan: the run's plan.json; ranks:
 * those in its status.json, since nodes may have joined later. The agents end all processes on
 * their own, within the time that options allow; we wait this long for a node that does not
 * answer. Reports the nodes that it waits for. options: those of that run, for how to connect.
 * Returns 0, EXIT_WAITED if something is left, or another exit status. */
int remains_await(const struct options *options, const char *id, const json_t *plan,
                  const json_t *ranks);

#endif
