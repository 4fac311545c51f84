/* ds_old.h - what DeepSpeed's users write in another way than its table of keys has it
 *
 * For use only in config/.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_OLD_H
#define MUSTER_DS_OLD_H

#include <stdbool.h>

#include <jansson.h>

#include "config/ds_config.h"
#include "config/ds_table.h"

/* Replaces keys of old versions by those that came after them: cpu_offload and its kin. Notes in
 * config what they mean now. */
void ds_old_replace(struct ds_config *config, json_t *root);

/* Replaces a number that is written as a string, "1e-4", where the row wants a number; object
 * has it under key. Returns the value that it has then. */
json_t *ds_old_number(const struct ds_row *row, json_t *object, const char *key, json_t *value);

/* Does this value ask for nothing, although it is not the default? note: what it means, for the
 * user, or NULL. */
bool ds_asks_nothing(const struct ds_row *row, const json_t *value, const char **note);

#endif
