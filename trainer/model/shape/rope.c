/* rope.c - see rope.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/rope.h"

#include <math.h>
#include <stddef.h>

/* Of ROPE_YARN: from the pair low on, frequencies are scaled more and more, from high on fully. */
struct ramp {
    double low, high;
};

static double      frequency_of(const struct rope *rope, const struct ramp *ramp, int head_width,
                                int i);
static double      llama3_of(const struct rope *rope, double frequency);
static struct ramp ramp_of(const struct rope *rope, int head_width);
static double      pair_of(const struct rope *rope, int head_width, double rotations);

void rope_table(const struct rope *rope, int head_width, int length, double *table)
{
    const int         half = head_width / 2;
    const double      size = rope->scaling == ROPE_YARN ? rope->attention_factor : 1;
    const struct ramp ramp = ramp_of(rope, head_width);
    int               i, position;

    for (i = 0; i < half; i++) {
        const double frequency = frequency_of(rope, &ramp, head_width, i);

        for (position = 0; position < length; position++) {
            double *at = table + 2 * ((size_t)position * (size_t)half + (size_t)i);

            at[0] = cos(position * frequency) * size;
            at[1] = sin(position * frequency) * size;
        }
    }
}

static double frequency_of(const struct rope *rope, const struct ramp *ramp, int head_width,
                           int i)
{
    const double plain = pow(rope->theta, -2.0 * i / head_width);
    double       scaled;

    switch (rope->scaling) {
    case ROPE_LINEAR:
        return plain / rope->factor;
    case ROPE_LLAMA3:
        return llama3_of(rope, plain);
    case ROPE_YARN:
        scaled = fmin(fmax((i - ramp->low) / (ramp->high - ramp->low), 0), 1);
        return plain / rope->factor * scaled + plain * (1 - scaled);
    case ROPE_PLAIN:
    default:
        return plain;
    }
}

/* _compute_llama3_parameters: slow turns are scaled, fast ones are not, and some in part. */
static double llama3_of(const struct rope *rope, double frequency)
{
    const double turns = rope->original * frequency / (2 * M_PI); /* within the old context */
    const double smooth = (turns - rope->low) / (rope->high - rope->low);

    if (turns < rope->low)
        return frequency / rope->factor;
    if (turns > rope->high)
        return frequency;
    return (1 - smooth) * frequency / rope->factor + smooth * frequency;
}

/* _compute_yarn_parameters */
static struct ramp ramp_of(const struct rope *rope, int head_width)
{
    struct ramp ramp = { 0, 1 };

    if (rope->scaling != ROPE_YARN)
        return ramp;
    ramp.low = pair_of(rope, head_width, rope->beta_fast);
    ramp.high = pair_of(rope, head_width, rope->beta_slow);
    if (rope->truncate) {
        ramp.low = floor(ramp.low);
        ramp.high = ceil(ramp.high);
    }
    ramp.low = fmax(ramp.low, 0);
    ramp.high = fmin(ramp.high, head_width - 1);
    if (ramp.low == ramp.high)
        ramp.high += 0.001;
    return ramp;
}

/* Returns the pair that turns so often within the old context; between two pairs, too. */
static double pair_of(const struct rope *rope, int head_width, double rotations)
{
    return head_width * log(rope->original / (rotations * 2 * M_PI)) / (2 * log(rope->theta));
}
