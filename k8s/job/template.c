/* template.c - see template.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/template.h"

#include <string.h>

#include "job/job.h"
#include "job/quantity.h"

#define WHERE "worker.template.spec"

static int check_metadata(const json_t *template, struct error *err);
static int check_types(const json_t *spec, struct error *err);
static int check_amounts(const json_t *container, struct error *err);
static int check_mounts(const json_t *template, const json_t *spec, struct error *err);
static bool ends_with(const char *text, const char *end);

void template_drop_nulls(json_t *template)
{
    const char *name;
    json_t     *value;
    void       *next;
    size_t      i;

    json_object_foreach_safe(template, next, name, value) {
        if (json_is_null(value))
            json_object_del(template, name);
        else
            template_drop_nulls(value);
    }
    json_array_foreach(template, i, value)
        template_drop_nulls(value);
}

int template_check(const json_t *template, struct error *err)
{
    const json_t *spec = json_object_get(template, "spec");
    const json_t *container;

    if (!json_is_object(spec))
        return err_set(err, "worker.template: must be an object with spec");
    if (check_metadata(template, err) < 0 || check_types(spec, err) < 0)
        return -1;
    container = template_container(template);
    if (container == NULL)
        return err_set(err, WHERE ".containers: must be a list with at least one container");
    if (json_string_length(json_object_get(container, "image")) == 0)
        return err_set(err, "image: is missing; write --image NAME, or " WHERE
                       ".containers[].image");
    if (json_object_get(container, "command") != NULL || json_object_get(container, "args") != NULL)
        return err_set(err, WHERE ".containers[].command, args: the worker runs sshd; the "
                                  "training command belongs in config.run");
    return check_amounts(container, err) < 0 ? -1 : check_mounts(template, spec, err);
}

json_t *template_container(const json_t *template)
{
    const json_t *list = json_object_get(json_object_get(template, "spec"), "containers");
    const char   *name;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        if (name != NULL && strcmp(name, "worker") == 0)
            return json_array_get(list, i);
    }
    return json_array_get(list, 0);
}

/* nvidia.com/gpu, amd.com/gpu ... */
int64_t template_gpus(const json_t *template)
{
    json_t     *resources = json_object_get(template_container(template), "resources"), *value;
    json_t     *limits = json_object_get(resources, "limits");
    const char *name;
    double      gpus = 0, number;
    struct error none;

    json_object_foreach(limits, name, value) {
        if (!ends_with(name, "/gpu"))
            continue;
        number = (double)json_integer_value(value);
        if (json_is_string(value) && quantity_parse(json_string_value(value), &number, &none) < 0)
            number = 0;
        gpus += number;
    }
    return gpus > JOB_SLOTS_MAX ? JOB_SLOTS_MAX + 1 : gpus > 0 ? (int64_t)gpus : 0;
}

bool template_mounts(const json_t *template, const char *path)
{
    const json_t *list = json_object_get(template_container(template), "volumeMounts");
    const char   *mounted;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        mounted = json_string_value(json_object_get(json_array_get(list, i), "mountPath"));
        if (mounted != NULL && strcmp(mounted, path) == 0)
            return true;
    }
    return false;
}

bool template_shares(const json_t *template, const char *path)
{
    const json_t *volumes = json_object_get(json_object_get(template, "spec"), "volumes"), *volume;
    const json_t *mounts = json_object_get(template_container(template), "volumeMounts"), *mount;
    const char   *mounted;
    size_t        i, k, length;

    for (i = 0; i < json_array_size(mounts); i++) {
        mount = json_array_get(mounts, i);
        mounted = json_string_value(json_object_get(mount, "mountPath"));
        length = mounted != NULL ? strlen(mounted) : 0;
        while (length > 1 && mounted[length - 1] == '/')
            length--;
        if (length == 0 || strncmp(mounted, path, length) != 0 ||
            (length > 1 && path[length] != '/' && path[length] != '\0'))
            continue;
        for (k = 0; k < json_array_size(volumes); k++) {
            volume = json_array_get(volumes, k);
            if (json_equal(json_object_get(mount, "name"), json_object_get(volume, "name")) &&
                json_object_get(volume, "emptyDir") == NULL)
                return true;
        }
    }
    return false;
}

