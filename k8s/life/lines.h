/* lines.h - the last log lines of failed Pods, stored in the anchor before the Pods are deleted
 *
 * A list of documents {pod, uid, attempt, text} about the attempt that failed last. The list is
 * bounded, because an object of the cluster has at most 1 MiB.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_LINES_H
#define MUSTER_LIFE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define LINES_PODS  8    /* per attempt; hundreds may fail for the same reason */
#define LINES_BYTES 4096 /* per Pod */

/* Borrows list, which may be NULL. */
bool   lines_has(const json_t *list, const char *uid);
size_t lines_count(const json_t *list, int64_t attempt);

/* Returns list without earlier attempts and with the last lines of that Pod's text, where '?'
 * replaces invalid UTF-8: a new reference. */
json_t *lines_with(const json_t *list, const char *pod, const char *uid, int64_t attempt,
                   const char *text, size_t size);

#endif
