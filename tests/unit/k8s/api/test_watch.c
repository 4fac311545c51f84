/* test_watch.c - lines of a watch: what changed, where it is, and when the list has to be read anew
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/watch.h"

static int changes, gone;

static void begin(void *arg)
{
    (void)arg;
}

static void change(void *arg, json_t *object, bool is_gone)
{
    (void)arg;
    assert_non_null(json_object_get(object, "metadata"));
    changes++;
    gone += is_gone;
}

static void test_lines(void **state)
{
    static const struct {
        const char *line;
        int         rc, changes, gone;
    } rows[] = {
        { "{\"type\": \"ADDED\", \"object\": {\"metadata\": {\"resourceVersion\": \"5\"}}}", 0,
          1, 0 },
        { "{\"type\": \"MODIFIED\", \"object\": {\"metadata\": {}}}", 0, 1, 0 },
        { "{\"type\": \"DELETED\", \"object\": {\"metadata\": {}}}", 0, 1, 1 },
        { "{\"type\": \"BOOKMARK\", \"object\": {\"metadata\": {\"resourceVersion\": \"9\"}}}",
          0, 0, 0 },
        { "{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", \"code\": 410}}", -1, 0,
          0 },
        { "{\"type\": \"ADDED\", \"object\": {\"metadata\"", -1, 0, 0 },
        { "{\"type\": 3, \"object\": {}}", -1, 0, 0 },
        { "{\"type\": \"ADDED\"}", -1, 0, 0 },
        { "[]", -1, 0, 0 },
        { "", -1, 0, 0 },
    };
    static const struct watch_ops ops = { .begin = begin, .change = change };
    struct api                   *api = api_open_socket("/nowhere/socket");
    struct watch                 *watch = watch_open(api, "/api/v1/pods", "a=b", &ops, NULL);
    size_t                        i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        changes = gone = 0;
        assert_int_equal(watch_take_line(watch, rows[i].line, strlen(rows[i].line)), rows[i].rc);
        assert_int_equal(changes, rows[i].changes);
        assert_int_equal(gone, rows[i].gone);
    }
    watch_close(watch);
    api_close(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
