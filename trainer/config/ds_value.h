/* ds_value.h - a value of ds_config.json: of the kind that its key asks for?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_VALUE_H
#define MUSTER_DS_VALUE_H

#include <stdbool.h>

#include <jansson.h>

#include "config/ds_config.h"
#include "config/ds_table.h"
#include "err.h"

/* -1 with "5 is not true or false" in err. null is a value where the default is. */
int ds_value_check(const struct ds_row *row, const json_t *value, struct error *err);

/* A checked value, into the row's field of config. Texts stay value's. */
void ds_value_store(const struct ds_row *row, const json_t *value, struct ds_config *config);

/* Does a checked value say what the default says? */
bool ds_value_is_default(const struct ds_row *row, const json_t *value);

#endif
