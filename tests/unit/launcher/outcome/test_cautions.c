/* test_cautions.c - warnings of before the start, of which a failure reminds
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

#include <cmocka.h>

#include "log.h"
#include "outcome/cautions.h"
#include "xalloc.h"

static char   *warned; /* all warnings */
static size_t  warned_size, seen;
static FILE   *warnings;

static void sink(const char *line, size_t size, void *arg)
{
    (void)arg;
    fwrite(line, 1, size, warnings);
}

static int setup(void **state)
{
    struct cautions *cautions = xcalloc(1, sizeof *cautions);

    seen = 0;
    warnings = open_memstream(&warned, &warned_size);
    assert_non_null(warnings);
    log_init("test", LOG_WARN);
    log_sink(sink, NULL);
    *state = cautions;
    return 0;
}

static int teardown(void **state)
{
    cautions_clear(*state);
    free(*state);
    log_sink(NULL, NULL);
    fclose(warnings);
    free(warned);
    return 0;
}

/* What was warned of since the last time. */
static void expect_warned(const char *text)
{
    fflush(warnings);
    assert_string_equal(warned + seen, text);
    seen = warned_size;
}

static void expect_printed(const struct cautions *cautions, const char *text)
{
    char  *printed = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&printed, &size);

    assert_non_null(out);
    cautions_print(cautions, out);
    fclose(out);
    assert_string_equal(printed, text);
    free(printed);
}

static void tells_once_and_prints_always(void **state)
{
    struct cautions *cautions = *state;

    assert_false(cautions_any(cautions));
    cautions_add(cautions, "te2", "no ib0");
    cautions_add(cautions, "te1", "no name");
    cautions_add(cautions, "te3", "no ib0");
    cautions_add(cautions, "te3", "no ib0");
    assert_true(cautions_any(cautions));
    cautions_tell(cautions);
    expect_warned("test: warning: te[2-3]: no ib0\ntest: warning: te1: no name\n");
    cautions_tell(cautions);
    expect_warned("");
    expect_printed(cautions, "muster: te[2-3]: no ib0\nmuster: te1: no name\n");
}

/* te3 has been replaced by te4. */
static void looks_again(void **state)
{
    struct cautions *cautions = *state;
    json_t          *json;

    cautions_add(cautions, "te2", "no ib0");
    cautions_add(cautions, "te3", "no ib0");
    cautions_tell(cautions);
    expect_warned("test: warning: te[2-3]: no ib0\n");
    cautions_again(cautions);
    assert_false(cautions_any(cautions));
    expect_printed(cautions, "");
    cautions_add(cautions, "te2", "no ib0");
    cautions_add(cautions, "te4", "no ib0");
    cautions_tell(cautions);
    expect_warned("test: warning: te4: no ib0\n");
    expect_printed(cautions, "muster: te[2,4]: no ib0\n");
    json = cautions_json(cautions);
    assert_int_equal(json_array_size(json), 1);
    assert_int_equal(json_array_size(json_object_get(json_array_get(json, 0), "hosts")), 2);
    json_decref(json);
}

static void is_bounded_and_safe(void **state)
{
    struct cautions *cautions = *state;
    char             text[32];
    int              i;

    for (i = 0; i < CAUTIONS_MAX + 10; i++) {
        snprintf(text, sizeof text, "no ib%d", i);
        cautions_add(cautions, "te1", text);
    }
    assert_int_equal(cautions->count, CAUTIONS_MAX);
    cautions_clear(cautions);
    cautions_add(cautions, "te1", "no \033]0;x\007");
    expect_printed(cautions, "muster: te1: no ^[]0;x^G\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_once_and_prints_always, setup, teardown),
        cmocka_unit_test_setup_teardown(looks_again, setup, teardown),
        cmocka_unit_test_setup_teardown(is_bounded_and_safe, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
