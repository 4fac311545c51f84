/* batch.c - see batch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/batch.h"

#include <string.h>

#include <jansson.h>

#include "ds/json_text.h"
#include "number.h"

static int64_t positive(const json_t *object, const char *key);
static int     parse_elasticity(struct batch_rules *rules, const char *name,
                                const json_t *elasticity, struct error *err);
static int64_t argument(char *const *args, size_t count, const char *name);
static bool    is_name(const char *word, size_t length, const char *name);
static int64_t number_or(const json_t *object, const char *key, int64_t otherwise);
static int     elastic_of(const struct batch_rules *rules, int64_t ranks, struct batch *batch);
static int     first_of(const struct batch *given, int64_t ranks, struct batch *batch);
static int     keep(const struct batch_rules *rules, int64_t ranks, struct batch *batch);

int batch_rules_parse(struct batch_rules *rules, const char *name, const char *text, size_t size,
                      struct error *err)
{
    struct json_text json = { 0 };
    const json_t    *elasticity;
    int              rc = json_text_parse(&json, name, text, size, err);

    *rules = (struct batch_rules){ 0 };
    if (rc == 0) {
        rules->given = (struct batch){ positive(json.root, "train_batch_size"),
                                       positive(json.root, "train_micro_batch_size_per_gpu"),
                                       positive(json.root, "gradient_accumulation_steps") };
        rules->parts = number_or(json_object_get(json.root, "tensor_parallel"), "autotp_size", 1) *
                       number_or(json.root, "sequence_parallel_size", 1);
        elasticity = json_object_get(json.root, "elasticity");
        if (json_is_true(json_object_get(elasticity, "enabled")))
            rc = parse_elasticity(rules, name, elasticity, err);
        else if (rules->given.total == 0 && rules->given.micro == 0)
            rc = 1;
    }
    json_text_clear(&json);
    return rc;
}

void batch_rules_clear(struct batch_rules *rules)
{
    elastic_plan_clear(&rules->list);
    *rules = (struct batch_rules){ 0 };
}

/* 0: "auto", not given, or a value that the script will not accept. 5e2 is a whole number,
 * too. */
static int64_t positive(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double        number = json_number_value(value);

    return number >= 1 && number <= ELASTIC_BATCH_MAX && number == (double)(int64_t)number
               ? (int64_t)number : 0;
}

static int parse_elasticity(struct batch_rules *rules, const char *name,
                            const json_t *elasticity, struct error *err)
{
    const json_t *micros = json_object_get(elasticity, "micro_batch_sizes");
    const json_t *version = json_object_get(elasticity, "version");
    struct error  why;
    size_t        i;

    rules->is_elastic = true;
    rules->request = (struct elastic_request){
        .version = json_is_number(version) ? json_number_value(version) : 0.2,
        .max_batch = positive(elasticity, "max_train_batch_size"),
        .micro = rules->micro,
        .micros = json_array_size(micros),
        .min_ranks = number_or(elasticity, "min_gpus", 1),
        .max_ranks = number_or(elasticity, "max_gpus", 10000),
        .prefer_larger = !json_is_false(json_object_get(elasticity, "prefer_larger_batch")),
        .ranks_per_node = number_or(elasticity, "num_gpus_per_node", 1),
        .model_parallel = number_or(elasticity, "model_parallel_size", 1),
    };
    for (i = 0; i < rules->request.micros && i < ELASTIC_MICRO_MAX; i++) {
        const json_t *micro = json_array_get(micros, i);

        rules->micro[i] = json_is_integer(micro) ? json_integer_value(micro) : 0;
        if (rules->micro[i] < 1)
            return err_set(err, "%s: elasticity.micro_batch_sizes: all must be 1 or more",
                           name);
    }
    if (rules->request.version != 0.1)
        return 0;
    if (elastic_plan(&rules->list, &rules->request, 0, &why) < 0)
        return err_set(err, "%s: elasticity: %s", name, why.text);
    return 0;
}

static int64_t number_or(const json_t *object, const char *key, int64_t otherwise)
{
    int64_t number = positive(object, key);

    return number > 0 ? number : otherwise;
}

int batch_rules_split(struct batch_rules *rules, char *const *args, size_t count,
                      struct error *err)
{
    static const char *const names[] = { "--tensor-model-parallel-size",
                                         "--pipeline-model-parallel-size",
                                         "--model-parallel-size", "--context-parallel-size",
                                         "--ds-sequence-parallel-size" };
    const int64_t            listed = rules->request.model_parallel;
    int64_t                  parts = 1;
    size_t                   i;

    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (__builtin_mul_overflow(parts, argument(args, count, names[i]), &parts))
            parts = INT64_MAX;
    if (parts > 1)
        rules->parts = parts;
    if (!rules->is_elastic || rules->parts <= 1 || rules->parts == listed)
        return 0;
    rules->suits_none = true;
    return err_set(err, "elasticity: its model_parallel_size is %lld, but %lld ranks share their "
                   "samples", (long long)listed, (long long)rules->parts);
}

