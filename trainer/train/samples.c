/* samples.c - see samples.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/samples.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define TARGETS_PERCENT 15
#define MASK_PERCENT    80 /* of the targets */
#define OTHER_PERCENT   90 /* up to here another token */

static void     hide(const struct samples *samples, uint64_t number, int32_t *tokens,
                     int32_t *targets);
static uint64_t mix(uint64_t x);

int samples_open(struct samples *samples, const char *path, int length, bool is_masked,
                 int vocabulary, uint64_t seed, struct error *err)
{
    int i;

    *samples = (struct samples){ .length = length, .vocabulary = vocabulary, .seed = seed,
                                 .is_masked = is_masked };
    samples->room = xcalloc((size_t)length + 1, sizeof *samples->room);
    samples->data = data_open(path, length, !is_masked, seed, err);
    if (samples->data == NULL)
        return -1;
    if (is_masked && vocabulary <= SAMPLES_MASK)
        return err_set(err, "%s: text and a mask are %d tokens, the vocabulary is %d", path,
                       SAMPLES_MASK + 1, vocabulary);
    for (i = 0; i < samples->data->files && is_masked; i++)
        if (!samples->data->file[i].text)
            return err_set(err, "%s: only text can be masked", samples->data->file[i].path);
    return 0;
}

void samples_close(struct samples *samples)
{
    data_close(samples->data);
    free(samples->room);
    *samples = (struct samples){ .length = 0 };
}

int samples_take(struct samples *samples, uint64_t number, int32_t *tokens, int32_t *targets,
                 struct error *err)
{
    const size_t size = (size_t)samples->length * sizeof *tokens;

    if (data_sample(samples->data, number, samples->vocabulary, samples->room, err) < 0)
        return -1;
    memcpy(tokens, samples->room, size);
    if (samples->is_masked)
        hide(samples, number, tokens, targets);
    else
        memcpy(targets, samples->room + 1, size);
    return 0;
}

/* Other gaps in each epoch: numbers go on. */
static void hide(const struct samples *samples, uint64_t number, int32_t *tokens,
                 int32_t *targets)
{
    uint64_t random = mix(samples->seed ^ mix(number + 1));
    unsigned how;
    int      i;

    for (i = 0; i < samples->length; i++) {
        targets[i] = -1;
        random = mix(random);
        if (random % 100 >= TARGETS_PERCENT)
            continue;
        targets[i] = tokens[i];
        how = (unsigned)(random >> 20) % 100;
        if (how < MASK_PERCENT)
            tokens[i] = SAMPLES_MASK;
        else if (how < OTHER_PERCENT)
            tokens[i] = (int32_t)((random >> 40) % DATA_BYTE_WORDS);
    }
}

/* SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
