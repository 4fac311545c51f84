/* ds_read.h - the contents of a ds_config.json, key by key
 *
 * For use only in config/: ds_config.c asks which keys were given, ds_print.c on which lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_READ_H
#define MUSTER_DS_READ_H

#include <stdbool.h>

#include <jansson.h>

#include "config/ds_config.h"
#include "config/ds_table.h"
#include "ds/json_text.h"
#include "err.h"

/* Two keys with a meaning of their own. */
#define DS_TOTAL_STEPS "scheduler.params.total_num_steps"
#define DS_WARMUP_MAX  "scheduler.params.warmup_max_lr"
#define DS_BATCH_ROWS  3 /* the first rows of ds_table are the three batch sizes */

struct ds_read {
    char            *name; /* of the file */
    struct json_text json;
    struct {
        const json_t *value; /* NULL: not given, the default applies */
        int           line;
    } given[DS_ROWS_MAX]; /* one per row of ds_table */
    json_t *standard[DS_ROWS_MAX]; /* the defaults; fields point into them */
    const struct ds_given *given_by_options;
    struct strlist problems;      /* at most DS_PROBLEMS_MAX: "ds_config.json:7: ..." */
    size_t         found;         /* their number without that bound */
    bool           has_bad_value; /* one of them is a value that has not the kind of its row */
};

struct ds_read *ds_read_new(const char *name);
void            ds_read_free(struct ds_read *read); /* NULL is fine */

/* Sets config's fields from text, what config->given replaces of it, and the defaults, and checks
 * each value on its own. What is wrong with them becomes a problem, and the default applies. -1
 * with err if text is not JSON. */
int ds_read_values(struct ds_config *config, const char *text, size_t size, struct error *err);

const char *ds_read_name(const struct ds_read *read);

/* Was this key given, with a value other than "auto" or null? */
bool ds_read_has(const struct ds_config *config, const char *path);

/* Does the scheduler know each of the scheduler.params that were given? -1 with err if not. */
int ds_read_check_scheduler(const struct ds_config *config, struct error *err);

/* Implements ds_config_note(). */
void ds_read_note(struct ds_config *config, const char *path, const char *text);

/* Adds the problem "FILE:LINE: PATH: text", without the line if the key was not given. Of a value
 * that an option gave, the option is named, too. */
void ds_read_problem(struct ds_read *read, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a problem that is a whole line already. */
void ds_read_add_problem(struct ds_read *read, const char *line);

/* Sets err to "FILE:LINE: PATH: text", as above. Returns -1. */
int ds_read_error(const struct ds_read *read, const char *path, struct error *err,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
