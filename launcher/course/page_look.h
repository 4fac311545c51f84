/* page_look.h - what the page of a run shows, as the run is now
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_LOOK_H
#define MUSTER_PAGE_LOOK_H

#include <stdint.h>

#include <jansson.h>

#include "page/page_view.h"
#include "strlist.h"

struct run;

/* Puts all parts into the view, in a new version. status: of the run, if it is over; -1: it is
 * not. offset_s: of Unix time from clock_now_s(), always the same. */
void page_look(struct page_view *view, const struct run *run, int status, double offset_s);

/* Returns the events with a higher number as a JSON text, [[number, Unix time, name, text], ...];
 * NULL: there are none. Sets last to the number of the last one that is kept. Caller frees. */
char *page_look_events(const struct run *run, uint64_t after, uint64_t *last);

/* Returns the whole page for muster status --html, as one message with "at" (the time now), and
 * with "lines", what is known of the first ranks that failed. status: as above. */
json_t *page_look_whole(const struct run *run, int status);
/* The same of a run that is not over. */
json_t *page_look_now(const struct run *run);

/* Returns what is known of one rank, with its last lines, which are taken over. */
json_t *page_look_rank(const struct run *run, int rank, json_t *lines);
/* Returns lines of a rank that are safe to print, without their colours. */
json_t *page_look_lines(const struct strlist *lines);
/* Returns the difference of Unix time and clock_now_s(). */
double page_look_offset_s(void);

#endif
