/* test_kvs.c - the key-value space and its barrier
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame.h"
#include "rendezvous/kvs.h"
#include "xalloc.h"

static int node_in(struct kvs *kvs, size_t node, const char *text, struct error *err)
{
    json_t *body = json_loads(text, 0, NULL);
    int     rc;

    assert_non_null(body);
    rc = kvs_node_in(kvs, node, body, err);
    json_decref(body);
    return rc;
}

static void expect_answer(struct kvs *kvs, const char *text)
{
    json_t *body = kvs_take(kvs);
    char   *seen = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(seen, text);
    assert_null(kvs_take(kvs));
    free(seen);
    json_decref(body);
}

static void test_union_after_the_last(void **state)
{
    struct kvs  *kvs = kvs_new(3);
    struct error err;

    (void)state;
    assert_null(kvs_take(kvs));
    assert_false(kvs_is_late(kvs, 2));
    assert_int_equal(node_in(kvs, 1, "{\"put\":{\"b\":\"2\",\"same\":\"x\"}}", &err), 0);
    assert_int_equal(node_in(kvs, 0, "{\"put\":{}}", &err), 0);
    assert_true(kvs_is_late(kvs, 2));
    assert_false(kvs_is_late(kvs, 1));
    assert_null(kvs_take(kvs));
    assert_int_equal(node_in(kvs, 2, "{\"put\":{\"c\":\"\",\"same\":\"x\"}}", &err), 1);
    assert_false(kvs_is_late(kvs, 2));
    expect_answer(kvs, "{\"put\":{\"b\":\"2\",\"c\":\"\",\"same\":\"x\"}}");

    /* the next barrier begins with nothing */
    assert_int_equal(node_in(kvs, 2, "{\"put\":{}}", &err), 0);
    assert_int_equal(node_in(kvs, 1, "{\"put\":{}}", &err), 0);
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"b\":\"3\"}}", &err), 1);
    expect_answer(kvs, "{\"put\":{\"b\":\"3\"}}");
    kvs_free(kvs);
}

/* What a generation has put is not there for the next one, nor are its nodes. */
static void test_again(void **state)
{
    struct kvs  *kvs = kvs_new(2);
    struct error err;

    (void)state;
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"a\":\"1\"}}", &err), 0);
    kvs_again(kvs, 3);
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"a\":\"2\"}}", &err), 0);
    assert_int_equal(node_in(kvs, 2, "{\"put\":{}}", &err), 0);
    assert_int_equal(node_in(kvs, 1, "{\"put\":{}}", &err), 1);
    expect_answer(kvs, "{\"put\":{\"a\":\"2\"}}");
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"a\":\"3\"}}", &err), 0);
    kvs_again(kvs, 1);
    assert_null(kvs_take(kvs));
    kvs_free(kvs);
}

/* A node's puts in several frames: it is in with the last. */
static void test_parts_of_a_node(void **state)
{
    struct kvs  *kvs = kvs_new(2);
    struct error err;

    (void)state;
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"a\":\"1\"},\"more\":true}", &err), 0);
    assert_int_equal(node_in(kvs, 1, "{\"put\":{}}", &err), 0);
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"b\":\"2\"},\"more\":true}", &err), 0);
    assert_int_equal(node_in(kvs, 0, "{\"put\":{\"c\":\"3\"},\"more\":false}", &err), 1);
    expect_answer(kvs, "{\"put\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}");
    kvs_free(kvs);
}

