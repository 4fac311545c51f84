/* ds_old.c - see ds_old.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "config/ds_old.h"

#include <stdio.h>
#include <string.h>

#include "config/ds_read.h"

#define ZERO "zero_optimization."

static const struct {
    const char *path, *old, *today; /* the last two without the section */
} forms[] = {
    { ZERO "cpu_offload", "cpu_offload", "offload_optimizer" },
    { ZERO "cpu_offload_param", "cpu_offload_param", "offload_param" },
    { ZERO "cpu_offload_params", "cpu_offload_params", "offload_param" },
};
#define FORMS (sizeof forms / sizeof forms[0])

static void replace_section(struct ds_config *config, json_t *root);
static void replace(struct ds_config *config, json_t *zero, size_t form);

void ds_old_forms(struct ds_config *config, json_t *root)
{
    size_t i;

    replace_section(config, root);
    for (i = 0; i < FORMS; i++)
        replace(config, json_object_get(root, "zero_optimization"), i);
}

static void replace_section(struct ds_config *config, json_t *root)
{
    const json_t *zero = json_object_get(root, "zero_optimization");

    if (!json_is_boolean(zero))
        return;
    if (json_is_true(zero)) {
        ds_read_note(config, "zero_optimization", "means {\"stage\": 1}");
        json_object_set_new(root, "zero_optimization", json_pack("{s:i}", "stage", 1));
    } else {
        json_object_del(root, "zero_optimization");
    }
}

/* The table says what an old key should be if it is not a boolean. */
static void replace(struct ds_config *config, json_t *zero, size_t form)
{
    const char   *old = forms[form].old, *today = forms[form].today;
    const json_t *value = json_object_get(zero, old);
    char          text[96];

    if (!json_is_boolean(value))
        return;
    if (json_is_true(value) && json_is_object(json_object_get(zero, today))) {
        ds_read_problem(config->read, forms[form].path,
                        "%s is given as well: remove the older %s", today, old);
    } else if (json_is_true(value)) {
        snprintf(text, sizeof text, "means \"%s\": {\"device\": \"cpu\"}", today);
        ds_read_note(config, forms[form].path, text);
        json_object_set_new(zero, today, json_pack("{s:s}", "device", "cpu"));
    }
    json_object_del(zero, old);
}

const char *ds_old_path(const struct json_text *json, const char *path)
{
    const size_t section = strlen(ZERO);
    size_t       i;

    for (i = 0; i < FORMS && strncmp(path, ZERO, section) == 0; i++)
        if (strncmp(path + section, forms[i].today, strlen(forms[i].today)) == 0 &&
            json_text_line(json, path) == 0 && json_text_line(json, forms[i].path) > 0)
            return forms[i].path;
    return path;
}
