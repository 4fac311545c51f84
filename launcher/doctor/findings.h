/* findings.h - what muster doctor has found, said once for all nodes where it is the same
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FINDINGS_H
#define MUSTER_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "outcome/group.h"
#include "plan/plan.h"

#define FINDINGS_MAX 2000 /* different ones; nodes may say anything */

/* Start from { 0 }. */
struct findings {
    struct groups groups; /* by all its texts; members are node indexes */
    bool          any_fail;
    size_t        dropped;
};

/* The texts may come from a node. */
void findings_add(struct findings *findings, int node, bool is_fail, const char *check,
                  const char *value, const char *breaks, const char *mend);
void findings_clear(struct findings *findings);

/* A line for each, those that fail first: FAIL te[1-2]  disks  value  breaks  mend. */
void findings_print(const struct findings *findings, const struct plan *plan, FILE *out);

/* [{"level":"fail", "nodes":["te1", ...], "check":"disks", "value":"...", "breaks":"...",
 * "mend":"..."}, ...] */
json_t *findings_json(const struct findings *findings, const struct plan *plan);

bool findings_has_node(const struct findings *findings, int node);

/* 0: none; 1: warnings; 2: at least one that fails. */
int findings_status(const struct findings *findings);

#endif
