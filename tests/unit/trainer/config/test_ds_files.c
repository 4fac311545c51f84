/* test_ds_files.c - whole files, as other projects have them
 *
 * unit/trainer/ds_configs has files with the keys of public ones, each with what is said of it:
 * its notes, or all its problems. The command line gives the sizes and the rate, as theirs do.
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

#include "config/ds_config.h"
#include "file.h"
#include "xalloc.h"

#define FILES TOP_SRCDIR "/tests/unit/trainer/ds_configs/"

/* Is each line, without the path before it, one of the file? */
static void expect_lines(const struct strlist *lines, const char *path)
{
    char  *said = xasprintf("%.*s.said", (int)(strlen(path) - strlen(".json")), path), *text;
    char  *rest, *wanted;
    size_t size, i;

    rest = text = file_read(said, 1 << 16, &size, NULL);
    assert_non_null(text);
    for (i = 0; i < lines->count; i++) {
        wanted = strsep(&rest, "\n");
        assert_non_null(wanted);
        if (strcmp(lines->item[i] + strlen(path), wanted) != 0)
            fail_msg("'%s' is not '%s'", lines->item[i], wanted);
    }
    assert_string_equal(rest, "");
    free(text);
    free(said);
}

static void expect_said(const char *name)
{
    const struct ds_given given = { .lr = 2e-5, .micro_batch = 2 };
    struct strlist        problems = { 0 };
    struct error          err;
    char                 *path = xasprintf(FILES "%s.json", name);
    struct ds_config     *config = ds_config_read_for_run(path, &given, &problems, &err);

    assert_int_equal(config == NULL, strcmp(name, "refused") == 0);
    if (config != NULL)
        assert_int_equal(ds_config_resolve(config, 4, &err), 0);
    expect_lines(config != NULL ? &config->notes : &problems, path);
    ds_config_free(config);
    strlist_clear(&problems);
    free(path);
}

static void test_files(void **state)
{
    static const char *const names[] = { "auto_zero2_compile", "auto_zero3", "bf16_scale",
                                         "older_offload", "oldest_zero", "refused", "reports" };
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        expect_said(names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
