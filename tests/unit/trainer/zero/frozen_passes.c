/* frozen_passes.c - see frozen_passes.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit/trainer/zero/frozen_passes.h"
#include "xalloc.h"

#define LAYERS 7
#define TIED   1 /* the last layer takes this one, too */

static const size_t layers[LAYERS] = { 0, 4160, 64, 8192, 0, 8192, 128 };

struct filled {
    size_t count, calls;
    size_t fail_at; /* fails if this element is asked for */
};

static unsigned char value_of(size_t i)
{
    return (unsigned char)(i * 7 + i / 256 * 31 + 1);
}

static int fill(void *arg, size_t first, size_t count, void *memory, struct error *err)
{
    struct filled *filled = arg;
    size_t         i;

    if (first % 8 != 0 || count % 8 != 0)
        return err_set(err, "%zu elements from %zu on", count, first);
    if (filled->fail_at >= first && filled->fail_at - first < count)
        return err_set(err, "no value for element %zu", filled->fail_at);
    for (i = 0; i < count; i++)
        ((unsigned char *)memory)[i] = value_of(first + i);
    filled->count += count;
    filled->calls++;
    return 0;
}

static const char *compare(struct zero *zero, int layer, const void *memory)
{
    unsigned char *values = xmalloc(layers[layer] + 1);
    size_t         start = 0, i;
    struct error   err;
    int            at;

    for (at = 0; at < layer; at++)
        start += layers[at];
    if (layers[layer] > 0 && zero_read(zero, values, memory, layers[layer], &err) < 0)
        return "zero_read";
    for (i = 0; i < layers[layer] && values[i] == value_of(start + i); i++)
        ;
    free(values);
    return i == layers[layer] ? NULL : "other values";
}

static const char *pass(struct zero *zero, bool is_backward)
{
    const char  *wrong = NULL;
    struct error err;
    void        *memory = NULL, *tied = NULL, *grads = &memory;
    int          i, layer;

    for (i = 0; i < LAYERS && wrong == NULL; i++) {
        layer = is_backward ? LAYERS - 1 - i : i;
        if (zero_enter(zero, layer, is_backward, &memory, &grads, &err) < 0)
            return "zero_enter";
        if (layer == LAYERS - 1) {
            if (zero_enter(zero, TIED, is_backward, &tied, &grads, &err) < 0)
                return "zero_enter of the tied layer";
            wrong = compare(zero, TIED, tied);
            zero_leave(zero, TIED);
        }
        if (wrong == NULL)
            wrong = compare(zero, layer, memory);
        zero_leave(zero, layer);
    }
    return wrong != NULL ? wrong : grads != &memory ? "a gradient" : NULL;
}

static bool is_as_said(struct zero_memory a, struct zero_memory b)
{
    return a.params == b.params && a.rooms == b.rooms && a.rings == b.rings && a.grads == 0 &&
           b.grads == 0 && a.states == 0 && b.states == 0 && a.params_place == b.params_place;
}

const char *frozen_passes(struct comm *comm, struct zero_options options)
{
    struct filled filled = { .fail_at = (size_t)-1 }, failing = { .fail_at = 4160 };
    const char   *wrong = NULL;
    struct error  err;
    struct zero  *zero;
    size_t        all = 0;
    int           i;

    options.is_frozen = true;
    options.type = DTYPE_UINT8;
    zero = zero_open(comm, &options, layers, LAYERS, &err);
    if (zero == NULL)
        return "zero_open";
    if (!is_as_said(zero_memory(zero),
                    zero_memory_needed(&options, layers, LAYERS, comm->size)))
        wrong = "memory";
    /* A room for each size, and two for that of two layers. */
    if (zero_memory(zero).rooms > 4160 + 64 + 2 * 8192 + 128 + 5 * 32 * (size_t)comm->size)
        wrong = "rooms that are not needed";
    if (wrong == NULL && zero_fill(zero, fill, &filled, &err) < 0)
        wrong = "zero_fill";
    for (i = 0; i < LAYERS; i++)
        all += layers[i];
    if (wrong == NULL && options.stage < 3 && filled.count != all)
        wrong = "not all is filled";
    if (wrong == NULL && options.stage == 3 && filled.count > all / (size_t)comm->size + 512)
        wrong = "more than a share is filled";
    for (i = 0; i < 4 && wrong == NULL; i++) {
        zero_begin(zero, i == 0, i == 3);
        wrong = pass(zero, i % 2 == 1);
    }
    if (wrong == NULL && (options.stage < 3 || comm->size == 1) &&
        (zero_fill(zero, fill, &failing, &err) == 0 ||
         strcmp(err.text, "no value for element 4160") != 0))
        wrong = "a failure is not";
    zero_close(zero);
    return wrong;
}
