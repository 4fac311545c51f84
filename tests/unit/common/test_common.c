/* test_common.c - numbers, lists of strings, frames, host ranges, whole files, ids of runs, names
 * of signals, FNV-1a
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "exit_code.h"
#include "file.h"
#include "fnv.h"
#include "frame.h"
#include "hostrange.h"
#include "number.h"
#include "runid.h"
#include "strlist.h"
#include "xalloc.h"

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t     number;
    } good[] = {
        { "0", 0 },
        { "007", 7 },
        { "-5", -5 },
        { "65535", 65535 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808", INT64_MIN },
    };
    static const char *const bad[] = { "",        "-",   "+1", " 1",
                                       "1 ",      "1x",  "x4", "0x10",
                                       "1e3",     "--1", "1-", "9223372036854775808",
                                       "\xd9\xa1" /* Arabic 1 */ };
    struct error             err;
    int64_t                  number;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(parse_number(good[i].text, INT64_MIN, INT64_MAX, &number, &err), 0);
        assert_int_equal(number, good[i].number);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_number(bad[i], INT64_MIN, INT64_MAX, &number, &err), -1);
    number = 42;
    assert_int_equal(parse_number("x4", 1, 65535, &number, &err), -1);
    assert_string_equal(err.text, "'x4' is not a number from 1 to 65535");
    assert_int_equal(parse_number("0", 1, 65535, &number, NULL), -1);
    assert_int_equal(parse_number("65536", 1, 65535, &number, NULL), -1);
    assert_int_equal(number, 42);
}

static void seconds(void **state)
{
    static const struct {
        const char *text;
        double      seconds;
    } good[] = { { "90", 90 },   { "1.5", 1.5 },  { "30s", 30 },   { "10m", 600 },
                 { "2h", 7200 }, { "1d", 86400 }, { "0.25m", 15 }, { "0", 0 } };
    static const char *const bad[] = { "",    "s",   ".5",  "5.",  "1.s", "-1",  "1w",
                                       "1 s", "1ss", "inf", "nan", "0x1", "1e2", "86400.5" };
    struct error             err;
    double                   value;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(parse_seconds(good[i].text, 0, 86400, &value, &err), 0);
        assert_true(value == good[i].seconds);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_seconds(bad[i], 0, 86400, &value, &err), -1);
    assert_int_equal(parse_seconds("5x", 1, 60, &value, &err), -1);
    assert_string_equal(err.text,
                        "'5x' is not a time from 1 to 60 seconds (90, 1.5, 30s, 10m, 2h)");
}

static void bytes(void **state)
{
    static const struct {
        const char *text;
        int64_t     bytes;
    } good[] = { { "4096", 4096 },
                 { "8K", 8192 },
                 { "8k", 8192 },
                 { "1.5G", 1610612736 },
                 { "3M", 3 << 20 },
                 { "2T", INT64_C(2) << 40 },
                 { "9007199254740993", INT64_C(9007199254740993) } };
    static const char *const bad[] = { "",   "K",   "1.5", "8KB",     "8X",
                                       "-1", "1 K", "8K ", "9999999T" };
    struct error             err;
    int64_t                  value;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(parse_bytes(good[i].text, 0, INT64_C(1) << 60, &value, &err), 0);
        assert_int_equal(value, good[i].bytes);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse_bytes(bad[i], 0, INT64_C(1) << 60, &value, &err), -1);
    assert_int_equal(parse_bytes("5K", 1, 4096, &value, &err), -1);
    assert_string_equal(err.text, "'5K' is not a size from 1 to 4096 bytes (4096, 8K, 1.5G)");
}

static void environment_lists(void **state)
{
    struct strlist env = { 0 };

    (void)state;
    env_set(&env, "A", "1");
    env_set(&env, "AB", "2");
    env_setf(&env, "A", "%d=%s", 3, "x");
    assert_int_equal(env.count, 2);
    assert_string_equal(env.item[0], "A=3=x");
    assert_string_equal(env_get(&env, "A"), "3=x");
    assert_string_equal(env_get(&env, "AB"), "2");
    assert_null(env_get(&env, "B"));
    assert_null(env.item[2]);
    env_unset(&env, "B");
    env_unset(&env, "A");
    assert_int_equal(env.count, 1);
    assert_string_equal(env.item[0], "AB=2");
    assert_null(env.item[1]);
    strlist_clear(&env);
    assert_null(env_get(&env, "A"));
}

