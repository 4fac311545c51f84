/* hostrange.h - many host names as one word, "node[01-16,20]"
 *
 * The notation of pdsh: a bracket lists numbers and ranges of numbers, written
 * with as many digits as the first number has; "[1-9/2]" counts by twos. Several brackets are a
 * product, the last one counting fastest: "r[1-2]n[1-2]" is r1n1 r1n2 r2n1 r2n2. A
 * bracketed IPv6 address, "[::1]", is a name and not a range.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOSTRANGE_H
#define MUSTER_HOSTRANGE_H

#include "err.h"
#include "strlist.h"

#define HOSTRANGE_NAMES_MAX 65536 /* one word may expand to this many */
#define HOSTRANGE_NAME_MAX 255    /* characters of a name: more than DNS allows */
#define HOSTRANGE_BRACKETS_MAX 8
#define HOSTRANGE_DIGITS_MAX 18 /* per number, so that it fits into 63 bits */

/* Adds the names that word expands to; a word without brackets expands to itself. Returns -1
 * with the reason in err and leaves names unchanged. */
int hostrange_expand(const char *word, struct strlist *names, struct error *err);

/* Returns the length of the first word of a list, whose words are separated by commas: a comma in
 * brackets does not separate. */
size_t hostrange_word(const char *list);

/* Expands all words of a list. On error names has those before the word. */
int hostrange_expand_list(const char *list, struct strlist *names, struct error *err);

/* The inverse: returns the names, in any order and each counted once, as words separated by
 * commas: "gw,node[01-16,20]". The caller frees it. */
char *hostrange_fold(const struct strlist *names);

#endif
