/* number.h - strict parsing of numbers, and lists of numbers as text
 *
 * The whole text must be the number: no blanks, no sign but '-', no trailing
 * characters, ASCII digits only.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NUMBER_H
#define MUSTER_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "err.h"

/* Parses a decimal integer in [min, max]. Returns -1 with a text such as "'x4' is not a number
 * from 1 to 65535". */
int parse_number(const char *text, int64_t min, int64_t max, int64_t *number,
                 struct error *err);

/* Parses seconds: "90", "1.5", "30s", "10m", "2h" or "1d". */
int parse_seconds(const char *text, double min, double max, double *seconds, struct error *err);

/* Parses bytes: "4096", "8K", "1.5G"; K, M, G, T (or k ...) are binary. */
int parse_bytes(const char *text, int64_t min, int64_t max, int64_t *bytes, struct error *err);

/* Appends numbers in ascending order, each less by base, as ranges: "0-3,5". */
void number_add_ranges(struct buffer *text, const int *number, size_t count, int base);

#endif
