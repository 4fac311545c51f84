/* judge_config.c - does ds_config.json fit this number of ranks?
 *
 * DeepSpeed checks this only after all ranks have started and loaded the model, minutes later.
 * We read the file of this machine; another check compares it with the files of the nodes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "xalloc.h"

#define CONFIG_MAX (4u << 20)
#define CHECK      "ds_config"
#define ASSERTION "DeepSpeed fails with an assertion minutes after the start"

static json_int_t number_of(const json_t *config, const char *key, bool *is_open);
static void       judge_batch(const json_t *config, const char *path, int world,
                              struct findings *findings);

void judge_config(const char *path, int world, struct findings *findings)
{
    struct error err;
    json_error_t why;
    size_t       size;
    char        *bytes = file_read_at_once(path, CONFIG_MAX, &size, &err), *text;
    json_t      *config;
    json_int_t   stage;
    bool         is_open = false;

    if (bytes == NULL) {
        findings_add(findings, 0, true, CHECK, err.text, "every rank fails at once",
                     "give the right file");
        return;
    }
    config = json_loadb(bytes, size, 0, &why);
    if (!json_is_object(config)) {
        text = xasprintf("%s:%d: %s", path, config != NULL ? 1 : why.line,
                         config != NULL ? "not an object" : why.text);
        findings_add(findings, 0, true, CHECK, text, "every rank fails at once",
                     "correct that line");
        free(text);
    } else {
        judge_batch(config, path, world, findings);
        stage = number_of(json_object_get(config, "zero_optimization"), "stage", &is_open);
        if (stage > 3) {
            text = xasprintf("%s: ZeRO stage %lld", path, (long long)stage);
            findings_add(findings, 0, true, CHECK, text, ASSERTION, "valid stages are 0 to 3");
            free(text);
        }
    }
    json_decref(config);
    free(bytes);
}

/* train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * ranks.
 * DeepSpeed computes missing values from the others. */
static void judge_batch(const json_t *config, const char *path, int world,
                        struct findings *findings)
{
    bool is_open = json_is_true(json_object_get(json_object_get(config, "elasticity"), "enabled"));
    json_int_t batch = number_of(config, "train_batch_size", &is_open);
    json_int_t micro = number_of(config, "train_micro_batch_size_per_gpu", &is_open);
    json_int_t steps = number_of(config, "gradient_accumulation_steps", &is_open);
    json_int_t known = (micro > 0 ? micro : 1) * (steps > 0 ? steps : 1) * world;
    char      *text;

    if (is_open || world <= 0)
        return;
    if (batch < 0 && micro < 0)
        text = xasprintf("%s: neither train_batch_size nor train_micro_batch_size_per_gpu", path);
    else if (batch < 0 || (micro > 0 && steps > 0 ? batch == known : batch % known == 0))
        return;
    else
        text =
            xasprintf("%s: train_batch_size %lld is not %s%lld ranks%s%s", path, (long long)batch,
                      micro > 0 && steps > 0 ? "" : "a multiple of ", (long long)world,
                      micro > 0 ? " x micro batch" : "", steps > 0 ? " x steps" : "");
    findings_add(
        findings, 0, true, CHECK, text, ASSERTION,
        "train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x "
        "ranks");
    free(text);
}

/* Returns the number; -1: not given. Sets *is_open if the value is "auto" or unknown to us, so
 * that only the program can judge it. */
static json_int_t number_of(const json_t *config, const char *key, bool *is_open)
{
    const json_t *value = json_object_get(config, key);

    if (value == NULL)
        return -1;
    if (!json_is_integer(value) || json_integer_value(value) <= 0 ||
        json_integer_value(value) > (1 << 30))
        *is_open = true;
    return json_is_integer(value) ? json_integer_value(value) : -1;
}
