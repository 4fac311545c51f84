/* test_horovod_store.c - what Horovod's ranks put, get and delete
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

#include "rank/horovod_store.h"
#include "xalloc.h"

static int setup(void **state)
{
    *state = horovod_store_new();
    return 0;
}

static int teardown(void **state)
{
    horovod_store_free(*state);
    return 0;
}

static int get(struct horovod_store *store, const char *path, const char *expected)
{
    const void *value = NULL;
    size_t      size = 0;
    int         status = horovod_store_get(store, path, &value, &size);

    if (status == 200) {
        assert_non_null(expected);
        assert_int_equal(size, strlen(expected));
        assert_memory_equal(value, expected, size);
    }
    return status;
}

static void keeps_what_was_put(void **state)
{
    struct horovod_store *store = *state;
    const char            bytes[] = { 'a', '\0', (char)0xff };
    const void           *value;
    size_t                size;

    assert_int_equal(get(store, "/global/0", NULL), 404);
    assert_int_equal(horovod_store_put(store, "/global/0", "zero", 4), 200);
    assert_int_equal(horovod_store_put(store, "/local_te1/0", "", 0), 200);
    assert_int_equal(horovod_store_put(store, "/global/1", bytes, sizeof bytes), 200);
    assert_int_equal(get(store, "/global/0", "zero"), 200);
    assert_int_equal(get(store, "/local_te1/0", ""), 200); /* a value, though an empty one */
    assert_int_equal(horovod_store_get(store, "/global/1", &value, &size), 200);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(value, bytes, sizeof bytes);
    assert_int_equal(get(store, "/global/10", NULL), 404);

    assert_int_equal(horovod_store_put(store, "/global/0", "other", 5), 200);
    assert_int_equal(get(store, "/global/0", "other"), 200);
}

/* Once all are connected. The next hvd.init() must not find the addresses of this one. */
static void forgets_what_was_deleted(void **state)
{
    struct horovod_store *store = *state;

    horovod_store_put(store, "/cross_0/1", "one", 3);
    assert_int_equal(horovod_store_delete(store, "/cross_0/0"), 200); /* there is none */
    assert_int_equal(get(store, "/cross_0/1", "one"), 200);
    assert_int_equal(horovod_store_delete(store, "/cross_0/1"), 200);
    assert_int_equal(get(store, "/cross_0/1", NULL), 404);
}

/* Whoever could read it could make the ranks execute code. */
static void keeps_no_secret(void **state)
{
    struct horovod_store *store = *state;

    assert_int_equal(horovod_store_put(store, "/worker_addresses/te1:0", "secret", 6), 200);
    assert_int_equal(get(store, "/worker_addresses/te1:0", NULL), 404);
}

static void refuses_other_paths(void **state)
{
    static const char *const bad[] = { "", "/", "//", "///", "global/0", "/global", "/global/",
                                       "//0", "/a/b/c", "/a/b/", "/a b/0", "/a/0\n", "/a/\x7f",
                                       "/a/\xc3\xa4", "http://te1/global/0", "*" };
    struct horovod_store *store = *state;
    char                 *longest;
    size_t                i;

    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(horovod_store_put(store, bad[i], "x", 1), 400);
        assert_int_equal(get(store, bad[i], NULL), 400);
        assert_int_equal(horovod_store_delete(store, bad[i]), 400);
    }
    longest = xasprintf("/a/%0*d", HOROVOD_PATH_MAX - 3, 0);
    assert_int_equal(horovod_store_put(store, longest, "x", 1), 200);
    free(longest);
    longest = xasprintf("/a/%0*d", HOROVOD_PATH_MAX - 2, 0);
    assert_int_equal(horovod_store_put(store, longest, "x", 1), 400);
    free(longest);
}

static void has_limits(void **state)
{
    struct horovod_store *store = *state;
    char                 *value = xcalloc(1, HOROVOD_VALUE_MAX + 1), path[40];
    int                   i, status = 200;

    assert_int_equal(horovod_store_put(store, "/global/0", value, HOROVOD_VALUE_MAX + 1), 413);
    assert_int_equal(get(store, "/global/0", NULL), 404);
    for (i = 0; status == 200; i++) {
        snprintf(path, sizeof path, "/global/%d", i);
        status = horovod_store_put(store, path, value, HOROVOD_VALUE_MAX);
    }
    assert_int_equal(status, 507);
    assert_int_equal(i, HOROVOD_STORE_MAX / HOROVOD_VALUE_MAX);

    /* What was deleted or replaced makes room again. */
    horovod_store_delete(store, "/global/0");
    assert_int_equal(horovod_store_put(store, path, value, HOROVOD_VALUE_MAX), 200);
    for (i = 0; i < 10; i++)
        assert_int_equal(horovod_store_put(store, path, value, HOROVOD_VALUE_MAX), 200);
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_what_was_put, setup, teardown),
        cmocka_unit_test_setup_teardown(forgets_what_was_deleted, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_no_secret, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(has_limits, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
