/* run_figures.h - the figures of a run, as they are now, as a text for Prometheus
 *
 * The table in muster-watch(7) says what each is. No figure has more than one series for each node,
 * and none has one for each rank. No value of a variable and no argument of the script is in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_FIGURES_H
#define MUSTER_RUN_FIGURES_H

#include <stdbool.h>

#include "elastic/policy.h"
#include "history/run_dir.h"
#include "metrics/metrics_text.h"
#include "outcome/evidence.h"

struct plan;
struct run;

/* What the run itself does not keep. Starts as { 0 }. */
struct run_figures {
    char     host[RUN_DIR_HOST_SIZE];
    char    *script;                         /* event_script() */
    unsigned restarts[POLICY_END_WANTED + 1]; /* by what has ended the generation before */
    double   evidence[EVIDENCE_BROKEN + 1];  /* by severity, of earlier generations */
    bool     is_over;                        /* the run, with that exit status */
    int      status;
};

void run_figures_init(struct run_figures *figures, const struct run *run);
void run_figures_clear(struct run_figures *figures);

/* Another generation of that world (the plan, or a role) follows one that ended like this. Called
 * before the outcome forgets it. */
void run_figures_restart(struct run_figures *figures, const struct run *run,
                         const struct plan *world, enum policy_end end);

/* Returns the text; the caller frees it. */
char *run_figures_text(const struct run_figures *figures, struct run *run,
                       enum metrics_format format);

#endif
