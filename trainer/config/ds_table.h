/* ds_table.h - every key that DeepSpeed takes in ds_config.json, one row each
 *
 * The rows make the parser, its messages, the defaults and --print-config.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_TABLE_H
#define MUSTER_DS_TABLE_H

#include <stddef.h>

enum ds_kind {
    DS_SECTION, /* an object; its keys have rows of their own */
    DS_FOREIGN, /* a section of which we know only that DeepSpeed has it */
    DS_ANY,     /* not looked at */
    DS_BOOL,
    DS_COUNT,    /* integer, 1 or more; 5e8 is one too */
    DS_NATURAL,  /* integer, 0 or more */
    DS_INTEGER,  /* any integer */
    DS_REAL,     /* 0 or more */
    DS_NUMBER,   /* any finite number */
    DS_FRACTION, /* 0 to 1 */
    DS_TEXT,
    DS_CHOICE, /* one of a few words; stored as the number of the word */
    DS_PAIR,   /* two fractions */
    DS_COUNTS, /* a list of integers, 1 or more each */
};

enum ds_support {
    DS_WORKS,
    DS_NO_EFFECT, /* taken, and reported when it differs from what we do anyway */
    DS_REFUSED,   /* an error when it differs from what we do */
};

struct ds_row {
    const char     *path;  /* "zero_optimization.stage" */
    const char     *alias; /* another name in the same section, or NULL */
    enum ds_kind    kind;
    enum ds_support support;
    const char     *value;   /* the default, as JSON; "null": none */
    const char     *choices; /* of DS_CHOICE: "none|cpu|nvme" */
    size_t          field;   /* in struct ds_config, when it works; otherwise 0, or stored, too */
    const char     *note;    /* why it has no effect, or what to do instead */
    unsigned        schedulers; /* bits of those that have this parameter; 0: no such thing */
};

extern const struct ds_row ds_table[];
extern const size_t        ds_rows;
#define DS_ROWS_MAX 256

/* The row of this path, also by its alias; NULL: there is none. */
const struct ds_row *ds_row_find(const char *path);

/* " (did you mean \"stage\"?)", " (it belongs into \"zero_optimization\")" or "" for a path
 * that has no row. */
void ds_suggest(const char *path, char *text, size_t size);

#endif
