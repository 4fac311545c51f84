/* sample.c - see sample.h
 *
 * For each new byte, the model computes the whole window again. This is slow but simple, and
 * fast enough for a few lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sample/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/samples.h"
#include "model/model.h"
#include "model/model_weights.h"
#include "model/ops.h"
#include "model/scramble.h"
#include "sample/sample_options.h"
#include "weights/weights.h"
#include "xalloc.h"

enum { SAMPLE_OK, SAMPLE_FAILED, SAMPLE_USAGE };

#define GAP '_'

struct sample {
    struct sample_options options;
    struct ops           *ops;
    struct model         *model;
    float                *params;
    int32_t              *tokens, *targets; /* options.length elements each */
    uint64_t              drawn;
};

static int    load(struct sample *sample, struct error *err);
static int    check_shape(const struct sample *sample, const struct model_config *shape,
                          struct error *err);
static int    go_on(struct sample *sample, struct error *err);
static const float *look(struct sample *sample, int length, struct error *err);
static int    draw(struct sample *sample, const float *logits, int words);
static bool   is_text(int byte);
static int    most_probable(const float *logits, int words);
static int    fill(struct sample *sample, struct error *err);
static double probability(const float *logits, int words, int word);
static void   unload(struct sample *sample);

int sample_main(int argc, char **argv)
{
    struct sample sample = { .ops = NULL };
    struct error  err;
    int           rc = sample_options_parse(&sample.options, argc, argv, &err);

    if (rc == SAMPLE_OPTIONS_HELP) {
        sample_options_help(stdout);
        return SAMPLE_OK;
    }
    if (rc < 0) {
        fprintf(stderr, "muster-train: %s (see muster-train sample --help)\n", err.text);
        return SAMPLE_USAGE;
    }
    rc = load(&sample, &err);
    if (rc == 0)
        rc = model_is_masked(&sample.model->config) ? fill(&sample, &err)
                                                    : go_on(&sample, &err);
    unload(&sample);
    if (rc == 0 && fflush(stdout) == 0)
        return SAMPLE_OK;
    fprintf(stderr, "muster-train: %s\n",
            rc < 0 ? err.text : "cannot write to standard output");
    return SAMPLE_FAILED;
}

static int load(struct sample *sample, struct error *err)
{
    const size_t        length = (size_t)sample->options.length;
    struct model_config shape;
    struct safetensors *weights;
    int                 rc;

    if (weights_shape(sample->options.model, &shape, err) < 0 ||
        check_shape(sample, &shape, err) < 0)
        return -1;
    sample->ops = ops_cpu_new(DTYPE_FLOAT, err);
    if (sample->ops == NULL)
        return -1;
    sample->model = model_new(&shape, sample->ops, err);
    if (sample->model == NULL)
        return -1;
    sample->tokens = xcalloc(length, sizeof *sample->tokens);
    sample->targets = xcalloc(length, sizeof *sample->targets);
    sample->params = xcalloc(sample->model->count, sizeof *sample->params);
    model_use_arrays(sample->model, sample->params, NULL);
    weights = safetensors_open(sample->options.model, err);
    if (weights == NULL)
        return -1;
    rc = model_weights_check(sample->model, weights, err);
    if (rc == 0)
        rc = model_weights_load(sample->model, weights, 0, sample->model->count, sample->params,
                                err);
    safetensors_close(weights);
    return rc;
}

static int check_shape(const struct sample *sample, const struct model_config *shape,
                       struct error *err)
{
    const struct sample_options *options = &sample->options;
    const bool                   is_masked = model_is_masked(shape);

    if (model_config_check(shape, err) < 0)
        return -1;
    if (shape->vocabulary < (is_masked ? SAMPLES_MASK + 1 : DATA_BYTE_WORDS))
        return err_set(err, "%s: a vocabulary of %d tokens is too small for text",
                       options->model, shape->vocabulary);
    if (options->length > model_longest(shape))
        return err_set(err, "--length %lld: the model accepts at most %d tokens",
                       (long long)options->length, model_longest(shape));
    if (is_masked && (int64_t)strlen(options->prompt) > options->length)
        return err_set(err, "--prompt: %zu bytes are more than --length %lld",
                       strlen(options->prompt), (long long)options->length);
    if (is_masked && strchr(options->prompt, GAP) == NULL)
        return err_set(err, "--prompt: no %c to fill", GAP);
    if (options->prompt[0] == '\0')
        return err_set(err, "--prompt is empty");
    return 0;
}

