/* metrics.h - --metrics and --metrics-listen: figures of a run for Prometheus
 *
 * The file is written every METRICS_EACH_S seconds, when the run enters another phase, and at its
 * end. The server makes the text once in METRICS_FRESH_S seconds at most, however many ask. The
 * same server has a page of the run (course/page.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_METRICS_H
#define MUSTER_METRICS_H

#include "elastic/policy.h"
#include "err.h"

#define METRICS_EACH_S  10.0
#define METRICS_FRESH_S 1.0

struct plan;
struct run;

/* Makes run->metrics, unless neither option is given; opens the socket, and checks that the file
 * can be written. Nothing is answered yet. -1 with err. */
int  metrics_open(struct run *run, struct error *err);
/* The run has all its parts: writes the file, and serves. */
void metrics_begin(struct run *run);
/* The run is over: writes the file for the last time, and serves no longer. */
void metrics_end(struct run *run, int status);
/* The same for a run that has not begun, whose file is not written. */
void metrics_free(struct run *run);

/* Another generation of that world (the plan, or a role) follows one that ended like this. Called
 * before the outcome forgets it. */
void metrics_restart(struct run *run, const struct plan *world, enum policy_end end);

#endif