static void test_wrong_frames(void **state)
{
    static const struct {
        const char *body;
        const char *why;
    } rows[] = {
        { "{}", "no object" },
        { "{\"put\":[]}", "no object" },
        { "{\"put\":{\"a b\":\"v\"}}", "not a PMI key" },
        { "{\"put\":{\"\\u00e9\":\"v\"}}", "not a PMI key" },
        { "{\"put\":{\"a\\n\":\"v\"}}", "not a PMI key" },
        { "{\"put\":{\"0123456789012345678901234567890123456789012345678901234567890123x\":\"\"}}",
          "not a PMI key" },
        { "{\"put\":{\"a\":1}}", "value of a is not a string" },
        { "{\"put\":{\"a\":\"x y\"}}", "value of a is not a PMI value" },
        { "{\"put\":{\"a\":\"x\\ny\"}}", "value of a is not a PMI value" },
        { "{\"put\":{\"taken\":\"2\"}}", "key taken was put twice, as '1' and as '2'" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kvs  *kvs = kvs_new(3);
        struct error err;

        assert_int_equal(node_in(kvs, 0, "{\"put\":{\"taken\":\"1\"}}", &err), 0);
        assert_int_equal(node_in(kvs, 1, rows[i].body, &err), -1);
        assert_non_null(strstr(err.text, rows[i].why));
        kvs_free(kvs);
    }
}

static void test_same_node_twice(void **state)
{
    struct kvs  *kvs = kvs_new(2);
    struct error err;

    (void)state;
    assert_int_equal(node_in(kvs, 0, "{\"put\":{}}", &err), 0);
    assert_int_equal(node_in(kvs, 0, "{\"put\":{}}", &err), -1);
    assert_non_null(strstr(err.text, "already"));
    assert_int_equal(node_in(kvs, 2, "{\"put\":{}}", &err), -1);
    kvs_free(kvs);
}

/* Keys of one size each; the sum decides. */
static json_t *many(size_t first, size_t count, size_t value_size)
{
    json_t *put = json_object();
    char   *value = xmalloc(value_size + 1);
    size_t  i;

    memset(value, 'v', value_size);
    value[value_size] = '\0';
    for (i = 0; i < count; i++) {
        char *key = xasprintf("key-%zu", first + i);

        json_object_set_new(put, key, json_string(value));
        free(key);
    }
    free(value);
    return json_pack("{s:o}", "put", put);
}

static int many_in(struct kvs *kvs, size_t node, json_t *body, struct error *err)
{
    int rc = kvs_node_in(kvs, node, body, err);

    json_decref(body);
    return rc;
}

static void test_bounds(void **state)
{
    struct kvs  *kvs = kvs_new(1);
    struct error err;
    size_t       i;
    int          rc = 1;

    (void)state;
    assert_int_equal(many_in(kvs, 0, many(0, 1, KVS_VALUE_MAX), &err), 1);
    assert_int_equal(many_in(kvs, 0, many(0, 1, KVS_VALUE_MAX + 1), &err), -1);
    assert_non_null(strstr(err.text, "up to 1024"));
    for (i = 0; rc == 1 && i < 100; i++)
        rc = many_in(kvs, 0, many(i * 800, 800, KVS_VALUE_MAX), &err);
    assert_int_equal(rc, -1);
    assert_in_range(i, 70, 76); /* each pair counts with what it takes in memory */
    assert_non_null(strstr(err.text, "more than 64 MiB"));
    kvs_free(kvs);
}

/* Each node's frame fits, the union does not: it goes in parts that do. */
static void test_large_union(void **state)
{
    struct kvs  *kvs = kvs_new(2);
    struct error err;
    json_t      *body;
    size_t       keys = 0, parts = 0;
    bool         more = true;

    (void)state;
    assert_int_equal(many_in(kvs, 0, many(0, 900, KVS_VALUE_MAX), &err), 0);
    assert_int_equal(many_in(kvs, 1, many(900, 900, KVS_VALUE_MAX), &err), 1);
    while ((body = kvs_take(kvs)) != NULL) {
        assert_true(more);
        assert_true(json_dumpb(body, NULL, 0, JSON_COMPACT) <= FRAME_BODY_MAX);
        keys += json_object_size(json_object_get(body, "put"));
        more = json_is_true(json_object_get(body, "more"));
        parts++;
        json_decref(body);
    }
    assert_false(more);
    assert_int_equal(keys, 1800);
    assert_in_range(parts, 2, 4);
    kvs_free(kvs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_union_after_the_last),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_parts_of_a_node),
        cmocka_unit_test(test_wrong_frames),
        cmocka_unit_test(test_same_node_twice),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_large_union),
    };

    return cmocka_run_group_tests_name("kvs", tests, NULL, NULL);
}
