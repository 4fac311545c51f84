/* slow_sample.c - see slow_sample.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/slow_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define POINTS_MAX  (SLOW_DEVICES_MAX * 5 + 2)
#define EVERY_S     10.0
#define MINUTE_S    60.0
#define EVERY_LEAST 0.01
#define EVERY_MOST  600.0
#define NUMBER_MAX  INT64_C(1000000000) /* of what a GPU or a port says */
#define PORT_ACTIVE 4
#define UNKNOWN     (-1)

static void    add_gpu(struct slow_sample *sample, const json_t *gpu);
static void    add_port(struct slow_sample *sample, const json_t *port);
static struct slow_point *add(struct slow_sample *sample, enum slow_kind kind,
                              const char *device, double value, double scale);
static void    add_detail(struct slow_point *point, const json_t *gpu);
static void    append(char *detail, const char *text);
static double  lane_speed(int64_t generation);
static int64_t number_in(const json_t *body, const char *key);

/* Why a GPU is slower than it could be, as NVML's bits. The others are no fault: it is idle, the
 * user has set a clock, or it has reached its power limit, as all do. */
static const struct {
    int64_t     bit;
    const char *name;
} brakes[] = { { 0x40, "hardware thermal slowdown" },
               { 0x80, "power brake" },
               { 0x20, "thermal slowdown" },
               { 0x08, "hardware slowdown" } };

#define COUNT(array) (sizeof(array) / sizeof *(array))

void slow_sample_clear(struct slow_sample *sample)
{
    free(sample->point);
    *sample = (struct slow_sample){ 0 };
}

void slow_sample_read(struct slow_sample *sample, const json_t *body, double now_s)
{
    const json_t *item, *every = json_object_get(body, "every_s");
    double        every_s = json_number_value(every);
    size_t        i;

    slow_sample_begin(sample, every_s >= EVERY_LEAST && every_s <= EVERY_MOST ? every_s : EVERY_S,
                      now_s);
    json_array_foreach(json_object_get(body, "gpus"), i, item) {
        if (i < SLOW_DEVICES_MAX)
            add_gpu(sample, item);
    }
    json_array_foreach(json_object_get(body, "ports"), i, item) {
        if (i < SLOW_DEVICES_MAX)
            add_port(sample, item);
    }
    if (number_in(body, "throttled") >= 0)
        add(sample, SLOW_HEAT, "", number_in(body, "throttled") == 0, 1);
}

void slow_sample_begin(struct slow_sample *sample, double every_s, double now_s)
{
    sample->points = 0;
    sample->at_s = now_s;
    sample->every_s = every_s;
}

void slow_sample_add_pace(struct slow_sample *sample, double pace)
{
    add(sample, SLOW_PACE, "", pace, MINUTE_S);
}

/* A step that is lower than before belongs to another count. */
double slow_pace_note(struct slow_pace *pace, int64_t step, double at_s, double window_s)
{
    const struct slow_mark now = { step, at_s };

    if (pace->marks == 0 || step < pace->young.step || at_s < pace->young.at_s) {
        pace->old = pace->young = now;
        pace->marks = 1;
    } else if (at_s - pace->young.at_s >= window_s) {
        pace->old = pace->young;
        pace->young = now;
        pace->marks = 2;
    }
    if (pace->marks < 2 || at_s - pace->old.at_s < window_s)
        return -1;
    return (double)(step - pace->old.step) / (at_s - pace->old.at_s);
}

static void add_gpu(struct slow_sample *sample, const json_t *gpu)
{
    const int64_t mhz = number_in(gpu, "mhz"), most = number_in(gpu, "mhz_most");
    const int64_t reasons = number_in(gpu, "reasons"), lanes = number_in(gpu, "pcie_lanes");
    const bool    is_busy = number_in(gpu, "busy") >= SLOW_BUSY;
    const double  speed = lane_speed(number_in(gpu, "pcie_speed"));
    char          name[SLOW_NAME_SIZE];
    size_t        i;
    bool          is_slowed = false;

    if (number_in(gpu, "gpu") < 0)
        return;
    snprintf(name, sizeof name, "%" PRId64, number_in(gpu, "gpu"));
    for (i = 0; i < COUNT(brakes) && reasons >= 0; i++)
        is_slowed = is_slowed || (reasons & brakes[i].bit) != 0;
    if (is_busy && mhz >= 0 && most > 0)
        add_detail(add(sample, SLOW_CLOCK, name, (double)mhz / (double)most, (double)most), gpu);
    if (reasons >= 0)
        add_detail(add(sample, SLOW_BRAKE, name, !is_slowed, 1), gpu);
    if (is_busy && lanes > 0 && speed > 0)
        add_detail(add(sample, SLOW_PCIE, name, (double)lanes * speed, 1), gpu);
}

static void add_port(struct slow_sample *sample, const json_t *port)
{
    const char   *name = json_string_value(json_object_get(port, "port"));
    const int64_t state = number_in(port, "state"), gbits = number_in(port, "gbits");

    if (name == NULL || name[0] == '\0' || state < 0)
        return;
    add(sample, SLOW_PORT_STATE, name, state == PORT_ACTIVE, 1);
    if (state == PORT_ACTIVE && gbits > 0)
        add(sample, SLOW_PORT_RATE, name, (double)gbits, 1);
}

static struct slow_point *add(struct slow_sample *sample, enum slow_kind kind,
                              const char *device, double value, double scale)
{
    struct slow_point *point;

    if (sample->point == NULL)
        sample->point = xcalloc(POINTS_MAX, sizeof *sample->point);
    point = &sample->point[sample->points++];
    *point = (struct slow_point){ .kind = kind, .value = value, .scale = scale };
    snprintf(point->device, sizeof point->device, "%s", device);
    return point;
}

static void add_detail(struct slow_point *point, const json_t *gpu)
{
    const int64_t reasons = number_in(gpu, "reasons"), watts = number_in(gpu, "mw") / 1000;
    const int64_t most = number_in(gpu, "mw_most") / 1000, heat = number_in(gpu, "celsius");
    char          text[48];
    size_t        i;

    for (i = 0; i < COUNT(brakes) && reasons >= 0; i++)
        if ((reasons & brakes[i].bit) != 0)
            append(point->detail, brakes[i].name);
    snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " W", watts, most);
    if (watts > 0 && most > 0)
        append(point->detail, text);
    snprintf(text, sizeof text, "%" PRId64 " C", heat);
    if (heat > 0)
        append(point->detail, text);
}

static void append(char *detail, const char *text)
{
    size_t used = strlen(detail);

    snprintf(detail + used, SLOW_DETAIL_SIZE - used, "%s%s", used > 0 ? ", " : "", text);
}

/* Returns GT/s of a lane of PCIe; 0: muster does not know that generation. */
static double lane_speed(int64_t generation)
{
    static const double speed[] = { 0, 2.5, 5, 8, 16, 32, 64 };

    return generation > 0 && generation < (int64_t)COUNT(speed) ? speed[generation] : 0;
}

static int64_t number_in(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);

    return json_is_integer(value) && json_integer_value(value) >= 0 &&
                   json_integer_value(value) <= NUMBER_MAX
               ? (int64_t)json_integer_value(value)
               : UNKNOWN;
}
