/* plan.c - see plan.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/plan.h"

#include "model/ops.h"

static void print_shape(const struct train *train, FILE *out);
static void print_sources(const struct train *train, FILE *out);
static void print_documents(const struct train *train, const struct data *data, FILE *out);
static void print_weights(const struct train *train, bool is_resumed, FILE *out);
static void print_origin(const struct train *train, const char *dir, bool is_resumed, FILE *out);
static void print_learning(const struct train *train, FILE *out);
static void print_schedule(const struct train *train, FILE *out);
static void print_memory(const struct train *train, FILE *out);

void plan_print(const struct train *train, FILE *out)
{
    print_shape(train, out);
    tuning_print(&train->tuning, train->model, out);
    print_sources(train, out);
    print_learning(train, out);
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
    const struct data *data = train->samples.data;

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
    if (train->source.has_chat)
        fprintf(out, "; chat template: %s", chat_template_name(&train->source.chat));
    fprintf(out, "; data: %s, %llu samples of %d tokens", train->options.data,
            (unsigned long long)data->samples, train->samples.length);
    if (data->has_documents)
        print_documents(train, data, out);
    if (train->options.eval_data != NULL)
        fprintf(out, "; evaluation: %s, %llu samples", train->options.eval_data,
                (unsigned long long)train->evaluation.samples.data->samples);
    fputc('\n', out);
}

static void print_documents(const struct train *train, const struct data *data, FILE *out)
{
    fprintf(out, ", from %zu records", data->documents);
    if (data->cut > 0)
        fprintf(out, ", %llu of them cut by %llu tokens", (unsigned long long)data->cut,
                (unsigned long long)data->cut_tokens);
    if (data->silent > 0)
        fprintf(out, ", without %llu of which nothing is learnt",
                (unsigned long long)data->silent);
    if (train->source.records.bad > 0)
        fprintf(out, ", without %lld broken lines", (long long)train->source.records.bad);
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

/* What decides how good the model becomes, also where the user has given no value. */
static void print_learning(const struct train *train, FILE *out)
{
    const struct ds_config    *config = train->config;
    const struct ds_optimizer *o = &config->optimizer;

    fprintf(out, "%s%s: lr %g%s, betas %g and %g, weight decay %g; ",
            o->adam_w_mode ? "AdamW" : "Adam", o->given ? "" : " (default)", o->lr,
            o->lr_is_given ? "" : " (default)", o->betas[0], o->betas[1], o->weight_decay);
    print_schedule(train, out);
    if (config->gradient_clipping > 0)
        fprintf(out, "clipping to %g; ", config->gradient_clipping);
    else
        fputs("no clipping; ", out);
    fprintf(out, "last step %lld; seed %lld\n", (long long)train->last,
            (long long)train->state.seed);
    if (train->step.lr_scale > 1)
        fprintf(out, "the learning rate is multiplied by %.6g\n", train->step.lr_scale);
}

static void print_schedule(const struct train *train, FILE *out)
{
    const struct schedule *schedule = &train->config->schedule;
    const char            *name = schedule_name((enum schedule_type)schedule->type);

    if (name == NULL)
        fputs("a constant rate, without warm-up; ", out);
    else if (schedule->type == SCHEDULE_RANGE_TEST || schedule->type == SCHEDULE_ONE_CYCLE)
        fprintf(out, "%s instead of lr; ", name);
    else
        fprintf(out, "%s, warm-up of %lld steps; ", name, (long long)schedule->warmup_num_steps);
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
