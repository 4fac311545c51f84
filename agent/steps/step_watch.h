/* step_watch.h - the steps of one rank, as its output names them
 *
 * A step counts if its number has changed, in whatever form: bars of an evaluation do, too, but a
 * heartbeat that repeats a number does not. With --progress only what that pattern matches counts.
 * Of much output only the end of each read is looked at, so that ranks that flood their agent cost
 * it little.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEP_WATCH_H
#define MUSTER_STEP_WATCH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "steps/step_line.h"

/* muster looks at this many bytes at the end of each read. */
#define STEP_WATCH_READ_MAX (4 * STEP_LINE_MAX)
#define STEP_WATCH_RECENT   32 /* steps whose times are kept */

struct step_watch {
    const regex_t *pattern; /* borrowed; NULL: the known forms */
    enum step_form form;    /* the most exact so far; NONE: no step yet */
    int64_t        last[STEP_FORMS]; /* by form; -1: none */
    uint64_t       count;   /* how often a step has counted */
    bool           is_last; /* the last one is the last that there will be */
    bool           has_loss;
    double         loss;    /* of the last line of a step that had one */
    int64_t        at_ns;   /* when one last did */
    int64_t        recent_ns[STEP_WATCH_RECENT]; /* the same of the last ones; the oldest is
                                                    overwritten */
    char           part[STEP_LINE_MAX]; /* of a line that has not ended */
    size_t         part_size;
};

/* Compiles --progress. Its first group, if any, is the number of the step; without one each line
 * that matches is a step. NULL with err: it is no extended regular expression. */
regex_t *step_pattern_new(const char *text, struct error *err);
void     step_pattern_free(regex_t *pattern); /* NULL is fine */

/* pattern: NULL, or what step_pattern_new() made. */
void step_watch_begin(struct step_watch *watch, const regex_t *pattern);

/* The rank has written these bytes, at most STEP_WATCH_READ_MAX. is_cut: and others before them
 * that are left out. */
void step_watch_add(struct step_watch *watch, const char *bytes, size_t size, bool is_cut,
                    int64_t now_ns);

/* The rank has called muster.step(): from now on its output does not count. last: the number of
 * the last step; -1: unknown. */
void step_watch_call(struct step_watch *watch, int64_t step, int64_t last, int64_t now_ns);

/* Returns the last step of the most exact form; -1: none, or it has no number. */
int64_t step_watch_step(const struct step_watch *watch);

/* Returns when the last step before at_ns has counted; -1: not known, as there was none, or too
 * many have followed. */
int64_t step_watch_before(const struct step_watch *watch, int64_t at_ns);

/* Returns whose form it is, for the user: "DeepSpeed", "--progress". */
const char *step_watch_form(const struct step_watch *watch);

/* Returns the one of two streams of a rank whose steps are the rank's. */
const struct step_watch *step_watch_more_exact(const struct step_watch *one,
                                               const struct step_watch *other);

#endif
