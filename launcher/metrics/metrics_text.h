/* metrics_text.h - figures as text that Prometheus and others read
 *
 * Two formats: OpenMetrics 1.0, and the older text format of Prometheus, 0.0.4, which node
 * exporter's textfile collector takes. They differ in the names of counters, and in what a reader
 * of the older one would refuse. Pure: it reads no clock and does no I/O.
 *
 *     metrics_text_begin(&text, METRICS_OPEN);
 *     metrics_text_family(&text, METRICS_COUNTER, "muster_restarts", NULL, "Restarts of ranks");
 *     metrics_text_add(&text, 3, cause);
 *     metrics_text_end(&text);
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_METRICS_TEXT_H
#define MUSTER_METRICS_TEXT_H

#include <stddef.h>

#include "buffer.h"

enum metrics_format { METRICS_OPEN, METRICS_PROMETHEUS };

/* An info has the value 1, and says something in its labels. */
enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_INFO };

/* An array of labels ends with a name of NULL. A value may be any bytes; NULL is "". */
struct metrics_label {
    const char *name, *value;
};

struct metrics_text {
    enum metrics_format         format;
    struct buffer               out; /* the text so far; after metrics_text_end() it ends in NUL,
                                        which does not count in its size */
    enum metrics_type           type;   /* of the present family */
    const char                 *family; /* its name; borrowed */
    const struct metrics_label *common; /* labels that each sample has first; borrowed; may be
                                           NULL */
};

/* Begins an empty text. buffer_clear(&text->out) frees it. */
void metrics_text_begin(struct metrics_text *text, enum metrics_format format,
                        const struct metrics_label *common);

/* Begins a family: a name without _total or _info, in which the unit, if there is one, is the last
 * word; and a sentence without a line break. All samples of a family follow it at once. */
void metrics_text_family(struct metrics_text *text, enum metrics_type type, const char *name,
                         const char *unit, const char *help);
/* Adds a sample. label: NULL: none but the common ones. A counter that is negative or no number is
 * left out. */
void metrics_text_add(struct metrics_text *text, double value, const struct metrics_label *label);
/* Both, for a family of one sample. */
void metrics_text_one(struct metrics_text *text, enum metrics_type type, const char *name,
                      const char *unit, double value, const char *help);

void metrics_text_end(struct metrics_text *text);

/* Returns the Content-Type of a format. */
const char *metrics_text_type(enum metrics_format format);
/* Returns the format that a scraper asks for by this header Accept; NULL: it has sent none. */
enum metrics_format metrics_text_accepted(const char *accept);

#endif
