/* ds_table.h - every key that DeepSpeed accepts in ds_config.json, one row per key
 *
 * The parser, its messages, the defaults and --print-config all use these rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_TABLE_H
#define MUSTER_DS_TABLE_H

#include <stddef.h>

enum ds_kind {
    DS_SECTION, /* an object; its keys have their own rows */
    DS_FOREIGN, /* a section whose keys are not in the table; one that is not enabled is harmless */
    DS_ANY,     /* not checked */
    DS_BOOL,
    DS_COUNT,    /* integer, 1 or more; 5e8 is an integer, too. From here to DS_FRACTION numbers */
    DS_NATURAL,  /* integer, 0 or more */
    DS_INTEGER,  /* any integer */
    DS_REAL,     /* 0 or more */
    DS_NUMBER,   /* any finite number */
    DS_FRACTION, /* 0 to 1 */
    DS_TEXT,
    DS_CHOICE, /* one of a few words; stored as the word's number */
    DS_PAIR,   /* two fractions */
    DS_COUNTS, /* a list of integers, each 1 or more */
};

enum ds_support {
    DS_WORKS,
    DS_NO_EFFECT, /* accepted, and reported as ignored if it differs from the default */
    DS_REFUSED,   /* an error if it differs from the default */
};

struct ds_row {
    const char     *path;  /* "zero_optimization.stage" */
    const char     *alias; /* another name in the same section, or NULL */
    enum ds_kind    kind;
    enum ds_support support;
    const char     *value;   /* the default, as JSON; "null": none */
    const char     *choices; /* for DS_CHOICE: "none|cpu|nvme" */
    size_t          field;   /* offset in struct ds_config; 0: the value is not stored */
    const char     *note;    /* why it is ignored, or what to use instead */
    unsigned        schedulers; /* bits of those that have this parameter; 0: not one */
    const char     *nothing; /* a JSON array of values that mean the default, too; or NULL */
};

extern const struct ds_row ds_table[];
extern const size_t        ds_rows;
#define DS_ROWS_MAX 256

/* Returns the row with this path or alias; NULL: there is none. */
const struct ds_row *ds_row_find(const char *path);

/* Writes a suggestion for a path that has no row: " (did you mean \"stage\"?)", " (it is known
 * as zero_optimization.stage)" or "". */
void ds_suggest(const char *path, char *text, size_t size);

#endif
