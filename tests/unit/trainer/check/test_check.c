/* test_check.c - the parts of muster-train that need no other rank
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "check/check_options.h"
#include "check/collective.h"
#include "check/pattern.h"
#include "comm/dtype.h"

/* ---- dtype ---- */

/* What a half means, straight from its definition. */
static double half_value(uint16_t half)
{
    int    exponent = half >> 10 & 31, mantissa = half & 1023;
    double size = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);

    return half & 0x8000 ? -size : size;
}

static void test_every_half(void **state)
{
    uint32_t half;

    (void)state;
    for (half = 0; half < 65536; half++) {
        float value = half_to_float((uint16_t)half);

        if ((half & 0x7fff) > 0x7c00) {
            assert_true(isnan(value));
            assert_true(isnan(half_to_float(float_to_half(value))));
            continue;
        }
        if ((half & 0x7fff) == 0x7c00)
            assert_true(isinf(value));
        else
            assert_true((double)value == half_value((uint16_t)half));
        assert_int_equal(float_to_half(value), half);
    }
}

/* Halfway goes to the even neighbour, anything more to the nearer one. */
static void test_half_rounding(void **state)
{
    uint32_t half;
    float    low, middle;

    (void)state;
    for (half = 0; half < 0x7bff; half++) {
        low = half_to_float((uint16_t)half);
        middle = (low + half_to_float((uint16_t)(half + 1))) / 2;
        assert_int_equal(float_to_half(middle), half + (half & 1));
        assert_int_equal(float_to_half(nextafterf(middle, 0)), half);
        assert_int_equal(float_to_half(nextafterf(middle, 1e9f)), half + 1);
    }
    assert_int_equal(float_to_half(65519.99f), 0x7bff);
    assert_int_equal(float_to_half(65520.0f), 0x7c00);
    assert_int_equal(float_to_half(-1e30f), 0xfc00);
}

static void test_bfloat16(void **state)
{
    uint32_t bf16;

    (void)state;
    for (bf16 = 0; bf16 < 65536; bf16++)
        if ((bf16 & 0x7fff) <= 0x7f80)
            assert_int_equal(float_to_bfloat16(bfloat16_to_float((uint16_t)bf16)), bf16);
        else
            assert_true(isnan(bfloat16_to_float(float_to_bfloat16(
                bfloat16_to_float((uint16_t)bf16)))));
    assert_int_equal(float_to_bfloat16(257.0f), 0x4380); /* to even: 256 */
    assert_int_equal(float_to_bfloat16(259.0f), 0x4382); /* to even: 260 */
    assert_int_equal(float_to_bfloat16(257.1f), 0x4381); /* 258 */
    assert_int_equal(float_to_bfloat16(3.4e38f), 0x7f80);
}

static void test_reduce(void **state)
{
    const int64_t want[REDOP_COUNT] = { [REDOP_SUM] = 17, [REDOP_PROD] = 60,
                                        [REDOP_MAX] = 12, [REDOP_MIN] = 5 };
    double        a[3], b[3], out[3]; /* room and alignment for any type */
    int           type, op;
    size_t        i;

    (void)state;
    for (type = 0; type < DTYPE_COUNT; type++) {
        for (op = 0; op < REDOP_COUNT; op++) {
            for (i = 0; i < 3; i++) {
                dtype_store((enum dtype)type, a, i, 12);
                dtype_store((enum dtype)type, b, i, 5);
                dtype_store((enum dtype)type, out, i, 99);
            }
            dtype_reduce((enum dtype)type, (enum redop)op, out, a, b, 2);
            assert_int_equal(dtype_load((enum dtype)type, out, 0), want[op]);
            assert_int_equal(dtype_load((enum dtype)type, out, 1), want[op]);
            assert_int_equal(dtype_load((enum dtype)type, out, 2), 99);
        }
    }
}