static void packed_lists(void **state)
{
    struct strlist list = { 0 }, back = { 0 };
    size_t         size, i;
    char          *packed;

    (void)state;
    strlist_add(&list, "");
    strlist_add(&list, "a b\n\"$(x)\"");
    strlist_add_bytes(&list, "cut here", 3);
    packed = strlist_pack(&list, &size);
    assert_int_equal(size, 1 + 11 + 4);
    assert_int_equal(strlist_unpack(&back, packed, size), 0);
    assert_int_equal(back.count, list.count);
    for (i = 0; i < list.count; i++)
        assert_string_equal(back.item[i], list.item[i]);
    assert_int_equal(strlist_unpack(&back, packed, size - 1), -1);
    free(packed);
    strlist_clear(&list);
    strlist_clear(&back);
}

static void frames(void **state)
{
    struct evbuffer *buffer = evbuffer_new();
    struct frame     sent = {
            FRAME_OUTPUT, STREAM_STDERR, 7, 0x01020304, (const unsigned char *)"x\0y", 3
    };
    struct frame got;
    struct error err;
    char         bytes[FRAME_HEADER_BYTES + 3];
    size_t       i;
    json_t      *body;

    (void)state;
    frame_put(buffer, &sent);
    assert_int_equal(evbuffer_remove(buffer, bytes, sizeof bytes), sizeof bytes);
    assert_memory_equal(bytes, "\0\0\0\3\t\2\0\0\0\0\0\7\1\2\3\4x\0y", sizeof bytes);
    for (i = 0; i < sizeof bytes; i++) { /* in any pieces */
        assert_int_equal(frame_peek(buffer, &got, &err), 0);
        evbuffer_add(buffer, bytes + i, 1);
    }
    frame_put_json(buffer, FRAME_STOP, 7, 0, json_pack("{si}", "grace_s", 5));
    assert_int_equal(frame_peek(buffer, &got, &err), 1);
    assert_int_equal(got.type, FRAME_OUTPUT);
    assert_int_equal(got.stream, STREAM_STDERR);
    assert_int_equal(got.generation, 7);
    assert_int_equal(got.rank, 0x01020304);
    assert_int_equal(got.size, 3);
    assert_memory_equal(got.body, "x\0y", 3);
    frame_drop(buffer, &got);
    assert_int_equal(frame_peek(buffer, &got, &err), 1);
    assert_string_equal(frame_name(got.type), "STOP");
    body = frame_json(&got, &err);
    assert_int_equal(json_integer_value(json_object_get(body, "grace_s")), 5);
    json_decref(body);
    frame_drop(buffer, &got);
    assert_int_equal(evbuffer_get_length(buffer), 0);
    evbuffer_free(buffer);
}

static void frames_refused(void **state)
{
    static const struct {
        unsigned char header[FRAME_HEADER_BYTES];
        const char   *why; /* it begins so */
    } bad[] = {
        { { 0, 0x10, 0, 1, FRAME_OUTPUT },
          "frame of 1048577 bytes, more than the 1048576 allowed" },
        { { 0, 0, 0, 0, 0 }, "frame of unknown type 0" },
        { { 0, 0, 0, 0, FRAME_TYPE_COUNT }, "frame of unknown type " },
        { { 0, 0, 0, 0, FRAME_OUTPUT, 3 }, "OUTPUT frame with a malformed header" },
        { { 0, 0, 0, 0, FRAME_PLAN, 0, 1 }, "PLAN frame with a malformed header" },
    };
    static const char *const not_json[] = { "", "[]", "{\"a\":1,\"a\":2}", "{\"a\":\"\xff\"}",
                                            "{}x" };
    struct evbuffer         *buffer = evbuffer_new();
    struct frame             got = { .type = FRAME_HELLO };
    struct error             err;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        evbuffer_add(buffer, bad[i].header, FRAME_HEADER_BYTES);
        assert_int_equal(frame_peek(buffer, &got, &err), -1);
        assert_memory_equal(err.text, bad[i].why, strlen(bad[i].why));
        evbuffer_drain(buffer, FRAME_HEADER_BYTES);
    }
    for (i = 0; i < sizeof not_json / sizeof *not_json; i++) {
        got.body = (const unsigned char *)not_json[i];
        got.size = strlen(not_json[i]);
        assert_null(frame_json(&got, &err));
    }
    evbuffer_free(buffer);
}

static void texts_for_json(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
        const char *text;
    } row[] = {
        { "gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f" },
        { "a\xff\xc3", 3, "a??" },
        { "a\0b", 3, "a?b" },
        { "\xed\xa0\x80", 3, "???" }, /* a surrogate */
        { "\xc0\xaf", 2, "??" },      /* overlong */
    };
    json_t *made;
    size_t  i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        made = json_text(row[i].bytes, row[i].size);
        assert_string_equal(json_string_value(made), row[i].text);
        json_decref(made);
    }
}

static void big_endian(void **state)
{
    unsigned char at[8];

    (void)state;
    put_u32(at, 0xfffefdfc);
    assert_memory_equal(at, "\xff\xfe\xfd\xfc", 4);
    assert_int_equal(get_u32(at), 0xfffefdfc);
    put_u64(at, 0x0102030405060708);
    assert_memory_equal(at, "\1\2\3\4\5\6\7\10", 8);
    assert_int_equal(get_u64(at), 0x0102030405060708);
}