/* ---- GPT-2 and Llama: continue the prompt ---- */

static int go_on(struct sample *sample, struct error *err)
{
    const struct sample_options *options = &sample->options;
    const int                    words = sample->model->config.vocabulary;
    const size_t                 window = (size_t)options->length;
    const size_t                 begun = strlen(options->prompt);
    const size_t                 total = begun + (size_t)options->bytes;
    char                        *text = xcalloc(total, 1);
    const float                 *logits = NULL;
    size_t                       have, first, i;

    memcpy(text, options->prompt, begun);
    fwrite(text, 1, begun, stdout);
    for (have = begun; have < total; have++) {
        first = have > window ? have - window : 0;
        for (i = first; i < have; i++) {
            sample->tokens[i - first] = (unsigned char)text[i];
            sample->targets[i - first] = i + 1 == have ? 0 : -1;
        }
        logits = look(sample, (int)(have - first), err);
        if (logits == NULL)
            break;
        text[have] = (char)draw(sample, logits, words);
        putchar(text[have]);
    }
    putchar('\n');
    free(text);
    return have == total ? 0 : -1;
}

/* Does one forward pass over length tokens. Returns a row of logits for each target that is not
 * -1; NULL with err. */
static const float *look(struct sample *sample, int length, struct error *err)
{
    const struct model_batch batch = { .sequences = 1, .length = length,
                                       .tokens = sample->tokens, .targets = sample->targets };

    if (model_forward(sample->model, &batch, err) < 0)
        return NULL;
    return model_logits(sample->model, err);
}

/* Draws a byte with the model's probabilities at this temperature. */
static int draw(struct sample *sample, const float *logits, int words)
{
    const double temperature = sample->options.temperature;
    const int    best = most_probable(logits, words);
    double       weight[DATA_BYTE_WORDS], sum = 0, at;
    int          word;

    if (temperature == 0)
        return best;
    for (word = 0; word < DATA_BYTE_WORDS; word++) {
        weight[word] = word < words && is_text(word)
                           ? exp((double)(logits[word] - logits[best]) / temperature)
                           : 0;
        sum += weight[word];
    }
    at = (double)(scramble((uint64_t)sample->options.seed ^ scramble(sample->drawn++)) >> 11) *
         0x1p-53 * sum;
    for (word = 0; word < DATA_BYTE_WORDS; word++) {
        at -= weight[word];
        if (at < 0)
            return word;
    }
    return best;
}

/* Only text is printed: other bytes could control the terminal. */
static bool is_text(int byte)
{
    return byte == '\n' || byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

static int most_probable(const float *logits, int words)
{
    int best = ' ', word;

    for (word = 0; word < words && word < DATA_BYTE_WORDS; word++)
        if (is_text(word) && logits[word] > logits[best])
            best = word;
    return best;
}

/* ---- BERT: fill the gaps ---- */

/* Fills the most certain gap first, so that the model can use it to predict the others. */
static int fill(struct sample *sample, struct error *err)
{
    const int    words = sample->model->config.vocabulary;
    const int    length = (int)strlen(sample->options.prompt);
    char        *text = xstrdup(sample->options.prompt);
    const float *row = NULL;
    double       sure, surest;
    int          i, gap = 0, byte = 0;

    while (strchr(text, GAP) != NULL) {
        for (i = 0; i < length; i++) {
            sample->tokens[i] = text[i] == GAP ? SAMPLES_MASK : (unsigned char)text[i];
            sample->targets[i] = text[i] == GAP ? 0 : -1;
        }
        row = look(sample, length, err);
        if (row == NULL)
            break;
        surest = -1;
        for (i = 0; i < length; i++) {
            if (text[i] != GAP)
                continue;
            sure = probability(row, words, most_probable(row, words));
            if (sure > surest) {
                surest = sure;
                gap = i;
                byte = most_probable(row, words);
            }
            row += words;
        }
        text[gap] = byte != GAP ? (char)byte : ' ';
    }
    if (row != NULL)
        puts(text);
    free(text);
    return row != NULL ? 0 : -1;
}

static double probability(const float *logits, int words, int word)
{
    double sum = 0;
    int    i;

    for (i = 0; i < words; i++)
        sum += exp((double)(logits[i] - logits[word]));
    return 1 / sum;
}

static void unload(struct sample *sample)
{
    model_free(sample->model);
    if (sample->ops != NULL)
        sample->ops->free(sample->ops);
    free(sample->params);
    free(sample->tokens);
    free(sample->targets);
}
