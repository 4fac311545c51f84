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

/* Of a read that is larger, only so many bytes at its end are looked at. */
#define STEP_WATCH_READ_MAX (4 * STEP_LINE_MAX)

struct step_watch {
    const regex_t *pattern; /* borrowed; NULL: the known forms */
    enum step_form form;    /* the most exact so far; NONE: no step yet */
    int64_t        last[STEP_FORMS]; /* by form; -1: none */
    uint64_t       count;   /* how often a step has counted */
    bool           is_last; /* the last one is the last that there will be */
    int64_t        at_ns;   /* when one last did */
    char           part[STEP_LINE_MAX]; /* of a line that has not ended */
    size_t         part_size;
};

/* Compiles --progress. Its first group, if any, is the number of the step; without one each line
 * that matches is a step. -1 with err: it is no extended regular expression. */
int step_pattern_compile(const char *text, regex_t *pattern, struct error *err);

/* pattern: NULL, or what step_pattern_compile() made. */
void step_watch_begin(struct step_watch *watch, const regex_t *pattern);

/* The rank has written these bytes. */
void step_watch_add(struct step_watch *watch, const char *bytes, size_t size, int64_t now_ns);

/* Returns the last step of the most exact form; -1: none, or it has no number. */
int64_t step_watch_step(const struct step_watch *watch);

#endif
