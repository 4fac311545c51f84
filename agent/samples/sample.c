/* sample.c - see sample.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "samples/sample.h"

#include <stdio.h>
#include <string.h>

#include "frame.h"

static json_t *json_of(const int64_t *value, size_t count);
static bool    read_values(const json_t *json, int64_t *value, size_t count);
static json_t *report_gpu(const int64_t *value, int number);
static json_t *report_port(const struct sample_port *port);
static void    put(json_t *body, const char *key, int64_t value);

json_t *sample_json(const struct sample *sample)
{
    json_t *gpus = json_array(), *ports = json_object();
    size_t  i;

    for (i = 0; i < sample->gpus; i++)
        json_array_append_new(gpus, json_of(sample->gpu[i], GPU_VALUES));
    for (i = 0; i < sample->ports; i++)
        json_object_set_new(ports, sample->port[i].name,
                            json_of(sample->port[i].value, PORT_VALUES));
    return json_pack("{s:o, s:o, s:I}", "gpus", gpus, "ports", ports, "throttles",
                     (json_int_t)sample->throttles);
}

static json_t *json_of(const int64_t *value, size_t count)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < count; i++)
        json_array_append_new(list, json_integer(value[i]));
    return list;
}

bool sample_read(struct sample *sample, const json_t *json)
{
    const json_t *gpus = json_object_get(json, "gpus"), *ports = json_object_get(json, "ports");
    const json_t *values;
    const char   *name;
    size_t        i;

    *sample = (struct sample){ .throttles = SAMPLE_UNKNOWN };
    if (!json_is_array(gpus) || !json_is_object(ports) ||
        json_array_size(gpus) > SAMPLE_GPUS_MAX || json_object_size(ports) > SAMPLE_PORTS_MAX ||
        !json_is_integer(json_object_get(json, "throttles")))
        return false;
    sample->throttles = json_integer_value(json_object_get(json, "throttles"));
    json_array_foreach(gpus, i, values) {
        if (!read_values(values, sample->gpu[sample->gpus++], GPU_VALUES))
            return false;
    }
    json_object_foreach((json_t *)ports, name, values) {
        struct sample_port *port = &sample->port[sample->ports++];

        snprintf(port->name, sizeof port->name, "%s", name);
        if (!read_values(values, port->value, PORT_VALUES))
            return false;
    }
    return true;
}

static bool read_values(const json_t *json, int64_t *value, size_t count)
{
    size_t i;

    if (json_array_size(json) != count)
        return false;
    for (i = 0; i < count; i++) {
        if (!json_is_integer(json_array_get(json, i)))
            return false;
        value[i] = json_integer_value(json_array_get(json, i));
    }
    return true;
}

const struct sample_port *sample_port_find(const struct sample *sample, const char *name)
{
    size_t i;

    for (i = 0; i < sample->ports; i++)
        if (strcmp(sample->port[i].name, name) == 0)
            return &sample->port[i];
    return NULL;
}

/* --- SAMPLES ------------------------------------------------------------------ */

json_t *sample_report(const struct sample *before, const struct sample *now, const bool *wanted,
                      double every_s)
{
    json_t *body = json_object(), *gpus = json_array(), *ports = json_array();
    size_t  i;

    json_object_set_new(body, "every_s", json_real(every_s));
    for (i = 0; i < now->gpus; i++)
        if (wanted[i] && now->gpu[i][GPU_ERROR] == 0)
            json_array_append_new(gpus, report_gpu(now->gpu[i], (int)i));
    for (i = 0; i < now->ports; i++)
        json_array_append_new(ports, report_port(&now->port[i]));
    json_object_set_new(body, "gpus", gpus);
    json_object_set_new(body, "ports", ports);
    if (before->throttles >= 0 && now->throttles >= before->throttles)
        put(body, "throttled", now->throttles - before->throttles);
    return body;
}

static json_t *report_gpu(const int64_t *value, int number)
{
    static const struct {
        enum gpu_value value;
        const char    *key;
    } keys[] = {
        { GPU_MHZ, "mhz" },
        { GPU_MHZ_MOST, "mhz_most" },
        { GPU_BUSY, "busy" },
        { GPU_REASONS, "reasons" },
        { GPU_MILLIWATTS, "mw" },
        { GPU_MILLIWATTS_MOST, "mw_most" },
        { GPU_CELSIUS, "celsius" },
        { GPU_PCIE_SPEED, "pcie_speed" },
        { GPU_PCIE_LANES, "pcie_lanes" },
    };
    json_t *body = json_pack("{s:i}", "gpu", number);
    size_t  i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        put(body, keys[i].key, value[keys[i].value]);
    return body;
}

static json_t *report_port(const struct sample_port *port)
{
    json_t *body = json_object();

    json_object_set_new(body, "port", json_text(port->name, strlen(port->name)));
    put(body, "state", port->value[PORT_STATE]);
    put(body, "gbits", port->value[PORT_GBITS]);
    return body;
}

static void put(json_t *body, const char *key, int64_t value)
{
    if (value >= 0)
        json_object_set_new(body, key, json_integer(value));
}
