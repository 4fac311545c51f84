/* zero_memory.c - see zero.h; the memory of a rank
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/zero.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"
#include "zero/zero_state.h"

static void   take_states(struct zero *zero, struct error *err);
static float *take_state(struct zero *zero, struct error *err);
static void  *take_memory(struct zero *zero, size_t count, size_t element, size_t *account,
                          struct error *err);
static void  *take_host(struct zero *zero, struct zero_device *device, size_t bytes,
                        size_t *account, struct error *err);
static void   take_ways(struct zero *zero, struct error *err);
static void   take_ring(struct zero *zero, struct swap_ring *ring, size_t *sizes, bool is_params,
                        struct error *err);
static size_t *record_sizes(const struct partition *p, size_t bytes);
static size_t  largest_piece(const struct partition *p);
static size_t  rooms_bytes(const struct partition *p, size_t element);
static size_t  ways_of(const struct zero_plan *plan);
static size_t  way_element(const struct zero_plan *plan, size_t ring);

/* ---- the plan ---- */

struct zero_plan zero_plan(const struct zero_options *options, int ranks)
{
    struct zero_plan    plan = { .options = *options, .on_gpu = options->device != NULL };
    struct zero_options *o = &plan.options;
    const bool          is_float = o->type == DTYPE_FLOAT;
    bool                is_together;

    if (o->is_frozen) {
        o->stage = o->stage == 3 ? 3 : 0;
        o->states = (struct zero_offload){ .place = ZERO_THERE };
    }
    if (!plan.on_gpu && o->states.place == ZERO_HOST)
        o->states.place = ZERO_THERE;
    if (o->stage < 3)
        o->params.place = ZERO_THERE;
    plan.grads_away = plan.on_gpu && o->states.place != ZERO_THERE && o->stage >= 2;
    if (ranks == 1 && o->params.place == ZERO_THERE)
        o->stage = plan.grads_away ? 2 : 0;
    plan.params_come = o->stage == 3;
    plan.grads_go = o->stage >= 2 && !o->is_frozen && (ranks > 1 || plan.grads_away);
    plan.sum_type = o->sums_in_float && !o->is_frozen ? DTYPE_FLOAT : o->type;
    plan.grads_in_rooms = plan.grads_go || plan.sum_type != o->type;
    is_together = o->params.place != ZERO_FILE &&
                  (o->params.place == o->states.place ||
                   (!plan.on_gpu && o->states.place == ZERO_THERE));
    plan.has_params = o->stage < 3 || !is_float || !is_together || o->is_frozen;
    plan.has_masters = !is_float || o->stage == 3 || o->states.place != ZERO_THERE;
    return plan;
}

void zero_partition(struct partition *partition, const struct zero_plan *plan,
                    const size_t *layer_counts, int layers, int ranks)
{
    const struct zero_options *o = &plan->options;

    partition_init(partition, layer_counts, layers, o->stage == 0 ? 1 : ranks,
                   o->stage == 3 ? 0 : o->bucket_max);
}

/* ---- memory ---- */

int zero_allocate(struct zero *zero, struct error *err)
{
    const struct partition *p = &zero->partition;
    const struct zero_plan *plan = &zero->plan;
    struct zero_memory     *memory = &zero->memory;
    const size_t            count = plan->params_come ? p->share : p->padded;

    memory->params_place = plan->options.params.place;
    memory->states_place = plan->options.states.place;
    if (plan->options.params.place == ZERO_FILE)
        take_ring(zero, &zero->params_ring, record_sizes(p, zero->element), true, err);
    else if (plan->has_params && plan->options.params.place == ZERO_HOST)
        zero->params = take_host(zero, zero->device, count * zero->element, &memory->params, err);
    else if (plan->has_params)
        zero->params = take_memory(zero, count, zero->element, &memory->params, err);
    if (!plan->options.is_frozen)
        take_states(zero, err);
    if (plan->on_gpu && plan->options.states.place != ZERO_THERE)
        take_ways(zero, err);
    memory->grads_place = plan->grads_away ? ZERO_HOST : ZERO_THERE;
    if (plan->options.is_frozen)
        zero->grads = NULL;
    else if (plan->grads_away)
        zero->grads = take_host(zero, zero->device, p->share * zero->sum_element, &memory->grads,
                                err);
    else
        zero->grads = take_memory(zero, plan->grads_go ? p->share : p->padded,
                                  zero->sum_element, &memory->grads, err);
    if (zero->has_no_memory)
        return -1;
    if (plan->params_come &&
        bucket_rooms_init(&zero->gathered, zero->comm, p, zero->element, err) < 0)
        return -1;
    if (plan->grads_in_rooms &&
        bucket_rooms_init(&zero->reduced, zero->comm, p, zero->element, err) < 0)
        return -1;
    return 0;
}

