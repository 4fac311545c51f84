/* zero_training.c - see zero_training.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "unit/trainer/zero/zero_training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/background.h"
#include "xalloc.h"
#include "zero/swap_file.h"

char training_dir[] = "/tmp/test_zero.XXXXXX";

const size_t training_layers[LAYERS] = { 1000, 37, 1000, 1000, 1, 0, 1000, 64 };

const struct adam training_adam = { .lr = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
                                    .weight_decay = 0.01, .decoupled = true,
                                    .bias_correction = true };

/* What weight decay spares: inside a layer, more than a rank's piece, a layer, across two layers, a
 * layer of one element, and the end. */
static const struct partition_range spared[] = { { 0, 0 }, { 5, 10 }, { 250, 600 }, { 1000, 37 },
                                                 { 2030, 20 }, { 3037, 1 }, { 4000, 102 } };
#define SPARED (sizeof spared / sizeof spared[0])

bool training_spares(size_t element)
{
    size_t i;

    for (i = 0; i < SPARED; i++)
        if (element >= spared[i].start && element - spared[i].start < spared[i].count)
            return true;
    return false;
}

float training_initial(size_t i)
{
    return (float)((i * 7919) % 257) / 128 - 1;
}

/* One sample's gradient of element i. */
static float gradient(const struct training *t, float param, size_t i, int step, int sample)
{
    float target = (float)((i * 31 + (size_t)(step * SAMPLES + sample) * 17) % 5) - 2;

    return t->is_still ? 0 : fmaxf(-3, fminf(3, rintf(4 * param) - target));
}

static float load(enum dtype type, const void *array, size_t i)
{
    switch (type) {
    case DTYPE_HALF:     return half_to_float(((const uint16_t *)array)[i]);
    case DTYPE_BFLOAT16: return bfloat16_to_float(((const uint16_t *)array)[i]);
    default:             return ((const float *)array)[i];
    }
}

static void add(enum dtype type, void *array, size_t i, float value)
{
    value += load(type, array, i);
    switch (type) {
    case DTYPE_HALF:     ((uint16_t *)array)[i] = float_to_half(value); break;
    case DTYPE_BFLOAT16: ((uint16_t *)array)[i] = float_to_bfloat16(value); break;
    default:             ((float *)array)[i] = value; break;
    }
}

static size_t start_of(int layer)
{
    size_t start = 0;

    while (layer-- > 0)
        start += training_layers[layer];
    return start;
}

/* What a layer adds to the gradient of `of`: itself all samples but the last, which the
 * tied layer has for it. */
static void add_gradient(const struct training *t, struct comm *comm, int layer, int of,
                         const void *params, void *grads, int step, int pass)
{
    const int mine = SAMPLES / comm->size / t->passes;
    const int first = (pass * comm->size + comm->rank) * mine;
    size_t    start = start_of(of), i;
    int       sample;

    for (sample = first; sample < first + mine; sample++) {
        if (of == TIED && (layer == TIED) == (sample % 3 == 0))
            continue;
        for (i = 0; i < training_layers[of]; i++)
            add(t->type, grads, i,
                gradient(t, load(t->type, params, i), start + i, step, sample));
    }
    if (t->overflow_step != step || pass > 0)
        return;
    if (layer == 3 && (t->in_sum || comm->rank >= t->overflow_from))
        add(t->type, grads, 123, !t->in_sum ? INFINITY : t->type == DTYPE_HALF ? 6e4f : 3e38f);
    if (layer == 1)
        add(t->type, grads, 12, INFINITY);
}

static void compute(const struct training *t)
{
    const struct timespec pause = { .tv_nsec = t->compute_ns };

    if (t->compute_ns > 0)
        nanosleep(&pause, NULL);
}

static int forward(const struct training *t, struct zero *zero, struct error *err)
{
    void *params, *tied;
    int   layer;

    for (layer = 0; layer < LAYERS; layer++) {
        if (zero_enter(zero, layer, false, &params, NULL, err) < 0)
            return -1;
        if (layer == LAYERS - 1) {
            if (zero_enter(zero, TIED, false, &tied, NULL, err) < 0)
                return -1;
            zero_leave(zero, TIED);
        }
        compute(t);
        zero_leave(zero, layer);
    }
    return 0;
}

static int backward(const struct training *t, struct comm *comm, struct zero *zero, int step,
                    int pass, struct error *err)
{
    void *params, *grads, *tied, *tied_grads;
    int   layer;

    for (layer = LAYERS - 1; layer >= 0; layer--) {
        if (zero_enter(zero, layer, true, &params, &grads, err) < 0)
            return -1;
        if (layer == LAYERS - 1) {
            if (zero_enter(zero, TIED, true, &tied, &tied_grads, err) < 0)
                return -1;
            add_gradient(t, comm, layer, TIED, tied, tied_grads, step, pass);
            zero_leave(zero, TIED);
        }
        add_gradient(t, comm, layer, layer, params, grads, step, pass);
        compute(t);
        zero_leave(zero, layer);
        if (zero_done(zero, layer, err) < 0)
            return -1;
    }
    return 0;
}

static int run_passes(struct training *t, struct comm *comm, struct zero *zero, int step,
                      struct error *err)
{
    int pass;

    for (pass = 0; pass < t->passes; pass++) {
        zero_begin(zero, pass == 0, pass == t->passes - 1);
        if (forward(t, zero, err) < 0 || backward(t, comm, zero, step, pass, err) < 0)
            return -1;
    }
    return 0;
}

static int find_rank(struct training *t, struct comm *comm, struct zero *zero, int step,
                     int64_t bad, struct error *err)
{
    int rank;

    zero_search(zero, bad);
    if (run_passes(t, comm, zero, step, err) < 0 || zero_search_end(zero, &rank, err) < 0)
        return -1;
    if (comm->rank == comm->size - 1)
        t->bad_rank = rank;
    return 0;
}