/* The names as one text. Caller frees. */
static char *joined(const struct strlist *names)
{
    char  *text = xstrdup(""), *more;
    size_t i;

    for (i = 0; i < names->count; i++, text = more) {
        more = xasprintf("%s%s%s", text, i > 0 ? " " : "", names->item[i]);
        free(text);
    }
    return text;
}

static void ranges_expand(void **state)
{
    static const struct {
        const char *word, *names;
    } row[] = {
        { "te1", "te1" },
        { "node[3]", "node3" },
        { "node[01-03,20]", "node01 node02 node03 node20" },
        { "node[8-11]", "node8 node9 node10 node11" },
        { "node[098-101].lan", "node098.lan node099.lan node100.lan node101.lan" },
        { "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2" },
        { "[1-2]a", "1a 2a" },
        { "n[5,1]", "n5 n1" },
        { "n[1-9/2]", "n1 n3 n5 n7 n9" },
        { "n[08-12/3,1-2/9]", "n08 n11 n1" },
        { "10.0.0.[9-10]", "10.0.0.9 10.0.0.10" },
        { "[::1]", "[::1]" },
        { "[fe80::1%eth0]:22", "[fe80::1%eth0]:22" },
    };
    struct strlist names = { 0 };
    struct error   err;
    size_t         i;
    char          *text;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(hostrange_expand(row[i].word, &names, &err), 0);
        text = joined(&names);
        assert_string_equal(text, row[i].names);
        free(text);
        strlist_clear(&names);
    }
}

static void ranges_refused(void **state)
{
    static const struct {
        const char *word, *why;
    } row[] = {
        { "n[", "'n[': '[' without ']'" },
        { "n[1-2", "'n[1-2': '[' without ']'" },
        { "n1]", "'n1]': ']' without '['" },
        { "n[]", "'n[]': '' is not a number or a range such as 01-16" },
        { "n[1,]", "'n[1,]': '' is not a number or a range such as 01-16" },
        { "n[1-9/0]", "'n[1-9/0]': '0' is not a number from 1 to 9223372036854775807" },
        { "n[1-9/]", "'n[1-9/]': '1-9/' is not a number or a range such as 01-16" },
        { "n[3/1]", "'n[3/1]': '3/1' is not a number or a range such as 01-16" },
        { "n[1-]", "'n[1-]': '1-' is not a number or a range such as 01-16" },
        { "n[-3]", "'n[-3]': '-3' is not a number or a range such as 01-16" },
        { "n[1-2-3]", "'n[1-2-3]': '1-2-3' is not a number or a range such as 01-16" },
        { "n[12x34]", "'n[12x34]': '12x34' is not a number or a range such as 01-16" },
        { "n[a-b]", "'n[a-b]': 'a-b' is not a number or a range such as 01-16" },
        { "n[1[2]]", "'n[1[2]]': '1[2' is not a number or a range such as 01-16" },
        { "n[1234567890123456789]",
          "'n[1234567890123456789]': '1234567890123456789' is not a number or a range such as "
          "01-16" },
        { "n[3-1]", "'n[3-1]': '3-1' counts down" },
        { "n[1-05]",
          "'n[1-05]': '1-05' has a different number of digits at its beginning and end" },
        { "n[1-65537]", "'n[1-65537]': more than 65536 names" },
        { "n[1-256][1-257]", "'n[1-256][1-257]': more than 65536 names" },
        { "[1][1][1][1][1][1][1][1][1]",
          "'[1][1][1][1][1][1][1][1][1]': more than 8 brackets" },
    };
    struct strlist names = { 0 };
    struct error   err;
    size_t         i;
    char           longest[HOSTRANGE_NAME_MAX + 2];

    (void)state;
    strlist_add(&names, "kept");
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(hostrange_expand(row[i].word, &names, &err), -1);
        assert_string_equal(err.text, row[i].why);
        assert_int_equal(names.count, 1);
    }
    memset(longest, 'n', sizeof longest);
    longest[HOSTRANGE_NAME_MAX + 1] = '\0';
    assert_int_equal(hostrange_expand(longest, &names, &err), -1);
    assert_int_equal(hostrange_expand(longest + 1, &names, &err), 0);
    strlist_clear(&names);
    assert_int_equal(hostrange_expand("n[1-256][1-256]", &names, &err), 0);
    assert_int_equal(names.count, 65536);
    strlist_clear(&names);
}

