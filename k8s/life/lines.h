/* lines.h - the last lines of failed Pods, which are kept in the anchor before the Pods go
 *
 * A list of documents, {pod, uid, attempt, text}, of the attempt that failed last; bounded, since
 * an object of the cluster is at most 1 MiB.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_LINES_H
#define MUSTER_LIFE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define LINES_PODS  8    /* of one attempt; hundreds may fail of the same cause */
#define LINES_BYTES 4096 /* of one Pod */

/* Borrows list, which may be NULL. */
bool   lines_has(const json_t *list, const char *uid);
size_t lines_count(const json_t *list, int64_t attempt);

/* list with that Pod's text, and without those of earlier attempts: a new reference. Of the text
 * the last lines are taken, and what is no UTF-8 becomes '?'. */
json_t *lines_with(const json_t *list, const char *pod, const char *uid, int64_t attempt,
                   const char *text, size_t size);

#endif
