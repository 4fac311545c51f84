/* ds_old.c - see ds_old.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_old.h"

#include <stdlib.h>
#include <string.h>

#include "config/ds_read.h"

static void replace_offload(struct ds_config *config, json_t *zero, const char *old,
                            const char *name);
static void replace_pinning(struct ds_config *config, json_t *zero);
static bool is_number(enum ds_kind kind);

void ds_old_replace(struct ds_config *config, json_t *root)
{
    json_t *zero = json_object_get(root, "zero_optimization");

    replace_offload(config, zero, "cpu_offload", "offload_optimizer");
    replace_offload(config, zero, "cpu_offload_param", "offload_param");
    replace_pinning(config, zero);
}

/* "cpu_offload": true means "offload_optimizer": {"device": "cpu"}. A section wins over it. */
static void replace_offload(struct ds_config *config, json_t *zero, const char *old,
                            const char *name)
{
    const json_t *value = json_object_get(zero, old);
    char          path[64], text[96];

    if (!json_is_boolean(value))
        return;
    snprintf(path, sizeof path, "zero_optimization.%s", old);
    snprintf(text, sizeof text, "means \"%s\": {\"device\": \"cpu\"}", name);
    if (json_is_true(value) && json_object_get(zero, name) == NULL) {
        json_object_set_new(zero, name, json_pack("{s:s}", "device", "cpu"));
        ds_read_note(config, path, text);
    }
    json_object_del(zero, old);
}

static void replace_pinning(struct ds_config *config, json_t *zero)
{
    static const char *const sections[] = { "offload_optimizer", "offload_param" };
    json_t *value = json_object_get(zero, "cpu_offload_use_pin_memory"), *section;
    size_t  i;

    if (!json_is_boolean(value))
        return;
    for (i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        section = json_object_get(zero, sections[i]);
        if (json_is_object(section) && json_object_get(section, "pin_memory") == NULL)
            json_object_set(section, "pin_memory", value);
    }
    ds_read_note(config, "zero_optimization.cpu_offload_use_pin_memory",
                 "means \"pin_memory\" in offload_optimizer and offload_param");
    json_object_del(zero, "cpu_offload_use_pin_memory");
}

json_t *ds_old_number(const struct ds_row *row, json_t *object, const char *key, json_t *value)
{
    const char *text = json_string_value(value);
    char       *end;
    double      number;

    if (text == NULL || !is_number(row->kind) || strcspn(text, "0123456789") > 2)
        return value;
    number = strtod(text, &end);
    if (*end != '\0' || json_object_set_new(object, key, json_real(number)) < 0)
        return value;
    return json_object_get(object, key);
}

static bool is_number(enum ds_kind kind)
{
    switch (kind) {
    case DS_COUNT:
    case DS_NATURAL:
    case DS_INTEGER:
    case DS_REAL:
    case DS_NUMBER:
    case DS_FRACTION: return true;
    default:          return false;
    }
}

bool ds_asks_nothing(const struct ds_row *row, const json_t *value, const char **note)
{
    static const char standard[] = "0 means the default here";
    static const struct {
        const char *path;
        int         value;
        const char *note;
    } rows[] = {
        { "steps_per_print", 0, NULL }, /* never, as if it were missing */
        { "zero_optimization.reduce_bucket_size", 0, standard },
        { "zero_optimization.allgather_bucket_size", 0, standard },
        { "zero_optimization.sub_group_size", 0, standard },
        { "zero_optimization.offload_param.buffer_count", 0, standard },
        { "zero_optimization.offload_param.buffer_size", 0, standard },
        { "zero_optimization.offload_optimizer.buffer_count", 0, standard },
        { "zero_optimization.zero_hpz_partition_size", 0, NULL },
        { "zero_optimization.mics_shard_size", 0, NULL },
        { "zero_optimization.mics_shard_size", 1, NULL },
        { "tensor_parallel.autotp_size", 0, NULL },
        { "tensor_parallel.autotp_size", 1, NULL },
        { "sequence_parallel_size", 0, NULL },
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(row->path, rows[i].path) == 0 && json_is_number(value) &&
            json_number_value(value) == rows[i].value) {
            *note = rows[i].note;
            return true;
        }
    return false;
}
