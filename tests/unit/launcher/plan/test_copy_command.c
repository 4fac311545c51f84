/* test_copy_command.c - which command copies what a node lacks
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/copy_command.h"
#include "xalloc.h"

static char top[] = "/tmp/test-copy-command-XXXXXX";

/* Makes the file top/path, and its directories. */
static void make(const char *path)
{
    char *full = xasprintf("%s/%s", top, path), *slash = full + strlen(top);
    FILE *file;

    while ((slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fclose(file);
    free(full);
}

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(top) == NULL)
        return -1;
    setenv("HOME", "/tmp", 1);
    make("home/train.py");
    make("venv/pyvenv.cfg");
    make("venv/bin/python");
    make("conda/conda-meta/history");
    make("conda/bin/python3.11");
    make("uv/lib/python3.11/os.py");
    make("uv/bin/python3.11");
    make("tools/bin/train");
    make("it's mine/x");
    return 0;
}

static int end(void **state)
{
    char *command = xasprintf("rm -r %s", top);
    int   rc = system(command);

    (void)state;
    free(command);
    return rc;
}

/* copied: below top; NULL: there is no command. */
static void check(const char *path, const char *copied)
{
    struct options options = { 0 };
    char *full = xasprintf("%s/%s", top, path), *made = copy_command(&options, NULL, full);
    char *expected = copied != NULL ? xasprintf("muster bcast %s/%s", top, copied) : NULL;

    if (expected == NULL)
        assert_null(made);
    else
        assert_string_equal(made, expected);
    free(full);
    free(made);
    free(expected);
}

static void test_what_is_copied(void **state)
{
    (void)state;
    check("home/train.py", "home/train.py");
    check("home", "home");
    check("venv/bin/python", "venv");
    check("conda/bin/python3.11", "conda");
    check("uv/bin/python3.11", "uv");
    check("tools/bin/train", "tools/bin/train");
    check("no/such", NULL);
    check("venv/bin/none", "venv"); /* the environment is here */
}

static void test_what_is_not(void **state)
{
    static const char *const paths[] = { "", "/", "/tmp", "/usr/bin/env", "/bin/sh", "relative" };
    struct options           options = { 0 };
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_null(copy_command(&options, NULL, paths[i]));
    setenv("HOME", top, 1);
    assert_null(copy_command(&options, NULL, top));
    setenv("HOME", "/tmp", 1);
}

static void test_words(void **state)
{
    struct options options = { 0 };
    char          *cwd = xasprintf("%s/it's mine", top), *made, *expected;

    (void)state;
    strlist_add(&options.host_words, "--hostfile=my hosts");
    strlist_add(&options.host_words, "--ssh_port=2222");
    made = copy_command(&options, cwd, "./x");
    expected = xasprintf("muster bcast '--hostfile=my hosts' --ssh_port=2222 '%s/it'\\''s mine/x'",
                         top);
    assert_string_equal(made, expected);
    strlist_clear(&options.host_words);
    free(expected);
    free(made);
    free(cwd);
}

/* text: what a rank wrote; copied: below top; NULL: there is no command. */
static void check_module(const char *python, const char *text, const char *copied)
{
    struct options options = { 0 };
    char *cwd = xasprintf("%s/home", top), *full = xasprintf("%s/%s", top, python);
    char *made = copy_command_module(&options, cwd, full, text);
    char *expected = copied != NULL ? xasprintf("muster bcast %s/%s", top, copied) : NULL;

    if (expected == NULL)
        assert_null(made);
    else
        assert_string_equal(made, expected);
    free(cwd);
    free(full);
    free(made);
    free(expected);
}

static void test_modules(void **state)
{
    char *long_name = xmalloc(1001), *home = xasprintf("%s/user", top);

    (void)state;
    make("venv/lib/python3.11/site-packages/torch/__init__.py");
    make("venv/lib/python3.11/site-packages/one.cpython-311.so");
    make("home/utils.py");
    make("home/mine/x.py");
    make("user/.local/lib/python3.11/site-packages/six.py");
    check_module("venv/bin/python", "torch.nn'", "venv");
    check_module("venv/bin/python", "one'", "venv");
    check_module("venv/bin/python", "utils'", "home/utils.py");
    check_module("conda/bin/python3.11", "mine.x'", "home/mine");
    check_module("conda/bin/python3.11", "torch'", NULL);
    check_module("tools/bin/train", "torch'", NULL);
    setenv("HOME", "/nowhere", 1);
    check_module("venv/bin/python", "six'", NULL);
    setenv("HOME", home, 1);
    check_module("venv/bin/python", "six'", "user/.local/lib/python3.11/site-packages");
    setenv("HOME", "/tmp", 1);
    /* Ranks may write anything. */
    check_module("venv/bin/python", "", NULL);
    check_module("venv/bin/python", "'", NULL);
    check_module("venv/bin/python", "*'", NULL);
    check_module("venv/bin/python", "../home", NULL);
    check_module("venv/bin/python", "/etc", NULL);
    memset(long_name, 't', 1000);
    long_name[1000] = '\0';
    check_module("venv/bin/python", long_name, NULL);
    free(long_name);
    free(home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_copied),
        cmocka_unit_test(test_what_is_not),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_modules),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
