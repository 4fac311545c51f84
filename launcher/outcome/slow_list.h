/* slow_list.h - the nodes of a run that were slower than the others, for the report and --json
 *
 *     [{"node", "generation", "reason", "since": Unix time, "until": Unix time or null}, ...]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SLOW_LIST_H
#define MUSTER_SLOW_LIST_H

#include <stdio.h>

#include <jansson.h>

#define SLOW_LIST_MAX 256 /* then the oldest goes */

/* Adds a node that is slow since then. list: an array. */
void slow_list_add(json_t *list, const char *host, int generation, const char *reason,
                   double since);
/* The node is well again. */
void slow_list_end(json_t *list, const char *host, double until);

/* Returns a new array of those that are slow now. list may be NULL. */
json_t *slow_list_now(const json_t *list);

/* Prints a line for each, also if it is well again. now: Unix time. */
void slow_list_print(const json_t *list, double now, FILE *out);

#endif
