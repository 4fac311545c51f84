/* ds_value.h - checks and stores the values of ds_config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_VALUE_H
#define MUSTER_DS_VALUE_H

#include <stdbool.h>

#include <jansson.h>

#include "config/ds_config.h"
#include "config/ds_table.h"
#include "err.h"

/* Does the value have the kind of its row? If not, returns -1 with "5 is not true or false" in
 * err. null is valid if the default is null. */
int ds_value_check(const struct ds_row *row, const json_t *value, struct error *err);

/* Stores a checked value in the row's field of config. value still owns its texts. */
void ds_value_store(const struct ds_row *row, const json_t *value, struct ds_config *config);

/* Is a checked value equal to the default? */
bool ds_value_is_default(const struct ds_row *row, const json_t *value);

/* Does this value, checked or not, ask for nothing, whatever the kind of the row? */
bool ds_value_is_nothing(const struct ds_row *row, const json_t *value);

/* Does the row want one number? */
bool ds_value_is_numeric(const struct ds_row *row);

/* Returns the number that a string contains, for rows that want one; NULL: there is none. The
 * caller owns it. */
json_t *ds_value_unquote(const struct ds_row *row, const json_t *value);

/* Writes a value as JSON, shortened if it is too long for the text; a real number with as many
 * digits as it needs. */
#define DS_VALUE_TEXT 81
void ds_value_text(const json_t *value, char text[DS_VALUE_TEXT]);

#endif
