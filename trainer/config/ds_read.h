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

struct ds_read {
    char            *name; /* of the file */
    struct json_text json;
    struct {
        const json_t *value; /* NULL: not given, the default applies */
        int           line;
    } given[DS_ROWS_MAX]; /* one per row of ds_table */
    json_t *standard[DS_ROWS_MAX]; /* the defaults; fields point into them */
};

struct ds_read *ds_read_new(const char *name);
void            ds_read_free(struct ds_read *read); /* NULL is fine */

/* Sets config's fields from text, what replaces it (NULL: nothing), and the defaults, and checks
 * each value on its own. */
int ds_read_values(struct ds_config *config, const char *text, size_t size,
                   const struct ds_given *given, struct error *err);

const char *ds_read_name(const struct ds_read *read);

/* Was this key given, with a value other than "auto" or null? */
bool ds_read_has(const struct ds_config *config, const char *path);

/* Does the scheduler know each of the scheduler.params that were given? -1 with err if not. */
int ds_read_check_scheduler(const struct ds_config *config, struct error *err);

/* Implements ds_config_note(). */
void ds_read_note(struct ds_config *config, const char *path, const char *text);

/* Sets err to "FILE:LINE: PATH: text", without the line if the key was not given. Returns
 * -1. */
int ds_read_error(const struct ds_read *read, const char *path, struct error *err,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
