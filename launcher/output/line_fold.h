/* line_fold.h - muster run --fold: lines that many ranks write at about the same time become one
 *
 * Holds whole lines for LINE_FOLD_S, in the order in which they came. A line that comes meanwhile
 * from another rank joins the first one with the same text and kind that is behind all lines which
 * are held of its own rank. So no line of a rank overtakes another one of that rank, whichever it
 * joins.
 *
 * Does no I/O and asks no clock.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LINE_FOLD_H
#define MUSTER_LINE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_FOLD_S       0.2
/* Beyond one of these it is full: bytes, lines, and ranks of all lines. */
#define LINE_FOLD_BYTES   ((size_t)1 << 20)
#define LINE_FOLD_LINES   ((size_t)4096)
#define LINE_FOLD_MEMBERS ((size_t)1 << 18)

struct line_fold;

/* A line of a rank. */
struct rank_line {
    int         rank;
    int         kind;   /* only lines of one kind join: of one stream, of one role */
    const char *text;   /* with its line end */
    size_t      size;
    size_t      charge; /* credit that its rank gets back once it is written */
};

/* What one or more ranks have written. */
struct folded_line {
    char  *text;
    size_t size, charge; /* the charge of the lowest rank; the others have theirs back */
    int    kind;
    int   *rank; /* in ascending order */
    size_t ranks;
};

struct line_fold *line_fold_new(void);
void              line_fold_free(struct line_fold *fold); /* NULL is fine */

/* Adds a line, and copies it. True: it has joined another one, and credit that is no longer needed
 * (for the bytes of *back) goes back to the rank back->rank. */
bool line_fold_add(struct line_fold *fold, const struct rank_line *line, int64_t now_ns,
                   struct rank_line *back);

/* Are lines held, or lines of that rank? */
bool line_fold_holds_any(const struct line_fold *fold);
bool line_fold_holds(const struct line_fold *fold, int rank);
/* How many bytes? */
size_t line_fold_bytes(const struct line_fold *fold);
/* Must the first line be taken, so that memory is bounded? */
bool line_fold_is_full(const struct line_fold *fold);
/* When the first line has been held for LINE_FOLD_S. Not if none is held. */
int64_t line_fold_due_ns(const struct line_fold *fold);

/* Takes the first line, which must be there. Free it with folded_line_clear(). */
struct folded_line line_fold_take(struct line_fold *fold);
void               folded_line_clear(struct folded_line *line);

#endif
