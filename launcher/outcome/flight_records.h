/* flight_records.h - which collective the ranks do not agree about, by PyTorch's flight recorder
 *
 * Agents send the last collectives of each rank (--flight-recorder; FLIGHT in doc/PROTOCOL). Ranks
 * of a process group must enter the same collectives in the same order. The first one in which they
 * differ is where they wait for each other: some have not entered it, or have entered another one,
 * or with other sizes; or all have, and it does not end.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FLIGHT_RECORDS_H
#define MUSTER_FLIGHT_RECORDS_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "plan/plan.h"
#include "strlist.h"

#define FLIGHT_RECORDS_MAX (32u << 20) /* bytes of all ranks; more are not kept */
#define FLIGHT_RECORDS_LINES_MAX 8 /* that are shown */

/* Initialize it as { 0 }. */
struct flight_records {
    json_t **rank; /* by rank: the last body of FLIGHT; NULL: none */
    size_t  *bytes; /* by rank */
    int      ranks; /* that have room */
    size_t   size;  /* bytes of all */
};

void flight_records_clear(struct flight_records *records);
/* Forgets what these ranks have recorded: they start again. */
void flight_records_forget(struct flight_records *records, int first_rank, int ranks);

/* Takes the body of FLIGHT, which may hold anything. An error does not replace a record. */
void flight_records_take(struct flight_records *records, int rank, const json_t *body);

/* Adds what the records say, in lines that are safe to print; none if there are no records. */
void flight_records_lines(const struct flight_records *records, const struct plan *plan,
                          struct strlist *lines);
/* Prints them as the user reads them: in the report, or as notes before the next generation. */
void flight_records_print(const struct flight_records *records, const struct plan *plan,
                          FILE *out);
void flight_records_tell(const struct flight_records *records, const struct plan *plan);

/* Returns the lines as an array, a new object. */
json_t *flight_records_lines_json(const struct flight_records *records, const struct plan *plan);
/* Returns {"0": body of FLIGHT, ...} for the file, a new object; NULL: there are no records. */
json_t *flight_records_json(const struct flight_records *records);

#endif
