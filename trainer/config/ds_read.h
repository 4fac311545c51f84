/* ds_read.h - what was read of a ds_config.json, key by key
 *
 * Within config/ only: ds_config.c asks what was given, ds_print.c where.
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
        const json_t *value; /* NULL: not given; the default holds */
        int           line;
    } given[DS_ROWS_MAX]; /* by row */
    json_t *standard[DS_ROWS_MAX]; /* the defaults; fields point into them */
};

struct ds_read *ds_read_new(const char *name);
void            ds_read_free(struct ds_read *read); /* NULL is fine */

/* Fill config's fields from text and the defaults, each value checked by itself. */
int ds_read_values(struct ds_config *config, const char *text, size_t size,
                   struct error *err);

const char *ds_read_name(const struct ds_read *read);

/* Was this key given, other than as "auto" or null? */
bool ds_read_has(const struct ds_config *config, const char *path);

/* Has each of scheduler.params been given for a scheduler that knows it? */
int ds_read_check_scheduler(const struct ds_config *config, struct error *err);

/* What ds_config_note does. */
void ds_read_note(struct ds_config *config, const char *path, const char *text);

/* "FILE:LINE: PATH: text", where the key was given, or without a line. */
int ds_read_error(const struct ds_read *read, const char *path, struct error *err,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