static void take_states(struct zero *zero, struct error *err)
{
    if (zero->plan.options.states.place == ZERO_FILE) {
        take_ring(zero, &zero->states_ring, record_sizes(&zero->partition, 3 * sizeof(float)),
                  false, err);
        return;
    }
    if (zero->plan.has_masters)
        zero->masters = take_state(zero, err);
    zero->means = take_state(zero, err);
    zero->squares = take_state(zero, err);
}

static struct zero_device *states_device(const struct zero *zero)
{
    return zero->plan.options.states.is_paged ? &zero_device_cpu : zero->device;
}

static float *take_state(struct zero *zero, struct error *err)
{
    const size_t count = zero->partition.share;

    if (zero->plan.options.states.place == ZERO_THERE)
        return take_memory(zero, count, sizeof(float), &zero->memory.states, err);
    return take_host(zero, states_device(zero), count * sizeof(float), &zero->memory.states, err);
}

/* Allocates zeroed memory. err keeps only the first failure. */
static void *take_memory(struct zero *zero, size_t count, size_t element, size_t *account,
                         struct error *err)
{
    void *memory = NULL;

    if (!zero->has_no_memory)
        memory = zero->comm->ops->alloc(zero->comm, count * element, err);
    if (memory == NULL) {
        zero->has_no_memory = true;
        return NULL;
    }
    zero->device->zero(zero->device, memory, count * element);
    *account += count * element;
    return memory;
}

static void *take_host(struct zero *zero, struct zero_device *device, size_t bytes,
                       size_t *account, struct error *err)
{
    void *memory = zero->has_no_memory ? NULL : device->pinned(device, bytes, err);

    if (memory == NULL) {
        zero->has_no_memory = true;
        return NULL;
    }
    memset(memory, 0, bytes);
    *account += bytes;
    return memory;
}

static void take_ways(struct zero *zero, struct error *err)
{
    const size_t piece = largest_piece(&zero->partition);
    size_t       i;

    for (i = 0; i < ways_of(&zero->plan); i++)
        zero->ring[i] = take_host(zero, zero->device, piece * way_element(&zero->plan, i),
                                  &zero->memory.rings, err);
}

/* Frees sizes. */
static void take_ring(struct zero *zero, struct swap_ring *ring, size_t *sizes, bool is_params,
                      struct error *err)
{
    const struct zero_options *o = &zero->plan.options;
    const struct zero_offload *offload = is_params ? &o->params : &o->states;
    const struct swap_options  options = { .dir = offload->dir, .block = o->io_block,
                                           .depth = o->io_depth,
                                           .timeout_s = zero->comm->timeout_s,
                                           .what = is_params ? "offload_param"
                                                             : "offload_optimizer" };
    struct zero_device        *device = is_params ? zero->device : states_device(zero);
    size_t                    *account = is_params ? &zero->memory.params : &zero->memory.states;
    const int                  records = zero->partition.buckets;

    if (!zero->has_no_memory) {
        zero->has_no_memory =
            swap_ring_init(ring, &options, sizes, records, offload->buffers, device, err) < 0;
        zero->memory.rings += ring->bytes;
        *account += swap_ring_file_bytes(sizes, records);
    }
    free(sizes);
}

void zero_release(struct zero *zero)
{
    const struct zero_options *o = &zero->plan.options;
    struct zero_device        *device = states_device(zero);
    void                     (*release)(void *memory) = zero->comm->ops->release;
    size_t                     i;

    bucket_rooms_clear(&zero->gathered);
    bucket_rooms_clear(&zero->reduced);
    swap_ring_clear(&zero->params_ring);
    swap_ring_clear(&zero->states_ring);
    if (o->params.place == ZERO_HOST)
        zero->device->unpin(zero->device, zero->params);
    else
        release(zero->params);
    if (zero->plan.grads_away)
        zero->device->unpin(zero->device, zero->grads);
    else
        release(zero->grads);
    if (o->states.place == ZERO_HOST) {
        device->unpin(device, zero->masters);
        device->unpin(device, zero->means);
        device->unpin(device, zero->squares);
    } else {
        release(zero->masters);
        release(zero->means);
        release(zero->squares);
    }
    for (i = 0; i < 2 * ZERO_LANES; i++)
        zero->device->unpin(zero->device, zero->ring[i]);
    free(zero->mirror);
}

/* ---- figures ---- */

static size_t *record_sizes(const struct partition *p, size_t bytes)
{
    size_t *sizes = xcalloc((size_t)p->buckets, sizeof *sizes);
    int     i;

    for (i = 0; i < p->buckets; i++)
        sizes[i] = p->bucket[i].piece * bytes;
    return sizes;
}

static size_t largest_piece(const struct partition *p)
{
    size_t largest = 0;
    int    i;

    for (i = 0; i < p->buckets; i++)
        if (p->bucket[i].piece > largest)
            largest = p->bucket[i].piece;
    return largest;
}

/* Returns the number of rings: ZERO_LANES for gradients to the host, and as many for parameters
 * from the host unless the parameters are offloaded, too. */
static size_t ways_of(const struct zero_plan *plan)
{
    return plan->options.params.place == ZERO_THERE ? 2 * ZERO_LANES : ZERO_LANES;
}