/* A fraction must not pass for the integer below it. */
static void test_load_is_exact(void **state)
{
    const float    floats[] = { 82.0f, 82.00001f, INFINITY, NAN };
    const uint64_t huge = UINT64_MAX;
    char           text[40];

    (void)state;
    assert_int_equal(dtype_load(DTYPE_FLOAT, floats, 0), 82);
    assert_int_equal(dtype_load(DTYPE_FLOAT, floats, 1), INT64_MIN);
    assert_int_equal(dtype_load(DTYPE_FLOAT, floats, 2), INT64_MIN);
    assert_int_equal(dtype_load(DTYPE_FLOAT, floats, 3), INT64_MIN);
    assert_int_equal(dtype_load(DTYPE_UINT64, &huge, 0), INT64_MIN);
    dtype_text(DTYPE_UINT64, &huge, 0, text, sizeof text);
    assert_string_equal(text, "18446744073709551615");
}

static void test_exact_max(void **state)
{
    double place;
    int    type;

    (void)state;
    for (type = 0; type < DTYPE_COUNT; type++) {
        int64_t max = dtype_exact_max((enum dtype)type), n = max < 4096 ? 0 : max - 4096;

        for (; n < max; n++) {
            dtype_store((enum dtype)type, &place, 0, n + 1);
            assert_int_equal(dtype_load((enum dtype)type, &place, 0), n + 1);
        }
    }
}

/* ---- pattern ---- */

/* Reduce in the type itself, in both orders, and compare with what is promised. */
static void test_patterns_are_exact(void **state)
{
    static const int sizes[] = { 1, 2, 3, 4, 7, 8, 16, 64, 127, 128, 300, 1024 };
    struct pattern   pattern;
    double           up, down, value;
    int              type, op, rank;
    size_t           s, i;

    (void)state;
    for (type = 0; type < DTYPE_COUNT; type++) {
        for (op = 0; op < REDOP_COUNT; op++) {
            for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                enum dtype t = (enum dtype)type;
                enum redop o = (enum redop)op;

                pattern_make(&pattern, t, o, sizes[s]);
                for (i = 0; i < 70; i++) {
                    dtype_store(t, &up, 0, pattern_value(&pattern, 0, i));
                    dtype_store(t, &down, 0, pattern_value(&pattern, sizes[s] - 1, i));
                    for (rank = 1; rank < sizes[s]; rank++) {
                        dtype_store(t, &value, 0, pattern_value(&pattern, rank, i));
                        dtype_reduce(t, o, &up, &up, &value, 1);
                        dtype_store(t, &value, 0,
                                    pattern_value(&pattern, sizes[s] - 1 - rank, i));
                        dtype_reduce(t, o, &down, &value, &down, 1);
                    }
                    assert_int_equal(dtype_load(t, &up, 0), pattern_reduced(&pattern, i));
                    assert_int_equal(dtype_load(t, &down, 0), pattern_reduced(&pattern, i));
                }
                pattern_clear(&pattern);
            }
        }
    }
}

/* A rank whose part is missing, or another rank's data, must show. */
static void test_patterns_differ(void **state)
{
    struct pattern pattern;
    size_t         i, same = 0;

    (void)state;
    pattern_make(&pattern, DTYPE_FLOAT, REDOP_SUM, 8);
    for (i = 0; i < 1000; i++) {
        assert_true(pattern_value(&pattern, 3, i) > 0);
        same += pattern_value(&pattern, 0, i) == pattern_value(&pattern, 1, i);
        same += pattern_value(&pattern, 0, i) == pattern_value(&pattern, 0, i + 64);
        assert_int_equal(pattern_value(&pattern, 5, i),
                         pattern_value(&pattern, 5, i + pattern.period));
    }
    assert_int_equal(same, 0);
    pattern_clear(&pattern);
}

/* ---- options ---- */

static int parse(struct check_options *options, struct error *err, const char *words)
{
    char  text[256], *argv[32], *word, *rest = text;
    int   argc = 0;

    snprintf(text, sizeof text, "check %s", words);
    while ((word = strsep(&rest, " ")) != NULL)
        if (*word != '\0')
            argv[argc++] = word;
    argv[argc] = NULL;
    return check_options_parse(options, argc, argv, err);
}

