/* test_metrics_file.c - a file that is whole at any time, on file systems that fail or hang
 *
 * The test has a rename() of its own.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "log.h"
#include "metrics/metrics_file.h"
#include "thread.h"
#include "xalloc.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define WAIT_S 60.0

static char            dir[] = "/tmp/muster-metrics-XXXXXX", path[80], made[40];
static char            said[1000];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int    fails_with;

/* Waits as long as the test holds the lock. */
int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    if (fails_with != 0) {
        errno = fails_with;
        return -1;
    }
    return (int)syscall(SYS_renameat2, -100 /* AT_FDCWD */, from, -100, to, 0);
}

static void keep_line(const char *line, size_t size, void *arg)
{
    (void)arg;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%.*s", (int)size, line);
}

static int setup(void **state)
{
    (void)state;
    snprintf(made, sizeof made, "%s", dir);
    assert_non_null(mkdtemp(made));
    snprintf(path, sizeof path, "%s/m.prom", made);
    said[0] = '\0';
    fails_with = 0;
    log_sink(keep_line, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_sink(NULL, NULL);
    unlink(path);
    return rmdir(made);
}

static void await(struct metrics_file *file)
{
    const int64_t until_ns = clock_now_ns() + (int64_t)(WAIT_S * NS_PER_S);

    while (metrics_file_is_busy(file) && clock_now_ns() < until_ns)
        usleep(1000);
    assert_false(metrics_file_is_busy(file));
}

static void expect_file(const char *expected)
{
    char  text[100] = "";
    FILE *in = fopen(path, "r");

    if (in != NULL) {
        text[fread(text, 1, sizeof text - 1, in)] = '\0';
        fclose(in);
    }
    assert_string_equal(text, expected);
}

static int files(void)
{
    DIR           *all = opendir(made);
    struct dirent *one;
    int            count = 0;

    while ((one = readdir(all)) != NULL)
        count += one->d_name[0] != '.';
    closedir(all);
    return count;
}

static void each_text_replaces_the_last(void **state)
{
    struct metrics_file *file;
    struct error         err;
    struct stat          about;

    (void)state;
    file = metrics_file_open(path, &err);
    assert_non_null(file);
    assert_int_equal(files(), 0);
    metrics_file_put(file, xstrdup("first\n"));
    await(file);
    expect_file("first\n");
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
    metrics_file_put(file, xstrdup("2\n"));
    await(file);
    expect_file("2\n");
    metrics_file_put(file, xstrdup("3\n"));
    metrics_file_close(file, xstrdup("last\n"));
    expect_file("last\n");
    assert_int_equal(files(), 1);
    assert_string_equal(said, "");
}

static void the_first_failure_is_a_warning(void **state)
{
    struct metrics_file *file;
    struct error         err;

    (void)state;
    file = metrics_file_open(path, &err);
    metrics_file_put(file, xstrdup("first\n"));
    await(file);
    fails_with = ENOSPC;
    metrics_file_put(file, xstrdup("2\n"));
    await(file);
    metrics_file_put(file, xstrdup("3\n"));
    await(file);
    assert_non_null(strstr(said, "m.prom: No space left on device"));
    assert_null(strchr(strchr(said, '\n') + 1, '\n'));
    expect_file("first\n");
    assert_int_equal(files(), 1);
    fails_with = 0;
    metrics_file_close(file, xstrdup("last\n"));
    expect_file("last\n");
}

/* None of these calls waits. */
static void a_file_system_hangs(void **state)
{
    struct metrics_file *file;
    struct error         err;

    (void)state;
    file = metrics_file_open(path, &err);
    pthread_mutex_lock(&lock);
    metrics_file_put(file, xstrdup("first\n"));
    assert_true(metrics_file_is_busy(file));
    usleep(20000);
    assert_true(metrics_file_is_busy(file));
    expect_file("");
    pthread_mutex_unlock(&lock);
    metrics_file_close(file, NULL);
    expect_file("first\n");
    assert_string_equal(said, "");
}

static void it_hangs_for_ever(void **state)
{
    struct metrics_file *file;
    struct error         err;

    (void)state;
    file = metrics_file_open(path, &err);
    pthread_mutex_lock(&lock);
    metrics_file_put(file, xstrdup("first\n"));
    metrics_file_close(file, xstrdup("last\n"));
    assert_non_null(strstr(said, "m.prom: its file system does not answer"));
    pthread_mutex_unlock(&lock);
    metrics_file_close(file, NULL); /* it is still there: its thread had it */
    expect_file("first\n");
}

static void what_is_no_file(void **state)
{
    static const char *const cases[][2] = {
        { "/tmp", "is not a file" },
        { "/dev/null", "is not a file" },
        { "/proc/none/m.prom", "cannot create /proc/none/m.prom." },
    };
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(metrics_file_open(cases[i][0], &err));
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_text_replaces_the_last), TEST(the_first_failure_is_a_warning),
        TEST(a_file_system_hangs),         TEST(it_hangs_for_ever),
        TEST(what_is_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
