/* test_lines.c - records of files: JSON lines and arrays, the numbers of their lines, broken ones
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

#include "buffer.h"
#include "chat/lines.h"

static char directory[] = "/tmp/muster-test-lines-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/a.jsonl", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_file(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Reads the file up to its end: "NUMBER:record" for each, and what is wrong, in brackets without
 * the file's name. */
static char *all(void)
{
    struct buffer text = { 0 };
    struct error  err;
    struct lines *lines = lines_open(path, &err);
    struct line   line;
    char          number[32];
    int           result;

    assert_non_null(lines);
    while ((result = lines_next(lines, &line, &err)) != LINES_END) {
        buffer_add_text(&text, text.size > 0 ? "|" : "");
        if (result == LINES_RECORD) {
            snprintf(number, sizeof number, "%d:", (int)line.number);
            buffer_add_text(&text, number);
            buffer_add(&text, line.text, line.size);
            continue;
        }
        buffer_add_text(&text, result == LINES_BROKEN ? "(" : "[");
        assert_memory_equal(err.text, path, strlen(path));
        buffer_add_text(&text, err.text + strlen(path) + 1);
        buffer_add_text(&text, result == LINES_BROKEN ? ")" : "]");
    }
    assert_int_equal(lines_next(lines, &line, &err), LINES_END);
    lines_close(lines);
    buffer_add(&text, "", 1);
    return text.bytes;
}

static void test_files(void **state)
{
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        { "", "" },
        { " \n\r\n", "" },
        { "{\"a\": 1}", "1:{\"a\": 1}" },
        { "{}\n{}\n", "1:{}|2:{}" },
        { "{}\r\n\r\n \n  {} \r\n{}", "1:{}|4:{}|5:{}" },
        { "\xEF\xBB\xBF{}\n7\n", "1:{}|2:7" },
        { "{\n}\nword\n", "1:{|2:}|3:word" }, /* whether it is JSON: see record.h */
        { "[]", "" },
        { "[ ] \n", "" },
        { "[{}]", "1:{}" },
        { "\xEF\xBB\xBF \n[\n  {\"a\": [1, {}]},\n  {\"b\":\n \"]}\\\"[\"}\n, 7\n]\n",
          "3:{\"a\": [1, {}]}|4:{\"b\":\n \"]}\\\"[\"}|6:7" },
        { "[{\"a\" 1}, {}]", "1:{\"a\" 1}|1:{}" }, /* one that is broken inside */
        { "[1,\n]", "1:1|[2: a record was expected]" },
        { "[,1]", "[1: a record was expected]" },
        { "[1,,2]", "1:1|[1: a record was expected]" },
        { "[}", "[1: a record was expected]" },
        { "[1}", "1:1|[1: ',' or ']' was expected]" },
        { "[{}\n{}]", "1:{}\n{}" }, /* not JSON, and so named later */
        { "[", "[1: the array has no end: ']' is missing]" },
        { "[{\"a\": 1,\n", "[2: the array has no end: ']' is missing]" },
        { "[{\"a]\n", "[2: the array has no end: ']' is missing]" },
        { "[1, 2", "1:1|[1: the array has no end: ']' is missing]" },
        { "[1]\n{}", "1:1|[2: the file continues after its array]" },
    };
    char  *text;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(path, cases[i].bytes, strlen(cases[i].bytes));
        text = all();
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

/* Records over the ends of what is read at once. */
static void test_long_file(void **state)
{
    static const struct {
        const char *begin, *between, *end;
    } forms[] = { { "", "\n", "" }, { "[", ",\n", "]" } };
    struct buffer file;
    struct lines *lines;
    struct line   line;
    struct error  err;
    char          record[64];
    size_t        i, form;

    (void)state;
    for (form = 0; form < 2; form++) {
        file = (struct buffer){ 0 };
        buffer_add_text(&file, forms[form].begin);
        for (i = 0; i < 30000; i++) {
            snprintf(record, sizeof record, "{\"text\": \"%0*zu\"}", (int)(i % 37), i);
            buffer_add_text(&file, i > 0 ? forms[form].between : "");
            buffer_add_text(&file, record);
        }
        buffer_add_text(&file, forms[form].end);
        write_file(path, file.bytes, file.size);
        buffer_clear(&file);
        lines = lines_open(path, &err);
        for (i = 0; i < 30000; i++) {
            snprintf(record, sizeof record, "{\"text\": \"%0*zu\"}", (int)(i % 37), i);
            assert_int_equal(lines_next(lines, &line, &err), LINES_RECORD);
            assert_int_equal(line.number, i + 1);
            assert_int_equal(line.size, strlen(record));
            assert_memory_equal(line.text, record, line.size);
        }
        assert_int_equal(lines_next(lines, &line, &err), LINES_END);
        lines_close(lines);
    }
}

/* A record of the greatest size, and one that is a byte longer: it is named, and passed over. */
static void test_longest(void **state)
{
    static const char *const forms[] = { "\n%s\n", "[1,\n%s,1]" };
    struct lines *lines;
    struct line   line;
    struct error  err;
    char         *file, *number = malloc(LINES_RECORD_MAX + 2), expected[128];
    size_t        i, more;

    (void)state;
    memset(number, '7', LINES_RECORD_MAX + 2);
    snprintf(expected, sizeof expected, "%s:2: longer than 32 MiB", path);
    for (i = 0; i < 4; i++) {
        more = i / 2;
        number[LINES_RECORD_MAX + more] = '\0';
        file = malloc(LINES_RECORD_MAX + 32);
        snprintf(file, LINES_RECORD_MAX + 32, i % 2 == 0 ? forms[0] : forms[1], number);
        number[LINES_RECORD_MAX + more] = '7';
        write_file(path, file, strlen(file));
        free(file);
        lines = lines_open(path, &err);
        if (i % 2 == 1)
            assert_int_equal(lines_next(lines, &line, &err), LINES_RECORD);
        assert_int_equal(lines_next(lines, &line, &err), more ? LINES_BROKEN : LINES_RECORD);
        if (more)
            assert_string_equal(err.text, expected);
        else
            assert_int_equal(line.size, LINES_RECORD_MAX);
        if (i % 2 == 1)
            assert_int_equal(lines_next(lines, &line, &err), LINES_RECORD);
        assert_int_equal(lines_next(lines, &line, &err), LINES_END);
        lines_close(lines);
    }
    free(number);
}

static void test_refused(void **state)
{
    struct error err;
    char         expected[256];

    (void)state;
    assert_null(lines_open(directory, &err));
    snprintf(expected, sizeof expected, "%s: not a regular file", directory);
    assert_string_equal(err.text, expected);
    assert_null(lines_open("/nowhere", &err));
    assert_string_equal(err.text, "/nowhere: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_long_file),
        cmocka_unit_test(test_longest), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
