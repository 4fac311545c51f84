/* page_view.h - what the page of a run shows, and what of it is new to a browser
 *
 * Each part is a JSON text, which has a version: that in which it last changed. A browser that has
 * seen a version gets the parts that changed after it, so one that was slow misses nothing and
 * nothing waits for it. page.js reads the messages:
 *
 *     {"version": 7, "step": [[null, 120, 118, "DeepSpeed"]], "behind": "0*14,2*2",
 *      "points": [...], "events": [...]}
 *
 * Pure.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_VIEW_H
#define MUSTER_PAGE_VIEW_H

#include <stdint.h>

enum page_part {
    PAGE_RUN,         /* {"id", "name", "script", "host", "start"} */
    PAGE_STATE,       /* {"state", "status", "generation", "most", "hangs", "spares", "loss"} */
    PAGE_NODES,       /* [[host, role or null, [first rank, last rank, ...],
                         the first rank of its role], ...]; numbers in the run */
    PAGE_RANKS,       /* a letter for each rank, in the order of the nodes (page_runs.h) */
    PAGE_BEHIND,      /* how many steps it is behind the first one; -1: not known */
    PAGE_STEP,        /* [[role or null, highest, lowest, what has shown it], ...] */
    PAGE_GENERATIONS, /* [[number, role or null, status, cause, start, end], ...] */
    PAGE_SUSPECTS,    /* as in --json */
    PAGE_CHECKPOINTS, /* [[role or null, number, when, path], ...] */
    PAGE_PARTS
};

/* The states of a rank. */
#define PAGE_STARTING 's'
#define PAGE_RUNNING  'r'
#define PAGE_SILENT   'q' /* its node is */
#define PAGE_DONE     'd'
#define PAGE_FAILED   'f'
#define PAGE_STOPPED  'x'
#define PAGE_LOST     'l'

/* Starts as { 0 }. */
struct page_view {
    uint64_t version; /* the last one; 0: nothing is known yet */
    struct {
        char    *json;
        uint64_t version;
    } part[PAGE_PARTS];
};

void page_view_clear(struct page_view *view);

/* This part is now that JSON text, which is taken over. Changes of one look are one version: call
 * page_view_next() before them. */
void page_view_next(struct page_view *view);
void page_view_set(struct page_view *view, enum page_part part, char *json);

/* Returns what has changed after that version (0, or one that is still to come: all), with these
 * lists if they are not NULL; the caller frees it. NULL: nothing. */
char *page_view_message(const struct page_view *view, uint64_t after, const char *points,
                        const char *events);

#endif
