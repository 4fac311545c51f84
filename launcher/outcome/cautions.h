/* cautions.h - what muster told the user about nodes before the ranks started
 *
 * A run may start although something looks wrong, since only the user can know. If the run then
 * fails or hangs, minutes or days later, that is the first thing to read again.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CAUTIONS_H
#define MUSTER_CAUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "strlist.h"

#define CAUTIONS_MAX 64 /* texts; more are dropped */

struct caution {
    char          *text;
    struct strlist hosts; /* of this generation */
    struct strlist told;  /* hosts about which the user has read it, in any generation */
};

/* In the order in which they were added. Initialize it as { 0 }. */
struct cautions {
    struct caution *item;
    size_t          count;
};

void cautions_clear(struct cautions *cautions);

/* Another generation begins, in which each node is looked at again. */
void cautions_again(struct cautions *cautions);
/* text is what is wrong at the host, and what to do. Adding it twice is fine. */
void cautions_add(struct cautions *cautions, const char *host, const char *text);
/* Does this generation have any? */
bool cautions_any(const struct cautions *cautions);

/* Warns of those that the user has not read yet. */
void cautions_tell(struct cautions *cautions);
/* Prints all of this generation, as "muster: te[2-3]: ..." . */
void cautions_print(const struct cautions *cautions, FILE *out);
/* Returns [{"hosts":["te2", ...], "text":"..."}, ...]. */
json_t *cautions_json(const struct cautions *cautions);

#endif
