/* test_ds_given.c - what a command line gives instead of ds_config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/ds_config.h"
#include "xalloc.h"

static char path[] = "/tmp/test_ds_given.XXXXXX";

static const struct {
    const char     *text;
    struct ds_given given;
    const char     *part; /* of what is printed, or the whole error without the file's name */
} cases[] = {
    { "{ \"train_batch_size\": 12 }", { .micro_batch = 2 },
      "\"train_micro_batch_size_per_gpu\": 2, // from --micro-batch\n"
      "    \"gradient_accumulation_steps\": 2, // computed\n" },
    { "{ \"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\",\n"
      "\"gradient_accumulation_steps\": \"auto\" }", { .micro_batch = 2, .accumulation = 5 },
      "\"train_batch_size\": 30, // computed\n"
      "    \"train_micro_batch_size_per_gpu\": 2, // from --micro-batch\n"
      "    \"gradient_accumulation_steps\": 5, // from --accumulation\n" },
    { "{ \"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 4 }", { .micro_batch = 5 },
      "F:1: train_batch_size: 12 is not micro batch 5 (--micro-batch) x accumulation steps "
      "0 x ranks 3" },
    { "{ \"train_batch_size\": 3 }", { .lr = 2e-4 }, "\"lr\": 0.0002, // from --lr\n" },
    { "{ \"train_batch_size\": 3 }", { .lr = 2e-4 }, "\"type\": \"AdamW\"" },
    { "{ \"train_batch_size\": 3, \"optimizer\": { \"type\": \"Adam\",\n"
      "\"params\": { \"lr\": \"auto\" } } }", { .lr = 2e-4 }, "\"lr\": 0.0002, // from --lr\n" },
    { "{ \"train_batch_size\": 3, \"optimizer\": { \"type\": \"Adam\",\n"
      "\"params\": { \"lr\": 1, \"eps\": 1e-6 } } }", { .lr = 2e-4 },
      "\"eps\": 1e-06, // line 2\n" },
    { "{ \"train_batch_size\": 3, \"optimizer\": { \"type\": \"Adam\",\n"
      "\"params\": { \"lr\": 1 } } }", { .accumulation = 1 }, "\"lr\": 1, // line 2\n" },
    { "{ \"train_batch_size\": 3, \"optimizer\": 7 }", { .lr = 2e-4 },
      "F:1: optimizer: 7 is not an object" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"WarmupLR\",\n"
      "\"params\": { \"warmup_max_lr\": \"auto\" } } }", { .lr = 2e-4 },
      "\"warmup_max_lr\": 0.0002, // from --lr\n" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"OneCycle\", \"params\": {\n"
      "\"cycle_min_lr\": 0.1, \"cycle_max_lr\": 1 } } }", { .lr = 2e-4 },
      "F:1: scheduler.type: OneCycle has rates of its own: leave --lr out" },
    { "{ \"train_batch_size\": 3 }", { .warmup = 9 },
      "\"warmup_num_steps\": 9, // from --warmup\n" },
    { "{ \"train_batch_size\": 3 }", { .warmup = 9 }, "\"warmup_type\": \"linear\"" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"WarmupCosineLR\",\n"
      "\"params\": { \"total_num_steps\": 50 } } }", { .warmup = 9 },
      "\"warmup_num_steps\": 9, // from --warmup\n" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"LRRangeTest\" } }", { .warmup = 9 },
      "F:1: scheduler.type: LRRangeTest has no warm-up: leave --warmup out" },
    { "{ \"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 4,\n"
      "\"gradient_accumulation_steps\": 1 }", { .micro_batch = 2 },
      "\"train_micro_batch_size_per_gpu\": 2, // from --micro-batch\n"
      "    \"gradient_accumulation_steps\": 2, // computed\n" },
    { "{ \"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 4 }",
      { .accumulation = 2 },
      "\"train_micro_batch_size_per_gpu\": 2, // computed\n"
      "    \"gradient_accumulation_steps\": 2, // from --accumulation\n" },
    { "{ \"train_batch_size\": 12 }", { .micro_batch = 4, .accumulation = 2 },
      "F:1: train_batch_size: 12 is not micro batch 4 (--micro-batch) x accumulation steps 2 "
      "(--accumulation) x ranks 3" },
    { "{ \"elasticity\": { \"enabled\": true, \"max_train_batch_size\": 8,\n"
      "\"micro_batch_sizes\": [2] } }", { .micro_batch = 2 },
      "F: train_micro_batch_size_per_gpu (from --micro-batch): elasticity chooses it" },
    { "{ \"train_batch_size\": 3 }", { .lr = 2e-4 }, "\"type\": \"AdamW\", // implied\n" },
};

