/* test_resume_line.c - the line that starts a run again: what it names, and when there is none
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history/resume_line.h"

static void assert_text(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static int no_variables(void **state)
{
    (void)state;
    unsetenv("TOKEN");
    unsetenv("LAST");
    return 0;
}

/* Options that are alike, the same variable twice, and the variables of each role. */
static void test_names(void **state)
{
    struct options role[2] = { 0 }, options = { .roles = 2, .role = role };
    struct strlist names = { 0 };

    (void)state;
    strlist_add(&options.given, "--env-file=a");
    strlist_add(&options.given, "--env=TOKEN");
    strlist_add(&options.given, "--env=HF_*"); /* no one variable */
    strlist_add(&options.given, "--env=-HF_TOKEN");
    strlist_add(&options.given, "--hosts=--env=X");
    strlist_add(&role[0].given, "--env=TOKEN");
    strlist_add(&role[1].given, "--env=LAST");
    resume_line_variables(&options, &names);
    assert_int_equal(names.count, 2);
    assert_text(resume_line("id", &names), "TOKEN=VALUE LAST=VALUE muster resume id");
    assert_text(resume_line_lacks(&names), "TOKEN LAST");
    setenv("TOKEN", "", true);
    assert_text(resume_line("id", &names), "LAST=VALUE muster resume id");
    assert_text(resume_line_lacks(&names), "LAST");
    setenv("LAST", "1", true);
    assert_text(resume_line("id", &names), "muster resume id");
    assert_null(resume_line_lacks(&names));
    strlist_clear(&names);
    strlist_clear(&options.given);
    strlist_clear(&role[0].given);
    strlist_clear(&role[1].given);
}

static void test_advice(void **state)
{
    char           file[] = "hosts", input[] = "-", latin1[] = "\xe9.py";
    struct options options = { .hostfile = file };

    (void)state;
    strlist_add(&options.given, "--env=TOKEN");
    assert_text(resume_line_advice(&options, "id", true),
                "TOKEN=VALUE muster resume id starts the run again");
    assert_text(resume_line_advice(&options, "id", false),
                "muster resume cannot find this run, which has no directory: start a new one");
    strlist_add(&options.args, "\xc3\xa9");
    assert_text(resume_line_advice(&options, "id", true),
                "TOKEN=VALUE muster resume id starts the run again");
    strlist_add(&options.args, "a\xff");
    assert_text(resume_line_advice(&options, "id", true),
                "muster resume cannot repeat its arguments, which are not UTF-8: start a new run");
    strlist_clear(&options.args);
    options.script = latin1;
    assert_text(resume_line_advice(&options, "id", true),
                "muster resume cannot repeat its arguments, which are not UTF-8: start a new run");
    options.script = NULL;
    options.hostfile = input;
    assert_text(resume_line_advice(&options, "id", true),
                "muster resume cannot read its hostfile, which was standard input: start a new "
                "run");
    strlist_clear(&options.given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_names, no_variables),
        cmocka_unit_test_setup(test_advice, no_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