static void ranges_fold(void **state)
{
    static const struct {
        const char *names[8], *folded;
    } row[] = {
        { { NULL }, "" },
        { { "te1" }, "te1" },
        { { "node03", "node01", "node02", "node20", "node01" }, "node[01-03,20]" },
        { { "n10", "n8", "n9", "n11" }, "n[8-11]" },
        { { "n09", "n10", "n99", "n100" }, "n[09-10,99-100]" },
        { { "n1", "n01", "n2" }, "n[1,01,2]" },
        { { "gw", "te2", "te1", "gw" }, "gw,te[1-2]" },
        { { "r1n1", "r1n2", "r2n1", "r2n2" }, "r1n[1-2],r2n[1-2]" },
        { { "a1.lan", "a2.lan", "a1.wan" }, "a[1-2].lan,a1.wan" },
        { { "10.0.0.1", "10.0.0.2" }, "10.0.0.[1-2]" },
        { { "fe80::1", "fe80::2" }, "fe80::1,fe80::2" },
        { { "n1234567890123456789", "n1234567890123456790" },
          "n1234567890123456789,n1234567890123456790" },
    };
    struct strlist names = { 0 };
    size_t         i, j;
    char          *text;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        for (j = 0; row[i].names[j] != NULL; j++)
            strlist_add(&names, row[i].names[j]);
        text = hostrange_fold(&names);
        assert_string_equal(text, row[i].folded);
        free(text);
        strlist_clear(&names);
    }
}

static void whole_files(void **state)
{
    char         path[] = "/tmp/test_common.XXXXXX", *text;
    int          fd = mkstemp(path);
    struct error err;
    size_t       size;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a\0b\n", 4), 4);
    close(fd);
    text = file_read(path, 4, &size, &err);
    assert_non_null(text);
    assert_int_equal(size, 4);
    assert_memory_equal(text, "a\0b\n", 5);
    free(text);
    assert_null(file_read(path, 3, &size, &err));
    assert_non_null(strstr(err.text, ": more than 3 bytes"));
    unlink(path);
    assert_null(file_read(path, 4, &size, &err));
    assert_non_null(strstr(err.text, ": No such file or directory"));
    assert_null(file_read("/tmp", 4, &size, &err));
    assert_string_equal(err.text, "/tmp: Is a directory");
    assert_null(file_read("/dev/zero", 100000, &size, &err));
    assert_string_equal(err.text, "/dev/zero: more than 100000 bytes");
}

static void run_ids(void **state)
{
    static const char *const good[] = { "20261120-073000-a1b2", "20261120-073000-a1b2-llama",
                                        "20261120-073000-a1b2-a",
                                        "20261120-073000-a1b2-0123456789abcdefghijABCDEF-_.x" };
    static const char *const bad[] = { "", "20261120", "20261120-073000-a1b",
                                       "20261120-073000-a1b2-",
                                       "20261120-073000-a1b2llama", "20261120-073000-a1b2-.x",
                                       "20261120-073000-a1b2-a/b", "20261120-073000-a1b2-\xc3\xa9",
                                       "20261120-073000-a1b2-0123456789abcdefghijABCDEFGHIJK" };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(runid_is(good[i]));
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(runid_is(bad[i]));
    assert_true(runid_is_namesake("20261120-073000-a1b2-x", "20261120-073000-a1b3-x"));
    assert_false(runid_is_namesake("20261120-073000-a1b2-x", "20261120-073000-a1b2-x"));
    assert_false(runid_is_namesake("20261120-073000-a1b2-x", "20261120-073000-a1b3-xy"));
    assert_false(runid_is_namesake("20261120-073000-a1b2", "20261120-073000-a1b3"));
}

static void signal_names(void **state)
{
    static const struct {
        int         number;
        const char *name;
    } names[] = {
        { 9, "SIGKILL" }, { 20, "SIGTSTP" }, { 31, "SIGSYS" }, { 40, "signal 40" },
        { 64, "signal 64" }, { 0, "signal 0" }, { -1, "signal -1" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(signal_name(names[i].number).text, names[i].name);
}

/* The values that its authors publish. */
static void fnv_1a(void **state)
{
    (void)state;
    assert_true(fnv_add(FNV_START, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(fnv_add(FNV_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(fnv_add(fnv_add(FNV_START, "foo", 3), "bar", 3) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),        cmocka_unit_test(seconds),
        cmocka_unit_test(bytes),          cmocka_unit_test(environment_lists),
        cmocka_unit_test(packed_lists),   cmocka_unit_test(frames),
        cmocka_unit_test(frames_refused), cmocka_unit_test(texts_for_json),
        cmocka_unit_test(big_endian),     cmocka_unit_test(ranges_expand),
        cmocka_unit_test(ranges_refused), cmocka_unit_test(ranges_fold),
        cmocka_unit_test(whole_files),    cmocka_unit_test(run_ids),
        cmocka_unit_test(signal_names),   cmocka_unit_test(fnv_1a),
    };

    return cmocka_run_group_tests_name("common", tests, NULL, NULL);
}
