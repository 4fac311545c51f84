/* test_wheels.c - a plugin whose library only a Python package has
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/plugin.h"
#include "comm/wheels.h"
#include "xalloc.h"

#define LIBRARY "libmuster_wheel.so.1" /* the soname of wheel_library.so */

static char dir[] = "/tmp/muster-wheels-XXXXXX";

/* Makes a Python of a kind: with packages that have the library, or not. Returns its path. */
static char *make_python(const char *name, bool has_library)
{
    char *python = xasprintf("%s/%s/bin/python3", dir, name), *command, here[PATH_MAX];

    assert_non_null(realpath("/proc/self/exe", here));
    *strrchr(here, '/') = '\0';
    command = xasprintf("cd %s && mkdir -p %s/bin %s/lib/python3.9/site-packages/nvidia/some/lib "
                        "&& echo >%s && chmod 755 %s && { %s || cp %s/wheel_library.so "
                        "%s/lib/python3.9/site-packages/nvidia/some/lib/" LIBRARY "; }",
                        dir, name, name, python, python, has_library ? "false" : "true", here,
                        name);
    assert_int_equal(system(command), 0);
    free(command);
    return python;
}

static void *load(struct error *err)
{
    return plugin_symbol("wheel_plugin.so", "wheel_twice", err);
}

static void test_library_of_a_package(void **state)
{
    char        *without = make_python("without", false), *with = make_python("with", true);
    char        *path = xasprintf("relative:%s/without/bin:%s/with/bin", dir, dir);
    struct error err;
    int        (*twice)(int);

    (void)state;
    setenv("PATH", "/nonexistent", 1);
    assert_null(load(&err));
    assert_non_null(strstr(err.text, LIBRARY ": cannot open shared object file"));
    wheels_set_python(without);
    assert_null(load(&err));
    assert_false(wheels_load(LIBRARY));
    wheels_set_python("with/bin/python3"); /* a relative one could be anybody's */
    assert_false(wheels_load(LIBRARY));
    assert_null(plugin_symbol("no_such_plugin.so", "wheel_twice", &err));
    assert_non_null(strstr(err.text, "no_such_plugin.so is not installed"));

    wheels_set_python(without);
    setenv("PATH", path, 1);
    *(void **)&twice = load(&err);
    assert_non_null(twice);
    assert_int_equal(twice(21), 42);
    setenv("PATH", "/nonexistent", 1);
    wheels_set_python(with);
    assert_true(wheels_load(LIBRARY));
    wheels_set_python(NULL);
    free(path);
    free(with);
    free(without);
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
    char *command = xasprintf("/bin/rm -rf %s", dir);
    int   rc = system(command);

    (void)state;
    free(command);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_of_a_package),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