/* Returns the bytes of an element in this ring, which holds the largest piece. Sums that are on
 * the host get there in the type of the model. */
static size_t way_element(const struct zero_plan *plan, size_t ring)
{
    return dtype_size(ring < ZERO_LANES && !plan->grads_away ? plan->sum_type
                                                             : plan->options.type);
}

static size_t rooms_bytes(const struct partition *p, size_t element)
{
    size_t bytes = 0;
    int    i, j, same;

    for (i = 0; i < p->buckets; i++) {
        for (j = 0, same = 0; j < i; j++)
            same += p->bucket[j].piece == p->bucket[i].piece;
        if (same < BUCKET_ROOMS)
            bytes += p->bucket[i].piece * (size_t)p->ranks * element;
    }
    return bytes;
}

struct zero_memory zero_memory(const struct zero *zero)
{
    struct zero_memory memory = zero->memory;

    memory.rooms = zero->gathered.bytes + zero->reduced.bytes;
    return memory;
}

/* With P parameters of E bytes and R ranks, parameters take P E or P E / R bytes, gradients
 * the same, or 4 P or 4 P / R if they are summed in float, masters and averages 12 P / R, or
 * 8 P / R if the parameters are the masters. */
struct zero_memory zero_memory_needed(const struct zero_options *options,
                                      const size_t *layer_counts, int layers, int ranks)
{
    const struct zero_plan     plan = zero_plan(options, ranks);
    const struct zero_options *o = &plan.options;
    const size_t               element = dtype_size(o->type);
    struct zero_memory         memory = { .params_place = o->params.place,
                                          .grads_place = plan.grads_away ? ZERO_HOST : ZERO_THERE,
                                          .states_place = o->states.place };
    struct partition           p;
    size_t                     share, i, *sizes;

    zero_partition(&p, &plan, layer_counts, layers, ranks);
    share = p.padded / (size_t)p.ranks;
    if (!o->is_frozen)
        memory.grads = (plan.grads_go ? share : p.padded) * dtype_size(plan.sum_type);
    memory.rooms = (size_t)(plan.params_come + plan.grads_in_rooms) * rooms_bytes(&p, element);
    for (i = 0; plan.on_gpu && o->states.place != ZERO_THERE && i < ways_of(&plan); i++)
        memory.rings += largest_piece(&p) * way_element(&plan, i);
    if (plan.has_params)
        memory.params = (plan.params_come ? share : p.padded) * element;
    if (!o->is_frozen)
        memory.states = share * (plan.has_masters ? 12 : 8);
    if (o->params.place == ZERO_FILE) {
        sizes = record_sizes(&p, element);
        memory.params = swap_ring_file_bytes(sizes, p.buckets);
        memory.rings += swap_ring_bytes(sizes, p.buckets, o->params.buffers);
        free(sizes);
    }
    if (o->states.place == ZERO_FILE) {
        sizes = record_sizes(&p, 3 * sizeof(float));
        memory.states = swap_ring_file_bytes(sizes, p.buckets);
        memory.rings += swap_ring_bytes(sizes, p.buckets, o->states.buffers);
        free(sizes);
    }
    partition_clear(&p);
    return memory;
}

static void print_part(FILE *out, const char *name, size_t bytes, double formula,
                       enum zero_place place, const char *dir)
{
    fprintf(out, "%.2f (%.2f) of %s", (double)bytes / (1 << 20), formula / (1 << 20), name);
    if (place == ZERO_HOST)
        fputs(" on the host", out);
    if (place == ZERO_FILE)
        fprintf(out, " in a file in %s", dir);
    fputs(", ", out);
}

/* The formula includes neither rooms nor the padding of pieces and records. */
void zero_memory_print(const struct zero *zero, FILE *out)
{
    const struct zero_plan    *plan = &zero->plan;
    const struct zero_options *o = &plan->options;
    const struct zero_memory   memory = zero_memory(zero);
    const double               all = (double)zero->partition.count;
    const double               share = all / zero->partition.ranks;
    const double               element = (double)zero->element, sum = (double)zero->sum_element;

    fputs(o->is_frozen ? "and frozen: " : "a rank holds, in MiB (and by ZeRO's formula): ", out);
    print_part(out, "parameters", memory.params,
               !plan->has_params ? 0 : element * (plan->params_come ? share : all),
               memory.params_place, o->params.dir);
    if (!o->is_frozen) {
        print_part(out, "gradients", memory.grads, sum * (plan->grads_go ? share : all),
                   memory.grads_place, NULL);
        print_part(out, "optimizer state", memory.states, share * (plan->has_masters ? 12 : 8),
                   memory.states_place, o->states.dir);
    }
    fprintf(out, "%.2f of buffers", (double)memory.rooms / (1 << 20));
    if (memory.rings > 0)
        fprintf(out, ", %.2f of buffers on the host", (double)memory.rings / (1 << 20));
    fputc('\n', out);
}
