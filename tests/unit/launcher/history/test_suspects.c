/* test_suspects.c - the files about hosts that spoilt runs: what is written, and what is no suspect
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

#include "history/suspects.h"
#include "xalloc.h"

static char            home[] = "/tmp/muster-suspects.XXXXXX";
static char           *directory;
static struct suspects list;

static int own_home(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    directory = suspects_directory();
    return 0;
}

static int remove_home(void **state)
{
    char *command = xasprintf("rm -rf %s", home);
    int   rc = system(command);

    (void)state;
    free(command);
    free(directory);
    return rc;
}

static int clear(void **state)
{
    (void)state;
    suspects_clear(&list);
    return 0;
}

static size_t read_all(void)
{
    struct error err;

    suspects_clear(&list);
    if (suspects_read(&list, &err) < 0)
        fail_msg("%s", err.text);
    return list.count;
}

static void add(const char *host, const char *reason)
{
    const struct suspect suspect = { (char *)host, (char *)reason, (char *)"run-1", 1796057872 };
    struct error         err;

    if (suspects_add(directory, &suspect, &err) < 0)
        fail_msg("%s", err.text);
}

static void forget(const char *host)
{
    struct error err;

    assert_int_equal(suspects_remove(directory, host, &err), 0);
}

/* --- what we write -------------------------------------------------------------- */

static void test_no_directory(void **state)
{
    (void)state;
    assert_int_equal(read_all(), 0);
    forget("te1");
}

static void test_kept(void **state)
{
    struct stat about;

    (void)state;
    add("te2", "kernel: Xid 79");
    add("te1", "it");
    add("te2", "kernel: Xid 48"); /* again */
    assert_int_equal(read_all(), 2);
    assert_string_equal(list.item[0].host, "te1");
    assert_string_equal(list.item[1].reason, "kernel: Xid 48");
    assert_string_equal(list.item[1].run_id, "run-1");
    assert_int_equal(list.item[1].since, 1796057872);
    assert_ptr_equal(suspects_find(&list, "te1"), &list.item[0]);
    assert_null(suspects_find(&list, "te3"));
    assert_int_equal(stat(directory, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    forget("te1");
    forget("te2");
    forget("te2"); /* it is gone already */
    assert_int_equal(read_all(), 0);
}

/* Names that are no file names, or that others might mean. */
static void test_names(void **state)
{
    static const char *const names[] = { ".", "..", "../te1", "/etc/passwd", "te1.example.org",
                                         "fe80::1%eth0", "te1.new", "\xc3\xa4", "a b" };
    const size_t count = sizeof names / sizeof *names;
    size_t       i;

    (void)state;
    for (i = 0; i < count; i++)
        add(names[i], "it");
    assert_int_equal(read_all(), count);
    for (i = 0; i < count; i++) {
        assert_non_null(suspects_find(&list, names[i]));
        forget(names[i]);
    }
    assert_int_equal(read_all(), 0);
}

static void test_long_name(void **state)
{
    char                 name[300];
    const struct suspect suspect = { name, (char *)"it", (char *)"run", 0 };
    struct error         err;

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(suspects_add(directory, &suspect, &err), -1);
    assert_int_equal(suspects_remove(directory, name, &err), 0);
    name[200] = '\0';
    add(name, "it");
    assert_int_equal(read_all(), 1);
    forget(name);
    memset(name, '.', 100); /* longer as a file name */
    name[100] = '\0';
    assert_int_equal(suspects_add(directory, &suspect, &err), -1);
}

/* --- what others may have written -------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", directory, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static void test_no_suspects(void **state)
{
    static const char *const bad[] = {
        "", "{", "[]", "7", "{}", "{\"host\": \"te9\"}", "{\"reason\": \"it\"}",
        "{\"host\": 9, \"reason\": \"it\"}", "{\"host\": \"te9\", \"reason\": []}",
        "{\"host\": \"te8\", \"reason\": \"it\"}", "{\"host\": \"\", \"reason\": \"it\"}",
        "{\"host\": \"te9\", \"reason\": \"it\"} more",
        "{\"host\": \"te9\\u0000\", \"reason\": \"it\"}", "\xff\xfe",
    };
    char  *large = xcalloc(5001, 1), *path = xasprintf("%s/te9", directory);
    size_t i;

    (void)state;
    add("te1", "it");
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("te9", bad[i]);
        if (read_all() != 1)
            fail_msg("%s is a suspect", bad[i]);
    }
    memset(large, ' ', 5000);
    memcpy(large, "{\"host\": \"te9\", \"reason\": \"it\"}", 31);
    write_file("te9", large);
    assert_int_equal(read_all(), 1);
    unlink(path);
    assert_int_equal(symlink("te1", path), 0);
    assert_int_equal(read_all(), 1);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nothing waits for a writer */
    assert_int_equal(read_all(), 1);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_all(), 1);
    rmdir(path);
    write_file("te9", "{\"host\": \"te9\", \"reason\": \"it\", \"since\": \"x\"}");
    assert_int_equal(read_all(), 2);
    assert_null(list.item[1].run_id);
    assert_int_equal(list.item[1].since, 0);
    forget("te9");
    forget("te1");
    free(large);
    free(path);
}

static void test_no_home(void **state)
{
    char *home_now = xstrdup(getenv("HOME") != NULL ? getenv("HOME") : "/");

    (void)state;
    setenv("XDG_STATE_HOME", "not/absolute", 1);
    setenv("HOME", "", 1);
    assert_null(suspects_directory());
    assert_int_equal(read_all(), 0);
    setenv("XDG_STATE_HOME", home, 1);
    setenv("HOME", home_now, 1);
    free(home_now);
}

static void test_no_directory_to_write(void **state)
{
    const struct suspect suspect = { (char *)"te1", (char *)"it", (char *)"run", 0 };
    struct error         err;

    (void)state;
    assert_int_equal(suspects_add("/proc/nothing/suspects", &suspect, &err), -1);
    assert_non_null(strstr(err.text, "/proc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_no_directory, clear),
        cmocka_unit_test_teardown(test_kept, clear),
        cmocka_unit_test_teardown(test_names, clear),
        cmocka_unit_test_teardown(test_long_name, clear),
        cmocka_unit_test_teardown(test_no_suspects, clear),
        cmocka_unit_test_teardown(test_no_home, clear),
        cmocka_unit_test_teardown(test_no_directory_to_write, clear),
    };

    return cmocka_run_group_tests(tests, own_home, remove_home);
}
