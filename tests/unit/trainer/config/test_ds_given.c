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
      "\"train_micro_batch_size_per_gpu\": 2, // --micro-batch\n"
      "    \"gradient_accumulation_steps\": 2, // computed\n" },
    { "{ \"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\",\n"
      "\"gradient_accumulation_steps\": \"auto\" }", { .micro_batch = 2, .accumulation = 5 },
      "\"train_batch_size\": 30, // computed\n"
      "    \"train_micro_batch_size_per_gpu\": 2, // --micro-batch\n"
      "    \"gradient_accumulation_steps\": 5, // --accumulation\n" },
    { "{ \"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 4 }", { .micro_batch = 5 },
      "F:1: train_batch_size: 12 is not micro batch 5 x accumulation steps 0 x ranks 3" },
    { "{ \"train_batch_size\": 3 }", { .lr = 2e-4 }, "\"lr\": 0.0002, // --lr\n" },
    { "{ \"train_batch_size\": 3 }", { .lr = 2e-4 }, "\"type\": \"AdamW\"" },
    { "{ \"train_batch_size\": 3, \"optimizer\": { \"type\": \"Adam\",\n"
      "\"params\": { \"lr\": \"auto\" } } }", { .lr = 2e-4 }, "\"lr\": 0.0002, // --lr\n" },
    { "{ \"train_batch_size\": 3, \"optimizer\": { \"type\": \"Adam\",\n"
      "\"params\": { \"lr\": 1, \"eps\": 1e-6 } } }", { .lr = 2e-4 },
      "\"eps\": 1e-06, // line 2\n" },
    { "{ \"train_batch_size\": 3, \"optimizer\": { \"type\": \"Adam\",\n"
      "\"params\": { \"lr\": 1 } } }", { .accumulation = 1 }, "\"lr\": 1, // line 2\n" },
    { "{ \"train_batch_size\": 3, \"optimizer\": 7 }", { .lr = 2e-4 },
      "F:1: optimizer: 7 is not an object" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"WarmupLR\",\n"
      "\"params\": { \"warmup_max_lr\": \"auto\" } } }", { .lr = 2e-4 },
      "\"warmup_max_lr\": 0.0002, // --lr\n" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"OneCycle\", \"params\": {\n"
      "\"cycle_min_lr\": 0.1, \"cycle_max_lr\": 1 } } }", { .lr = 2e-4 },
      "--lr: the scheduler OneCycle has rates of its own" },
    { "{ \"train_batch_size\": 3 }", { .warmup = 9 }, "\"warmup_num_steps\": 9, // --warmup\n" },
    { "{ \"train_batch_size\": 3 }", { .warmup = 9 }, "\"warmup_type\": \"linear\"" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"WarmupCosineLR\",\n"
      "\"params\": { \"total_num_steps\": 50 } } }", { .warmup = 9 },
      "\"warmup_num_steps\": 9, // --warmup\n" },
    { "{ \"train_batch_size\": 3, \"scheduler\": { \"type\": \"LRRangeTest\" } }", { .warmup = 9 },
      "--warmup: the scheduler LRRangeTest has no warm-up" },
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

/* All that is wrong is said at once. */
static void test_problems(void **state)
{
    const struct ds_given nothing = { .lr = 0 };
    struct strlist        problems = { 0 };
    struct error          err;
    FILE                 *file = fopen(path, "w");

    (void)state;
    fputs("{ \"train_batch_size\": 0,\n\"fp16\": { \"enbled\": true },\n"
          "\"amp\": { \"enabled\": true } }", file);
    fclose(file);
    assert_null(ds_config_read_for_run(path, &nothing, &problems, &err));
    expect(err.text, "F: 3 problems, see above");
    assert_int_equal(problems.count, 3);
    expect(problems.item[0], "F:1: train_batch_size: 0 is not an integer of at least 1");
    expect(problems.item[1], "F:2: fp16.enbled: unknown key (did you mean \"enabled\"?)");
    expect(problems.item[2], "F:3: amp: not supported");
    strlist_clear(&problems);
    file = fopen(path, "w");
    fputs("{ \"zero_optimization\": { \"stage\": 5 }, \"scheduler\": {} }", file);
    fclose(file);
    assert_null(ds_config_read_for_run(path, &nothing, &problems, &err));
    assert_int_equal(problems.count, 2); /* of what contradicts itself, too */
    strlist_clear(&problems);
}

/* What the file says is named where it is replaced. */
static void test_replaced(void **state)
{
    const struct ds_given given = { .lr = 2e-5, .micro_batch = 4 };
    struct error          err;
    struct ds_config     *config =
        read_text("{ \"train_micro_batch_size_per_gpu\": \"auto\",\n\"optimizer\": { \"type\": "
                  "\"AdamW\", \"params\": { \"lr\": 0.001, \"eps\": \"auto\" } } }", &given, &err);

    (void)state;
    assert_non_null(config);
    assert_int_equal(config->notes.count, 3);
    expect(config->notes.item[0],
           "F:1: train_micro_batch_size_per_gpu: --micro-batch 4 replaces \"auto\"");
    expect(config->notes.item[1], "F:2: optimizer.params.lr: --lr 2e-5 replaces 0.001");
    expect(config->notes.item[2],
           "F:2: optimizer.params.eps: \"auto\" means the default here, 1e-8");
    ds_config_free(config);
}

static void test_given(void **state)
{
    struct ds_config *config;
    struct error      err;
    char             *text;
    size_t            i, size;
    FILE             *out;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        config = read_text(cases[i].text, &cases[i].given, &err);
        if (config == NULL || ds_config_resolve(config, 3, &err) < 0) {
            expect(err.text, cases[i].part);
        } else {
            out = open_memstream(&text, &size);
            ds_config_print(config, out);
            fclose(out);
            expect(text, cases[i].part);
            free(text);
        }
        ds_config_free(config);
    }
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
    ds_config_set_total_steps(config, 77);
    assert_int_equal(config->schedule.total_num_steps, 77);
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
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_total),
    };
    int fd = mkstemp(path), rc;

    if (fd < 0 || close(fd) < 0)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return unlink(path) < 0 ? 1 : rc;
}
