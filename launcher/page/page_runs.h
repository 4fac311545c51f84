/* page_runs.h - a column of the page, one value for each rank, in few bytes
 *
 * "r*510,f,q": 510 times r, then f, then q. However the ranks differ, what the page gets each
 * second stays small.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_RUNS_H
#define MUSTER_PAGE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* Starts as { 0 }. */
struct page_runs {
    struct buffer text;
    char          last[24];
    size_t        count; /* of the last value, which is not in text yet */
};

/* Adds a value: a letter, and a number. */
void page_runs_letter(struct page_runs *runs, char letter);
void page_runs_number(struct page_runs *runs, int64_t number);

/* Returns all of it as a JSON string, which the caller frees; runs is empty again. */
char *page_runs_end(struct page_runs *runs);

#endif