/* A text, and all notes on it. */
static const struct {
    const char     *text;
    struct ds_given given;
    const char     *notes; /* without the file's name, of which F is left */
} noted[] = {
    { "{ \"train_batch_size\": 3 }", { 2e-5, 1, 1, 9 }, "" },
    { "{ \"optimizer\": { \"type\": \"Adam\", \"params\": {\n\"lr\": 1e-4 } } }", { .lr = 2e-5 },
      "F:2: optimizer.params.lr: --lr 2e-05 replaces 0.0001\n" },
    { "{ \"optimizer\": { \"type\": \"Adam\", \"params\": {\n\"lr\": \"auto\" } } }",
      { .lr = 2e-5 }, "F:2: optimizer.params.lr: \"auto\" means 2e-05 here, from --lr\n" },
    { "{ \"optimizer\": { \"type\": \"Adam\", \"params\": {\n\"lr\": 2e-5 } } }", { .lr = 2e-5 },
      "" },
    { "{ \"scheduler\": { \"type\": \"WarmupDecayLR\", \"params\": { \"warmup_max_lr\": 1,\n"
      "\"total_num_steps\": \"auto\", \"warmup_num_steps\": 5 } } }",
      { .lr = 2e-5, .warmup = 7 },
      "F:2: scheduler.params.warmup_num_steps: --warmup 7 replaces 5\n"
      "F:1: scheduler.params.warmup_max_lr: --lr 2e-05 replaces 1\n" },
    { "{ \"scheduler\": { \"type\": \"warmuplr\",\n\"params\": { \"warmup_max_lr\": 1 } } }",
      { .lr = 2e-5 }, "F:2: scheduler.params.warmup_max_lr: --lr 2e-05 replaces 1\n" },
    { "{ \"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 4,\n"
      "\"gradient_accumulation_steps\": 1 }", { .micro_batch = 2 },
      "F:1: train_micro_batch_size_per_gpu: --micro-batch 2 replaces 4\n"
      "F:2: gradient_accumulation_steps: ignored: it follows from --micro-batch and "
      "train_batch_size\n" },
    { "{ \"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\",\n"
      "\"gradient_accumulation_steps\": 1 }", { .micro_batch = 2 },
      "F:1: train_micro_batch_size_per_gpu: \"auto\" means 2 here, from --micro-batch\n"
      "F:1: train_batch_size: \"auto\" means that it follows from the other sizes\n" },
};

static struct ds_config *read_text(const char *text, const struct ds_given *given,
                                   struct error *err)
{
    FILE *file = fopen(path, "w");

    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return ds_config_read_for_run(path, given, NULL, err);
}

static void expect(const char *is, const char *wanted)
{
    char *text = wanted[0] == 'F' ? xasprintf("%s%s", path, wanted + 1) : xstrdup(wanted);

    if (strstr(is, text) == NULL)
        fail_msg("expected '%s', got '%s'", text, is);
    free(text);
}

static void expect_printed(const struct ds_config *config, const char *part)
{
    char  *text;
    size_t size;
    FILE  *out = open_memstream(&text, &size);

    ds_config_print(config, out);
    fclose(out);
    expect(text, part);
    free(text);
}

static void test_given(void **state)
{
    struct ds_config *config;
    struct error      err;
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        config = read_text(cases[i].text, &cases[i].given, &err);
        if (config == NULL || ds_config_resolve(config, 3, &err) < 0) {
            expect(err.text, cases[i].part);
        } else {
            expect_printed(config, cases[i].part);
        }
        ds_config_free(config);
    }
}

static void test_notes(void **state)
{
    struct ds_config *config;
    struct error      err;
    char              all[1024];
    size_t            i, j;

    (void)state;
    for (i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        config = read_text(noted[i].text, &noted[i].given, &err);
        assert_non_null(config);
        all[0] = '\0';
        for (j = 0; j < config->notes.count; j++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "F%s\n",
                     config->notes.item[j] + strlen(path));
        assert_string_equal(all, noted[i].notes);
        ds_config_free(config);
    }
}

static uint64_t hash_of(const char *text, const struct ds_given *given)
{
    struct error      err;
    struct ds_config *config = read_text(text, given, &err);
    uint64_t          hash;

    assert_non_null(config);
    hash = ds_config_hash(config);
    ds_config_free(config);
    return hash;
}

/* The same values have the same hash, whether a file or an option gives them. */
static void test_hash(void **state)
{
    static const char     one[] = "{ \"optimizer\": { \"type\": \"Adam\", \"params\": "
                                  "{ \"lr\": 0.5 } } }";
    static const char     two[] = "{ \"optimizer\": { \"type\": \"Adam\", \"params\": "
                                  "{ \"lr\": 0.25 } } }";
    const struct ds_given given = { .lr = 0.25 };

    (void)state;
    assert_true(hash_of(one, NULL) != hash_of(two, NULL));
    assert_true(hash_of(one, &given) == hash_of(two, NULL));
    assert_true(hash_of(one, &(struct ds_given){ .warmup = 3 }) != hash_of(one, NULL));
}

/* "auto" waits for the last step. */
static void test_total(void **state)
{
    struct ds_config *config;
    struct error      err;

    (void)state;
    config = read_text("{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"WarmupDecayLR\","
                       "\"params\": { \"total_num_steps\": \"auto\" } } }", NULL, &err);
    assert_non_null(config);
    assert_int_equal(config->notes.count, 0);
    expect_printed(config, "\"total_num_steps\": \"auto\", // computed\n");
    ds_config_set_total_steps(config, 77);
    assert_int_equal(config->schedule.total_num_steps, 77);
    expect_printed(config, "\"total_num_steps\": 77, // computed\n");
    ds_config_free(config);
    config = read_text("{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"WarmupDecayLR\","
                       "\"params\": { \"total_num_steps\": 5 } } }", NULL, &err);
    ds_config_set_total_steps(config, 77);
    assert_int_equal(config->schedule.total_num_steps, 5);
    ds_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_total),
    };
    int fd = mkstemp(path), rc;

    if (fd < 0 || close(fd) < 0)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return unlink(path) < 0 ? 1 : rc;
}