/* Returns the value of an option, the last one if it is repeated; 1: there is none. */
static int64_t argument(char *const *args, size_t count, const char *name)
{
    const size_t length = strlen(name);
    const char  *value;
    struct error err;
    int64_t      number = 1, found;
    size_t       i;

    for (i = 0; i < count; i++) {
        if (!is_name(args[i], length, name))
            continue;
        value = args[i][length] == '='    ? args[i] + length + 1
                : args[i][length] == '\0' && i + 1 < count ? args[i + 1]
                                                           : "";
        if (parse_number(value, 1, ELASTIC_BATCH_MAX, &found, &err) == 0)
            number = found;
    }
    return number;
}

/* Scripts use both - and _ between words. */
static bool is_name(const char *word, size_t length, const char *name)
{
    size_t i;

    for (i = 0; i < length; i++)
        if (word[i] != name[i] && (word[i] != '_' || name[i] != '-' || i < 2))
            return false;
    return word[length] == '\0' || word[length] == '=';
}

int batch_of(const struct batch_rules *rules, int64_t ranks, struct batch *batch)
{
    if (ranks < 1 || rules->suits_none)
        return -1;
    if (rules->is_elastic)
        return elastic_of(rules, ranks, batch);
    if (rules->parts > 1 && ranks % rules->parts != 0)
        return -1;
    ranks /= rules->parts > 1 ? rules->parts : 1;
    return rules->first.total == 0 ? first_of(&rules->given, ranks, batch)
                                   : keep(rules, ranks, batch);
}

/* Version 0.1 has a list of worlds. In version 0.2 the plan depends on the number of ranks,
 * and with the plan the batch. */
static int elastic_of(const struct batch_rules *rules, int64_t ranks, struct batch *batch)
{
    const int64_t       parts = rules->request.model_parallel;
    struct elastic_plan plan;
    struct error        err;
    bool                is_listed = rules->list.count == 0;
    size_t              i;
    int                 rc;

    for (i = 0; i < rules->list.count && !is_listed; i++)
        is_listed = rules->list.worlds[i] == ranks;
    if (!is_listed)
        return -1;
    rc = elastic_plan(&plan, &rules->request, ranks, &err);
    if (rc == 0 && plan.micro > 0)
        *batch = (struct batch){ plan.batch, plan.micro,
                                 plan.batch / (plan.micro * (ranks / parts)) };
    if (rc == 0 && (plan.micro == 0 ||
                    (rules->first.total != 0 && plan.batch != rules->first.total)))
        rc = -1;
    elastic_plan_clear(&plan);
    return rc;
}

/* Like DeepSpeed, computes missing values from the others. */
static int first_of(const struct batch *given, int64_t ranks, struct batch *batch)
{
    int64_t product;

    *batch = *given;
    if (batch->steps == 0)
        batch->steps =
            given->total > 0 && given->micro > 0 ? given->total / given->micro / ranks : 1;
    if (batch->steps == 0)
        return -1;
    if (batch->micro == 0)
        batch->micro = batch->total / ranks / batch->steps;
    if (__builtin_mul_overflow(batch->micro, batch->steps, &product) ||
        __builtin_mul_overflow(product, ranks, &product) || product == 0)
        return -1;
    if (batch->total == 0)
        batch->total = product;
    return batch->total == product ? 0 : -1;
}

/* A micro batch in the file stays. A computed one may become smaller, but not larger: it would
 * need more memory than in the first world. */
static int keep(const struct batch_rules *rules, int64_t ranks, struct batch *batch)
{
    const struct batch *first = &rules->first;
    int64_t             each, micro;

    if (first->total % ranks != 0)
        return -1;
    each = first->total / ranks;
    for (micro = first->micro < each ? first->micro : each; each % micro != 0; micro--)
        ;
    if (rules->given.micro > 0 && micro != rules->given.micro)
        return -1;
    *batch = (struct batch){ first->total, micro, each / micro };
    return 0;
}

const char *batch_config_name(char *const *args, size_t count)
{
    static const char *const names[] = { "--deepspeed_config", "--ds_config" };
    const char              *found = NULL;
    size_t                   i, k, length;

    for (i = 0; i < count; i++) {
        for (k = 0; k < sizeof names / sizeof *names; k++) {
            length = strlen(names[k]);
            if (strncmp(args[i], names[k], length) != 0)
                continue;
            if (args[i][length] == '=')
                found = args[i] + length + 1;
            else if (args[i][length] == '\0' && i + 1 < count)
                found = args[i + 1];
        }
    }
    return found;
}
