/* failures.h - what muster bcast or collect could not copy, said once for all nodes where it is the
 * same
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FAILURES_H
#define MUSTER_FAILURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "outcome/group.h"

struct node;

/* Start from { 0 }. */
struct failures {
    struct groups groups; /* nodes by "what\npath\nwhy", safe to print */
    bool          is_cut; /* there were more of them */
};

/* what is as in "cannot write"; path and what may be "", if why says it all. The texts may come
 * from a node. count: how many this node has; it is increased. */
void failures_add(struct failures *failures, const struct node *node, size_t *count,
                  const char *path, const char *what, const char *why);
void failures_clear(struct failures *failures);

/* "muster: not everything arrived", and a line for each. Nothing, if there are none. */
void    failures_print(struct failures *failures, const struct plan *plan, FILE *out);
json_t *failures_json(const struct failures *failures, const struct plan *plan);

/* "1.2 MiB"; caller frees. */
char *size_words(uint64_t bytes);

#endif
