/* test_watch.c - lines of a watch: what changed, where it is, and when the list has to be read
 * anew; and requests that are interrupted
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/watch.h"
#include "clock.h"

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

/* Ctrl-C while the server is away. */
static void test_break(void **state)
{
    struct api  *api = api_open_socket("/nowhere/socket");
    int64_t      began = clock_now_ns();
    struct error err;
    int          ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    api_break_on(api, ends[0]);
    assert_int_equal(api_request(api, "GET", "/version", NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "interrupted"));
    assert_true(clock_now_ns() - began < API_PATIENCE_S * NS_PER_S / 2);
    close(ends[0]);
    close(ends[1]);
    api_close(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_break),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
