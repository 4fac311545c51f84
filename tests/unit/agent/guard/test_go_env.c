/* test_go_env.c - variables that come with GO
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "guard/go_env.h"

#define BODY(text) { text, sizeof text - 1 }
#define SIXTEEN "A=\0B=\0C=\0D=\0E=\0F=\0G=\0H=\0I=\0J=\0K=\0L=\0M=\0N=\0O=\0P=\0"
#define EIGHTY  SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN

static struct go_env *env;

static int set_up(void **state)
{
    struct error err;

    (void)state;
    env = go_env_new(&err);
    return env != NULL ? 0 : -1;
}

static void test_bodies(void **state)
{
    static const struct {
        const char *text;
        size_t      size;
    } good[] = { BODY(""), BODY("\0"), BODY("A=\0"), BODY("A=1\0B=\0\0C=3\0"), BODY("\0C=3\0"),
                 BODY(EIGHTY), BODY("A=1\0A=2\0") },
      bad[] = { BODY("A"), BODY("A=1"), BODY("A\0"), BODY("=1\0"), BODY("=\0"), BODY("A=1\0\0\0"),
                BODY("\0\0"), BODY("A=1\0\0B=2\0\0"), BODY(EIGHTY "Q=\0"), BODY("\0A=1\0B") };
    static char  much[GO_ENV_BYTES + 1] = "A=";
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(go_env_set(env, good[i].text, good[i].size, &err), 0);
    assert_int_equal(go_env_set(env, NULL, 0, &err), 0);
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(go_env_set(env, bad[i].text, bad[i].size, &err), -1);
    memset(much + 2, 'x', sizeof much - 3);
    assert_int_equal(go_env_set(env, much, sizeof much, &err), -1);
    assert_non_null(strstr(err.text, "16385 bytes"));
    much[sizeof much - 2] = '\0';
    assert_int_equal(go_env_set(env, much, sizeof much - 1, &err), 0);
}

static void test_lay(void **state)
{
    static const char body[] = "B=go\0AB=go\0\0A=default\0B=default\0D=default";
    char              own[3][8] = { "A=1", "B=1", "ABC=1" };
    char             *variables[3 + GO_ENV_VARIABLES + 1] = { own[0], own[1], own[2] };
    struct error      err;

    (void)state;
    assert_int_equal(go_env_set(env, body, sizeof body, &err), 0);
    go_env_lay(env, variables);
    assert_string_equal(variables[0], "A=1");
    assert_string_equal(variables[1], "B=go");
    assert_string_equal(variables[2], "ABC=1");
    assert_string_equal(variables[3], "AB=go");
    assert_string_equal(variables[4], "D=default");
    assert_null(variables[5]);
    assert_int_equal(go_env_set(env, "", 0, &err), 0); /* not what was there before */
    variables[0] = NULL;
    go_env_lay(env, variables);
    assert_null(variables[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_lay),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
