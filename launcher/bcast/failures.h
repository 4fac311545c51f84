/* failures.h - reports what muster bcast or collect could not copy, and links that lead to
 * nothing, once for all nodes with the same failure
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

/* Initialize it as { 0 }. */
struct failures {
    struct groups groups; /* nodes by "what\npath\nwhy", safe to print */
    bool          is_cut; /* there were more failures than it keeps */
};

/* Adds a failure. what: as in "cannot write"; what may be "" if why is enough, and path, too. The
 * texts may come from a node. count: the node's number of failures, which it increments. */
void failures_add(struct failures *failures, const struct node *node, size_t *count,
                  const char *path, const char *what, const char *why);
void failures_clear(struct failures *failures);

/* Prints "muster: " and the title, then a line for each failure. Prints nothing if there are
 * none. */
#define FAILURES_TITLE "not everything arrived"
void    failures_print(struct failures *failures, const struct plan *plan, const char *title,
                       FILE *out);
json_t *failures_json(const struct failures *failures, const struct plan *plan);

/* Returns "1.2 MiB"; caller frees. */
char *size_words(uint64_t bytes);

#endif
