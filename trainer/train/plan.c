/* plan.c - see plan.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/plan.h"

#include "model/ops.h"

static void print_shape(const struct train *train, FILE *out);
static void print_sources(const struct train *train, FILE *out);
static void print_weights(const struct train *train, bool is_resumed, FILE *out);
static void print_origin(const struct train *train, const char *dir, bool is_resumed, FILE *out);
static void print_memory(const struct train *train, FILE *out);

void plan_print(const struct train *train, FILE *out)
{
    print_shape(train, out);
    tuning_print(&train->tuning, train->model, out);
    print_sources(train, out);
    print_memory(train, out);
    fflush(out);
}

static void print_shape(const struct train *train, FILE *out)
{
    const struct ds_config *config = train->config;

    fprintf(out,
            "%zu parameters in %s on %s, ZeRO stage %d, %d %s, batch %lld = %lld x %lld x %d\n",
            train->model->count, dtype_name(train->model->type), train->ops->name,
            (int)config->zero.stage, train->world.size, train->world.size == 1 ? "rank" : "ranks",
            (long long)config->train_batch_size, (long long)config->micro_batch_size,
            (long long)config->accumulation_steps, train->world.size);
}

/* A checkpoint has what is trained: all weights, all but the frozen ones, or the adapter. */
static void print_sources(const struct train *train, FILE *out)
{
    const bool is_resumed = train->state.step > 0;
    const bool is_adapter = train->tuning.lora.rank > 0;

    fputs("weights: ", out);
    print_weights(train, is_resumed && !is_adapter, out);
    if (is_resumed && !is_adapter && train->frozen != NULL) {
        fputs("; frozen: ", out);
        print_weights(train, false, out);
    }
    if (is_adapter) {
        fputs("; adapter: ", out);
        print_origin(train, train->tuning.adapter, is_resumed, out);
    }
    if (train->source.path != NULL)
        fprintf(out, "; tokenizer: %s", train->source.path);
    fprintf(out, "; data: %s, %llu samples of %d tokens", train->options.data,
            (unsigned long long)train->samples.data->samples, train->samples.length);
    if (train->options.eval_data != NULL)
        fprintf(out, "; evaluation: %s, %llu samples", train->options.eval_data,
                (unsigned long long)train->evaluation.samples.data->samples);
    fputc('\n', out);
}

static void print_weights(const struct train *train, bool is_resumed, FILE *out)
{
    print_origin(train, train->has_weights ? train->from : NULL, is_resumed, out);
    if (!is_resumed && train->from != NULL && !train->has_weights)
        fprintf(out, " (%s has none)", train->from);
}

static void print_origin(const struct train *train, const char *dir, bool is_resumed, FILE *out)
{
    if (is_resumed)
        fputs("the checkpoint", out);
    else if (dir != NULL)
        fputs(dir, out);
    else
        fprintf(out, "random, seed %lld", (long long)train->options.seed);
}

static void print_memory(const struct train *train, FILE *out)
{
    zero_memory_print(train->zero, out);
    if (train->frozen != NULL)
        zero_memory_print(train->frozen, out);
    fprintf(out, "%.2f MiB of activations per pass", (double)train->activations / (1 << 20));
    if (train->parked > 0)
        fprintf(out, ", and %.2f on the host", (double)train->parked / (1 << 20));
    fputc('\n', out);
}
