/* slow_node.c - see slow_node.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/slow_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* What a median is of. */
struct value {
    enum slow_kind kind;
    const char    *device;
    double         value;
};

static void        add_medians(struct slow_world *world, struct value *value, size_t values);
static int         compare(const void *one, const void *other);
static int         compare_group(const struct value *one, const struct value *other);
static const char *group_of(const struct slow_point *point);
static const struct slow_point  *worst_of(const struct slow_node  *node,
                                          const struct slow_world *world, double *median,
                                          size_t *more);
static const struct slow_median *median_of(const struct slow_world *world,
                                           const struct slow_point *point);
static void write_why(struct slow_node *node, const struct slow_point *point, double median,
                      size_t more);

void slow_world_clear(struct slow_world *world)
{
    free(world->median);
    *world = (struct slow_world){ 0 };
}

void slow_node_again(struct slow_node *node)
{
    node->sample.points = 0;
    node->off = node->well = 0;
}

void slow_node_clear(struct slow_node *node)
{
    slow_sample_clear(&node->sample);
    *node = (struct slow_node){ 0 };
}

/* --- the medians ---------------------------------------------------------------- */

void slow_world_look(struct slow_world *world, const struct slow_node *const *node, size_t nodes,
                     double every_s, double now_s)
{
    struct value *value;
    size_t        n, i, values = 0, room = 0;

    if (world->is_known && now_s - world->at_s < every_s / 2)
        return;
    for (n = 0; n < nodes; n++)
        room += node[n]->sample.points;
    value = xcalloc(room + 1, sizeof *value);
    for (n = 0; n < nodes; n++) {
        const struct slow_sample *sample = &node[n]->sample;

        for (i = 0; i < sample->points && now_s - sample->at_s <= SLOW_STALE_S; i++)
            value[values++] = (struct value){ sample->point[i].kind, group_of(&sample->point[i]),
                                              sample->point[i].value };
    }
    qsort(value, values, sizeof *value, compare);
    world->medians = 0;
    world->at_s = now_s;
    world->is_known = true;
    add_medians(world, value, values);
    free(value);
}

/* Each group is a part of the sorted values. Of two values in the middle the higher one counts: if
 * half of all are slow, they are. */
static void add_medians(struct slow_world *world, struct value *value, size_t values)
{
    size_t first, end;

    for (first = 0; first < values; first = end) {
        for (end = first; end < values && compare_group(&value[first], &value[end]) == 0; end++)
            ;
        if (end - first < SLOW_LEAST)
            continue;
        world->median = xreallocarray(world->median, world->medians + 1, sizeof *world->median);
        world->median[world->medians] = (struct slow_median){
            .kind = value[first].kind, .value = value[first + (end - first) / 2].value
        };
        snprintf(world->median[world->medians++].device, SLOW_NAME_SIZE, "%s",
                 value[first].device);
    }
}

static int compare(const void *one, const void *other)
{
    const struct value *a = one, *b = other;
    const int           group = compare_group(a, b);

    return group != 0 ? group : (a->value > b->value) - (a->value < b->value);
}

static int compare_group(const struct value *one, const struct value *other)
{
    return one->kind != other->kind ? (int)one->kind - (int)other->kind
                                    : strcmp(one->device, other->device);
}

/* Ports of different names may be of different kinds; the GPUs of a world do the same work. */
static const char *group_of(const struct slow_point *point)
{
    return point->kind == SLOW_PORT_STATE || point->kind == SLOW_PORT_RATE ? point->device : "";
}

/* --- a node --------------------------------------------------------------------- */