static void test_options(void **state)
{
    struct check_options options;
    struct error         err;
    int                  i, chosen = 0;

    (void)state;
    assert_int_equal(parse(&options, &err, ""), CHECK_OPTIONS_RUN);
    assert_int_equal(options.bytes_min, 8);
    assert_int_equal(options.bytes_max, 4 << 20);
    assert_int_equal(options.dtype, DTYPE_FLOAT);
    for (i = 0; collectives[i].name != NULL; i++)
        assert_true(options.run[i]);

    assert_int_equal(parse(&options, &err, "-b 1K -e 1.5G -f 2 -n 7 -w 0 -c 3 -d bfloat16 "
                                           "-o max --backend gloo --timeout 1m all_reduce"),
                     CHECK_OPTIONS_RUN);
    assert_int_equal(options.bytes_min, 1024);
    assert_int_equal(options.bytes_max, 3 << 29);
    assert_int_equal(options.factor, 2);
    assert_int_equal(options.iterations, 7);
    assert_int_equal(options.warmups, 0);
    assert_int_equal(options.checks, 3);
    assert_int_equal(options.dtype, DTYPE_BFLOAT16);
    assert_int_equal(options.redop, REDOP_MAX);
    assert_string_equal(options.backend, "gloo");
    assert_true(options.timeout_s == 60);
    for (i = 0; collectives[i].name != NULL; i++)
        chosen += options.run[i];
    assert_int_equal(chosen, 1);
    assert_int_equal(parse(&options, &err, "--help"), CHECK_OPTIONS_HELP);
}

/* They change what was not asked for, wherever they stand. */
static void test_presets(void **state)
{
    struct check_options options;
    struct error         err;

    (void)state;
    assert_int_equal(parse(&options, &err, "-n 7 --quick"), CHECK_OPTIONS_RUN);
    assert_int_equal(options.bytes_max, 256 << 10);
    assert_int_equal(options.iterations, 7);
    assert_false(options.has_chosen);
    assert_int_equal(parse(&options, &err, "--full --html page"), CHECK_OPTIONS_RUN);
    assert_int_equal(options.bytes_max, 64 << 20);
    assert_int_equal(options.factor, 4);
    assert_string_equal(options.html, "page");
}

static void test_wrong_options(void **state)
{
    static const char *const cases[][2] = {
        { "--nope", "unknown option --nope" },
        { "-x", "unknown option -x" },
        { "-xn 3", "unknown option -x" },
        { "-b", "-b needs a value" },
        { "-n 0", "--iterations: '0'" },
        { "-b 4M -e 4K", "more than" },
        { "-d quad", "--dtype: 'quad'" },
        { "-o avg", "--op: 'avg'" },
        { "--backend mpi", "--backend: 'mpi'" },
        { "--quick --full", "--quick and --full" },
        { "bcast", "unknown collective 'bcast'" },
    };
    struct check_options options;
    struct error         err;
    size_t               i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(&options, &err, cases[i][0]), -1);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s: '%s' does not say '%s'", cases[i][0], err.text, cases[i][1]);
    }
}

/* ---- collectives ---- */

static void test_bus_factors(void **state)
{
    static const struct {
        const char *name;
        double      factor; /* for four ranks */
    } wants[] = { { "broadcast", 1 },      { "sendrecv", 1 },          { "all_reduce", 1.5 },
                  { "all_gather", 0.75 },  { "reduce_scatter", 0.75 }, { "alltoall", 0.75 } };
    size_t i, j;

    (void)state;
    for (i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        for (j = 0; strcmp(collectives[j].name, wants[i].name) != 0; j++)
            ;
        assert_true(collectives[j].bus_factor(4) == wants[i].factor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_half_rounding),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_load_is_exact),
        cmocka_unit_test(test_exact_max),
        cmocka_unit_test(test_patterns_are_exact),
        cmocka_unit_test(test_patterns_differ),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_bus_factors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