int training_steps(struct training *t, struct comm *comm, struct zero *zero, struct error *err)
{
    struct zero_result result;
    int                step;

    for (step = 0; step < STEPS; step++) {
        if (run_passes(t, comm, zero, step, err) < 0 ||
            zero_step(zero, &training_adam, 2, &result, err) < 0 ||
            (result.is_skipped && find_rank(t, comm, zero, step, result.bad, err) < 0))
            return -1;
        if (comm->rank == comm->size - 1) {
            t->norm[step] = result.norm;
            t->is_skipped[step] = result.is_skipped;
            t->bad[step] = result.bad;
        }
    }
    return 0;
}

int training_fill(struct zero *zero)
{
    struct zero_piece *pieces;
    struct error       err;
    int                count, i;
    size_t             at;

    pieces = zero_pieces(zero, false, &count, &err);
    for (i = 0; i < count; i++) {
        if (zero_piece_take(&pieces[i], &err) < 0)
            return -1;
        for (at = 0; at < pieces[i].count; at++)
            pieces[i].param[at] = training_initial(pieces[i].start + at);
        zero_piece_give(&pieces[i], true);
    }
    free(pieces);
    return 0;
}

static int take_out(struct training *t, struct zero *zero)
{
    struct zero_piece *pieces;
    struct error       err;
    int                count, i;

    pieces = zero_pieces(zero, true, &count, &err);
    for (i = 0; i < count; i++) {
        if (zero_piece_take(&pieces[i], &err) < 0)
            return -1;
        memcpy(t->param + pieces[i].start, pieces[i].param, pieces[i].count * sizeof(float));
        memcpy(t->mean + pieces[i].start, pieces[i].mean, pieces[i].count * sizeof(float));
        memcpy(t->square + pieces[i].start, pieces[i].square,
               pieces[i].count * sizeof(float));
        zero_piece_give(&pieces[i], false);
    }
    free(pieces);
    return 0;
}

const char *training_rank(struct comm *comm, void *arg)
{
    struct training    *t = arg;
    struct zero_options options = { .stage = t->stage, .type = t->type,
                                    .sums_in_float = t->sums_in_float,
                                    .bucket_max = t->bucket_max, .clip = t->clip,
                                    .params = { t->params, false, training_dir, t->buffers },
                                    .states = { t->states, false, training_dir, t->buffers },
                                    .io_block = SWAP_ALIGN, .io_depth = 3 };
    struct error        err;
    struct zero        *zero;

    if (t->is_sparing) {
        options.spared = spared;
        options.spared_count = SPARED;
    }
    if (t->in_background)
        comm = comm_background(comm, &err);
    zero = zero_open(comm, &options, training_layers, LAYERS, &err);
    if (zero == NULL)
        return "zero_open";
    if (training_fill(zero) < 0)
        return "fill";
    if (zero_publish(zero, &err) < 0)
        return "zero_publish";
    if (training_steps(t, comm, zero, &err) < 0)
        return "train";
    if (take_out(t, zero) < 0)
        return "take_out";
    if (comm->rank == 0) {
        t->memory = zero_memory(zero);
        t->needed = zero_memory_needed(&options, training_layers, LAYERS, comm->size);
    }
    zero_close(zero);
    return comm->ops->close(comm, &err) < 0 ? "close" : NULL;
}

static float rounded(enum dtype type, float value)
{
    if (type == DTYPE_HALF)
        return half_to_float(float_to_half(value));
    return type == DTYPE_FLOAT ? value : bfloat16_to_float(float_to_bfloat16(value));
}

static void step_plainly(struct training *t, int step, double factor, const float *grad);

void training_plainly(struct training *t)
{
    float    *grad = xcalloc(TOTAL, sizeof *grad);
    double    squares, factor;
    int       step, sample, done = 0;
    size_t    i;

    for (i = 0; i < TOTAL; i++)
        t->param[i] = training_initial(i);
    for (step = 0; step < STEPS; step++) {
        squares = 0;
        for (i = 0; i < TOTAL; i++) {
            grad[i] = 0;
            for (sample = 0; sample < SAMPLES; sample++)
                grad[i] += gradient(t, rounded(t->type, t->param[i]), i, step, sample);
            squares += (double)grad[i] * (double)grad[i];
        }
        t->norm[step] = sqrt(squares) / 2;
        t->bad[step] = -1;
        if (step == t->overflow_step) {
            t->bad[step] = (int64_t)start_of(3) + 123;
            t->is_skipped[step] = true;
            continue;
        }
        factor = t->clip > 0 ? 0.5 / fmax(1, (t->norm[step] + 1e-6) / t->clip) : 0.5;
        step_plainly(t, ++done, factor, grad);
    }
    free(grad);
}

/* Does the step with decay and without, and takes of each what is that. */
static void step_plainly(struct training *t, int step, double factor, const float *grad)
{
    struct training   *decayed = xmemdup(t, sizeof *t);
    struct adam        without = training_adam;
    struct adam_arrays arrays = { .count = TOTAL, .param = decayed->param, .mean = decayed->mean,
                                  .square = decayed->square, .grad = grad,
                                  .grad_type = DTYPE_FLOAT };
    size_t             i;

    adam_step(&training_adam, step, factor, &arrays);
    arrays.param = t->param;
    arrays.mean = t->mean;
    arrays.square = t->square;
    without.weight_decay = 0;
    adam_step(&without, step, factor, &arrays);
    for (i = 0; i < TOTAL; i++)
        if (!t->is_sparing || !training_spares(i))
            t->param[i] = decayed->param[i];
    free(decayed);
}