enum slow_change slow_node_judge(struct slow_node *node, const struct slow_world *world,
                                 double now_s)
{
    double                   median = 0;
    size_t                   more = 0;
    const struct slow_point *worst = worst_of(node, world, &median, &more);

    if (world->medians == 0)
        return SLOW_AS_BEFORE; /* too few nodes, so this sample says nothing */
    if (node->off + node->well > 0 && now_s - node->judged_s > SLOW_STALE_S)
        node->off = node->well = 0;
    node->judged_s = now_s;
    if (worst == NULL) {
        node->off = 0;
        node->well += node->well < SLOW_IN_A_ROW;
        if (!node->is_slow || node->well < SLOW_IN_A_ROW)
            return SLOW_AS_BEFORE;
        node->is_slow = false;
        return SLOW_IS_OVER;
    }
    node->well = 0;
    if (node->off == 0)
        node->off_since_s = now_s;
    node->off += node->off < SLOW_IN_A_ROW;
    if (!node->is_slow)
        write_why(node, worst, median, more);
    if (node->is_slow || node->off < SLOW_IN_A_ROW)
        return SLOW_AS_BEFORE;
    node->is_slow = true;
    return SLOW_BEGINS;
}

/* Returns the point that is off, of the first kind, and the lowest part of its median; NULL: none
 * is. *more: the number of others of that kind. */
static const struct slow_point *worst_of(const struct slow_node  *node,
                                         const struct slow_world *world, double *median,
                                         size_t *more)
{
    const struct slow_point  *worst = NULL, *point;
    const struct slow_median *of;
    size_t                    i;

    for (i = 0; i < node->sample.points; i++) {
        point = &node->sample.point[i];
        of = median_of(world, point);
        if (of == NULL || point->value >= SLOW_SHARE * of->value)
            continue;
        if (worst != NULL && point->kind == worst->kind)
            ++*more;
        if (worst == NULL || point->kind < worst->kind ||
            (point->kind == worst->kind && point->value * *median < worst->value * of->value)) {
            *more = worst != NULL && point->kind == worst->kind ? *more : 0;
            worst = point;
            *median = of->value;
        }
    }
    return worst;
}

static const struct slow_median *median_of(const struct slow_world *world,
                                           const struct slow_point *point)
{
    size_t i;

    for (i = 0; i < world->medians; i++)
        if (world->median[i].kind == point->kind &&
            strcmp(world->median[i].device, group_of(point)) == 0)
            return &world->median[i];
    return NULL;
}

static void write_why(struct slow_node *node, const struct slow_point *point, double median,
                      size_t more)
{
    const double now = point->value * point->scale, usual = median * point->scale;
    const char  *device = point->device, *open = point->detail[0] != '\0' ? " (" : "";
    const char  *detail = point->detail, *close = point->detail[0] != '\0' ? ")" : "";
    char         others[64] = "";

    if (more > 0)
        snprintf(others, sizeof others, "; %zu more of its %s %s", more,
                 point->kind == SLOW_PORT_STATE || point->kind == SLOW_PORT_RATE ? "ports" : "GPUs",
                 more == 1 ? "is off, too" : "are off, too");
    switch (point->kind) {
    case SLOW_PORT_STATE:
        snprintf(node->why, sizeof node->why, "port %s is not active, as it is on other nodes%s",
                 device, others);
        break;
    case SLOW_CLOCK:
        snprintf(node->why, sizeof node->why,
                 "GPU %s runs at %.0f MHz, the median of all at %.0f MHz%s%s%s%s", device, now,
                 usual, open, detail, close, others);
        break;
    case SLOW_BRAKE:
        snprintf(node->why, sizeof node->why, "GPU %s is slowed down, as most are not%s%s%s%s",
                 device, open, detail, close, others);
        break;
    case SLOW_PORT_RATE:
        snprintf(node->why, sizeof node->why, "port %s runs at %.0f Gb/s, the median is %.0f%s",
                 device, now, usual, others);
        break;
    case SLOW_PCIE:
        snprintf(node->why, sizeof node->why,
                 "the PCIe link of GPU %s does %.0f GT/s, the median is %.0f%s", device, now,
                 usual, others);
        break;
    case SLOW_PACE:
        snprintf(node->why, sizeof node->why,
                 "its ranks do %.2f steps in a minute, the median is %.2f", now, usual);
        break;
    default:
        snprintf(node->why, sizeof node->why,
                 "a processor is too hot and runs slower, as on most nodes none does");
        break;
    }
}
