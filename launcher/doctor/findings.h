/* findings.h - the findings of muster doctor; nodes with the same finding share a line
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FINDINGS_H
#define MUSTER_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "outcome/group.h"
#include "plan/plan.h"

#define FINDINGS_MAX 2000 /* different findings; nodes may send anything */

/* Initialize it as { 0 }. */
struct findings {
    struct groups groups; /* by all texts of a finding; members are node indexes */
    bool          any_fail;
    size_t        dropped;
};

/* Adds a finding. The texts may come from a node. */
void findings_add(struct findings *findings, int node, bool is_fail, const char *check,
                  const char *value, const char *breaks, const char *mend);
void findings_clear(struct findings *findings);

/* Prints a line for each finding, failures first: FAIL te[1-2]  disks  value  breaks  mend. */
void findings_print(const struct findings *findings, const struct plan *plan, FILE *out);

/* Returns [{"level":"fail", "nodes":["te1", ...], "check":"disks", "value":"...",
 * "breaks":"...", "mend":"..."}, ...] */
json_t *findings_json(const struct findings *findings, const struct plan *plan);

bool findings_has_node(const struct findings *findings, int node);

/* Returns 0: no findings; 1: only warnings; 2: at least one failure. */
int findings_status(const struct findings *findings);

#endif
