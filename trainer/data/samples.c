/* samples.c - see samples.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/samples.h"

#include <stdlib.h>
#include <string.h>

#include "data/mask.h"
#include "fnv.h"
#include "xalloc.h"

/* As in BERT's training. */
static const struct mask gaps = { .token = SAMPLES_MASK, .vocabulary = DATA_BYTE_WORDS,
                                  .chosen = 0.15, .random = 0.1, .kept = 0.1 };

int samples_open(struct samples *samples, const char *path, int length, bool is_masked,
                 int vocabulary, uint64_t seed, const struct data_text *text,
                 struct error *err)
{
    int i;

    *samples = (struct samples){ .length = length, .vocabulary = vocabulary, .seed = seed,
                                 .is_masked = is_masked };
    samples->room = xcalloc((size_t)length + 1, sizeof *samples->room);
    samples->data = data_open(path, length, !is_masked, seed, text, err);
    if (samples->data == NULL)
        return -1;
    if (is_masked && vocabulary <= SAMPLES_MASK)
        return err_set(err,
                       "%s: text and the mask need %d tokens, but the vocabulary has only %d",
                       path, SAMPLES_MASK + 1, vocabulary);
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

uint64_t samples_hash(const struct samples *samples)
{
    uint64_t hash = FNV_START;
    int      i;

    for (i = 0; i < samples->data->files; i++)
        hash = fnv_add(hash, &samples->data->file[i].tokens, sizeof(uint64_t));
    return fnv_add(hash, &samples->data->documents, sizeof samples->data->documents);
}

bool samples_have_documents(const struct samples *samples)
{
    return samples->data->has_documents;
}

int samples_take(struct samples *samples, uint64_t number, int32_t *tokens, int32_t *targets,
                 int32_t *begins, struct error *err)
{
    const size_t size = (size_t)samples->length * sizeof *tokens;

    if (samples->data->has_documents)
        return data_packed_sample(samples->data, number, samples->vocabulary, tokens, targets,
                                  begins, err);
    if (data_sample(samples->data, number, samples->vocabulary, samples->room, err) < 0)
        return -1;
    memcpy(tokens, samples->room, size);
    if (samples->is_masked)
        mask_sample(&gaps, samples->seed, number, tokens, targets, samples->length);
    else
        memcpy(targets, samples->room + 1, size);
    return 0;
}
