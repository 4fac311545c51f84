/* test_lookup.c - names are looked up by the node's getent
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

#include "task/lookup.h"
#include "xalloc.h"

struct fixture {
    struct event_base *base;
    char               dir[64]; /* comes first in PATH */
    char              *getent, *path;
    json_t            *addresses;
    char              *why; /* NULL: there was no answer */
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    f->base = event_base_new();
    f->path = xstrdup(getenv("PATH"));
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-lookup.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->getent = xasprintf("%s/getent", f->dir);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    setenv("PATH", f->path, 1);
    unlink(f->getent);
    rmdir(f->dir);
    event_base_free(f->base);
    json_decref(f->addresses);
    free(f->why);
    free(f->getent);
    free(f->path);
    free(f);
    return 0;
}

/* A getent of the test, which comes first in PATH. */
static void getent_does(const struct fixture *f, const char *script)
{
    char *path = xasprintf("%s:%s", f->dir, f->path);
    FILE *file = fopen(f->getent, "w");

    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    chmod(f->getent, 0755);
    setenv("PATH", path, 1);
    free(path);
}

static void done_cb(const json_t *addresses, const char *why, void *arg)
{
    struct fixture *f = arg;

    assert_null(f->why);
    f->addresses = addresses != NULL ? json_deep_copy(addresses) : NULL;
    f->why = xstrdup(why);
    event_base_loopbreak(f->base);
}

static void look_up(struct fixture *f, const char *name)
{
    struct error   err;
    struct lookup *lookup = lookup_begin(f->base, name, done_cb, f, &err);

    assert_non_null(lookup);
    event_base_dispatch(f->base);
    lookup_free(lookup);
    assert_non_null(f->why);
}

static void finds_this_machine(void **state)
{
    struct fixture *f = *state;

    look_up(f, "localhost");
    assert_string_equal(f->why, "");
    assert_true(json_array_size(f->addresses) >= 1);
}

static void takes_each_address_once(void **state)
{
    struct fixture *f = *state;
    size_t          i;
    char            expected[16];

    getent_does(f, "[ \"$*\" = '-- ahosts te1' ] || exit 2\n"
                   "echo 'fe80::1 STREAM te1'\n"
                   "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do\n"
                   "    for kind in STREAM DGRAM RAW; do echo \"10.0.0.$i   $kind te1\"; done\n"
                   "done");
    look_up(f, "te1");
    assert_string_equal(f->why, "");
    assert_int_equal(json_array_size(f->addresses), LOOKUP_ADDRESSES_MAX);
    for (i = 0; i < LOOKUP_ADDRESSES_MAX; i++) {
        snprintf(expected, sizeof expected, "10.0.0.%zu", i + 1);
        assert_string_equal(json_string_value(json_array_get(f->addresses, i)), expected);
    }
}

static void says_that_a_name_is_not_known(void **state)
{
    struct fixture *f = *state;

    getent_does(f, "exit 2");
    look_up(f, "te9");
    assert_string_equal(f->why, "the name is not known there");
    assert_int_equal(json_array_size(f->addresses), 0);
}

/* A name server that does not answer holds nothing up for long. */
static void does_not_wait(void **state)
{
    struct fixture *f = *state;

    getent_does(f, "exec sleep 1000");
    look_up(f, "te9");
    assert_string_equal(f->why, "no name server answers there within 3 s");
}

static void cannot_tell(void **state)
{
    struct fixture *f = *state;

    getent_does(f, "exit 3");
    look_up(f, "te9");
    assert_string_equal(f->why, "");
    assert_int_equal(json_array_size(f->addresses), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_this_machine),
        TEST(takes_each_address_once),
        TEST(says_that_a_name_is_not_known),
        TEST(does_not_wait),
        TEST(cannot_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
