/* usage.c - see usage.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/usage.h"

#include <string.h>

#include "err.h"
#include "job/quantity.h"

static bool add_container(struct usage *usage, const json_t *container);

bool usage_of_pod(struct usage *usage, const json_t *list, const char *pod)
{
    const json_t *items = json_object_get(list, "items"), *containers, *one;
    const char   *name;
    bool          has_any = false;
    size_t        i, k;

    *usage = (struct usage){ 0 };
    for (i = 0; i < json_array_size(items); i++) {
        one = json_array_get(items, i);
        name = json_string_value(json_object_get(json_object_get(one, "metadata"), "name"));
        if (name == NULL || strcmp(name, pod) != 0)
            continue;
        containers = json_object_get(one, "containers");
        for (k = 0; k < json_array_size(containers); k++)
            has_any |= add_container(usage, json_array_get(containers, k));
    }
    return has_any;
}

static bool add_container(struct usage *usage, const json_t *container)
{
    const json_t *used = json_object_get(container, "usage");
    const char   *cpu = json_string_value(json_object_get(used, "cpu"));
    const char   *memory = json_string_value(json_object_get(used, "memory"));
    struct error  err;
    double        cores, bytes;

    if (cpu == NULL || memory == NULL || quantity_parse(cpu, &cores, &err) < 0 ||
        quantity_parse(memory, &bytes, &err) < 0)
        return false;
    usage->cores += cores;
    usage->bytes += bytes;
    return true;
}
