/* status_text.h - what muster status says of a run, as text for people
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STATUS_TEXT_H
#define MUSTER_STATUS_TEXT_H

#include <stdio.h>

#include <jansson.h>

/* Prints a run with its ranks; run is what muster status --json writes of it. */
void status_print_run(const json_t *run, FILE *out);

/* Return a field as a cell of a table, and since when the run is, "2026-11-20 10:30". What is not
 * known is "-". Caller frees. */
char *status_text_of(const json_t *object, const char *key);
char *status_since(const json_t *run);

#endif