static int check_metadata(const json_t *template, struct error *err)
{
    static const char *const inner[] = { "labels", "annotations" };
    const json_t            *metadata = json_object_get(template, "metadata"), *value;
    size_t                   i;

    if (metadata != NULL && !json_is_object(metadata))
        return err_set(err, "worker.template.metadata: must be an object");
    for (i = 0; i < 2; i++) {
        value = json_object_get(metadata, inner[i]);
        if (value != NULL && !json_is_object(value))
            return err_set(err, "worker.template.metadata.%s: must be an object", inner[i]);
    }
    return 0;
}

/* Checks the types of the fields that muster extends. The cluster cannot: it sees the fields
 * only after muster has extended them. */
static int check_types(const json_t *spec, struct error *err)
{
    static const char *const lists[] = { "containers", "volumes" };
    static const char *const inner[] = { "env", "ports", "volumeMounts" };
    const json_t            *containers = json_object_get(spec, "containers"), *value;
    size_t                   i, k;

    for (i = 0; i < 2; i++) {
        value = json_object_get(spec, lists[i]);
        if (value != NULL && !json_is_array(value))
            return err_set(err, WHERE ".%s: must be a list", lists[i]);
        for (k = 0; k < json_array_size(value); k++)
            if (!json_is_object(json_array_get(value, k)))
                return err_set(err, WHERE ".%s[%zu]: must be an object", lists[i], k);
    }
    for (i = 0; i < json_array_size(containers); i++)
        for (k = 0; k < 3; k++) {
            value = json_object_get(json_array_get(containers, i), inner[k]);
            if (value != NULL && !json_is_array(value))
                return err_set(err, WHERE ".containers[%zu].%s: must be a list", i, inner[k]);
        }
    return 0;
}

/* Limits must not be less than requests; for GPUs both must be equal. */
static int check_amounts(const json_t *container, struct error *err)
{
    json_t      *resources = json_object_get(container, "resources");
    json_t      *limits = json_object_get(resources, "limits"), *value, *limit;
    const char  *part, *name, *text;
    struct error why;
    double       amount, most;
    char         number[32];
    json_t      *kind;

    json_object_foreach(resources, part, kind)
        json_object_foreach(kind, name, value) {
            text = json_string_value(value);
            if (json_is_integer(value)) {
                snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
                text = number;
            }
            if (text == NULL || quantity_parse(text, &amount, &why) < 0)
                return err_set(err, "resources.%s.%s: %s", part, name,
                               text != NULL ? why.text : "must be a quantity, such as \"2\"");
            limit = json_object_get(limits, name);
            if (!json_is_string(limit) || quantity_parse(json_string_value(limit), &most, &why) < 0)
                continue;
            if (amount > most || (ends_with(name, "/gpu") && amount != most))
                return err_set(err, "resources.requests.%s: %s is not the limit %s; write %s", name,
                               text, json_string_value(limit), json_string_value(limit));
        }
    return 0;
}

static int check_mounts(const json_t *template, const json_t *spec, struct error *err)
{
    static const char *const ours[] = { "/etc/muster", "/run/muster", "/root/.ssh", "/t9k/hostfile",
                                        "/root/.deepspeed_env" };
    const json_t            *volumes = json_object_get(spec, "volumes");
    const char              *name;
    size_t                   i;

    for (i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (template_mounts(template, ours[i]))
            return err_set(err, "volumeMounts: %s is muster's own; mount the volume elsewhere",
                           ours[i]);
    for (i = 0; i < json_array_size(volumes); i++) {
        name = json_string_value(json_object_get(json_array_get(volumes, i), "name"));
        if (name == NULL || strncmp(name, "muster-", 7) == 0)
            return err_set(
                err, WHERE ".volumes[%zu].name: must exist, and must not begin with muster-",
                i);
    }
    return 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}
