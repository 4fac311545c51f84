/* ds_old.h - keys of older versions of DeepSpeed
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_OLD_H
#define MUSTER_DS_OLD_H

#include <jansson.h>

#include "config/ds_config.h"
#include "ds/json_text.h"

/* Writes cpu_offload and cpu_offload_param(s) in the parsed file as offload_optimizer and
 * offload_param, as DeepSpeed does, and a zero_optimization that is true as its stage 1; notes it.
 * It is a problem if the file has an old and a new form. */
void ds_old_forms(struct ds_config *config, json_t *root);

/* Returns the key that the text has instead of this one, or path itself. */
const char *ds_old_path(const struct json_text *json, const char *path);

#endif
