/* test_event.c - which Events are about a job, and what its Pods use by metrics-server's documents
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

#include "life/event.h"
#include "life/usage.h"

#define AT_S 1795359600 /* 2026-11-22T15:00:00Z */

static json_t *event_about(const char *kind, const char *name, const char *fields)
{
    char    text[600];
    json_t *document;

    snprintf(text, sizeof text,
             "{\"involvedObject\": {\"kind\": \"%s\", \"name\": \"%s\"}, \"type\": \"Warning\", "
             "\"reason\": \"Failed\", \"message\": \"a\\u001b\\nb\"%s}", kind, name, fields);
    document = json_loads(text, 0, NULL);
    assert_non_null(document);
    return document;
}

static void test_objects(void **state)
{
    static const struct {
        const char *kind, *name;
        bool        is_ours;
    } rows[] = {
        { "Pod", "j-worker-0", true },
        { "Pod", "j-worker-12", true },
        { "Pod", "j-worker-", false },
        { "Pod", "j-worker-0a", false },
        { "Pod", "j-launcher", true },
        { "Pod", "j-launcher-2", false },
        { "Pod", "jj-worker-0", false },
        { "ConfigMap", "j", true },
        { "DeepSpeedJob", "j", true },
        { "Job", "j", false },
        { "Secret", "j-worker-keys", true },
        { "ReplicaSet", "j-tensorboard-54d8", true },
        { "Pod", "j-tensorboard-54d8-x", true },
    };
    struct job   job = { .name = (char *)"j" };
    struct event event;
    json_t      *document;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        document = event_about(rows[i].kind, rows[i].name, "");
        assert_int_equal(event_take(&event, &job, 0, document), rows[i].is_ours);
        json_decref(document);
    }
}

static void test_fields(void **state)
{
    struct job   job = { .name = (char *)"j" };
    struct event event;
    json_t *old = event_about("Pod", "j-launcher", ", \"lastTimestamp\": \"2026-11-22T15:00:00Z\", "
                                                   "\"count\": 3");
    json_t *new = event_about("Pod", "j-launcher",
                              ", \"lastTimestamp\": null, "
                              "\"eventTime\": \"2026-11-22T15:00:00.123456Z\"");
    json_t *none = json_pack("{}");

    (void)state;
    assert_true(event_take(&event, &job, AT_S, old));
    assert_int_equal(event.at_s, AT_S);
    assert_int_equal(event.count, 3);
    assert_string_equal(event.object, "Pod/j-launcher");
    assert_string_equal(event.reason, "Failed");
    assert_null(strchr(event.message, '\033'));
    assert_null(strchr(event.message, '\n'));
    assert_false(event_take(&event, &job, AT_S + 1, old)); /* of an earlier job */
    assert_true(event_take(&event, &job, AT_S, new));
    assert_int_equal(event.at_s, AT_S);
    assert_int_equal(event.count, 1);
    assert_false(event_take(&event, &job, 0, none));
    json_decref(old);
    json_decref(new);
    json_decref(none);
}

static void test_usage(void **state)
{
    static const char text[] =
        "{\"items\": [{\"metadata\": {\"name\": \"j-worker-0\"}, \"containers\": ["
        "{\"usage\": {\"cpu\": \"1500000000n\", \"memory\": \"1024Ki\"}},"
        "{\"usage\": {\"cpu\": \"250m\", \"memory\": \"1Mi\"}}]},"
        "{\"metadata\": {\"name\": \"j-worker-1\"}, \"containers\": [{\"usage\": {\"cpu\": "
        "\"x\"}}]}, 7, {\"metadata\": {\"name\": 7}}]}";
    json_t      *list = json_loads(text, 0, NULL), *none = json_pack("[]");
    struct usage usage;

    (void)state;
    assert_true(usage_of_pod(&usage, list, "j-worker-0"));
    assert_true(usage.cores > 1.749 && usage.cores < 1.751);
    assert_true(usage.bytes > 2097151 && usage.bytes < 2097153);
    assert_false(usage_of_pod(&usage, list, "j-worker-1"));
    assert_false(usage_of_pod(&usage, list, "j-worker-2"));
    assert_false(usage_of_pod(&usage, none, "j-worker-0"));
    json_decref(list);
    json_decref(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
