/* test_stale_files.c - what muster has left on a node is found and removed, and nothing else is
 *
 * In a mount namespace with a /tmp, a /dev/shm and a /sys/fs/cgroup of its own: nobody else's
 * files are there. Directories stand for control groups.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup/stale_files.h"
#include "xalloc.h"

#define RUN    "20261127-120000-abcd"
#define GROUPS "/sys/fs/cgroup/unified"
#define CACHE  "/tmp/home/.cache/muster"
#define HASH   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NONCE  "0123456789abcdef0123456789abcdef"
#define NOTICE "/tmp/muster-notice-" NONCE
#define NOBODY 4194305 /* more than the largest pid */
#define OLD_S  3600

static bool is_apart;

static bool go_apart(void)
{
    static const char *const own[] = { "/tmp", "/dev/shm", "/sys/fs/cgroup" };
    size_t                   i;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    for (i = 0; i < sizeof own / sizeof *own; i++)
        if (mount("tmpfs", own[i], "tmpfs", 0, NULL) < 0)
            return false;
    return true;
}

/* ---- what is there ---- */

/* Made, with all above it. */
static int open_directory(const char *path)
{
    char *all = xstrdup(path), *at = all;
    int   fd;

    while ((at = strchr(at + 1, '/')) != NULL) {
        *at = '\0';
        assert_true(mkdir(all, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    free(all);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void make_directory(const char *path)
{
    close(open_directory(path));
}

/* Written that long ago. */
static int make_file(const char *path, int age_s)
{
    const struct timespec times[2] = { { .tv_sec = time(NULL) - age_s },
                                       { .tv_sec = time(NULL) - age_s } };
    int                   fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(futimens(fd, times), 0);
    return fd;
}

static void add_file(const char *path, int age_s)
{
    close(make_file(path, age_s));
}

static bool is_there(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The next test begins with nothing. */
static int begin(void **state)
{
    (void)state;
    if (!is_apart)
        return 0;
    assert_int_equal(umount2("/tmp", MNT_DETACH), 0);
    assert_int_equal(umount2("/sys/fs/cgroup", MNT_DETACH), 0);
    assert_int_equal(mount("tmpfs", "/tmp", "tmpfs", 0, NULL), 0);
    assert_int_equal(mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL), 0);
    return 0;
}

/* ---- what is found ---- */

/* The only thing that is listed, if it is to be removed or not. */
static void assert_only(bool remove, const char *what, const char *path)
{
    json_t *list = stale_files_list(remove), *item = json_array_get(list, 0);

    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(json_string_value(json_object_get(item, "what")), what);
    assert_string_equal(json_string_value(json_object_get(item, "path")), path);
    assert_int_equal(json_is_true(json_object_get(item, "gone")), remove);
    assert_int_equal(is_there(path), !remove);
    json_decref(list);
}

static void assert_nothing(void)
{
    json_t *list = stale_files_list(true);

    if (json_array_size(list) != 0)
        fail_msg("%s", json_dumps(list, 0));
    json_decref(list);
}

static void test_group(void **state)
{
    static const char used[] = GROUPS "/muster-" RUN "-3/cgroup.threads";
    static const char path[] = GROUPS "/user.slice/muster-" RUN "-1";
    int               held;

    (void)state;
    if (!is_apart)
        skip();
    make_directory(GROUPS "/muster-x-1"); /* no run's */
    make_directory(GROUPS "/muster-" RUN); /* nobody's */
    make_directory(GROUPS "/muster-" RUN "-3"); /* has a process */
    add_file(used, 0);
    make_directory(path);
    held = open_directory(GROUPS "/muster-" RUN "-2"); /* its maker lives */
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_only(false, "group", path);
    assert_only(true, "group", path);
    assert_nothing();
    assert_int_equal(close(held), 0);
    assert_only(true, "group", GROUPS "/muster-" RUN "-2");
    assert_true(is_there(used));
    assert_true(is_there(GROUPS "/muster-x-1"));
}

/* Version 1 of control groups, both versions, version 2. */
static void test_hierarchies(void **state)
{
    (void)state;
    if (!is_apart)
        skip();
    make_directory("/sys/fs/cgroup/freezer/a/b/muster-" RUN "-1");
    assert_only(true, "group", "/sys/fs/cgroup/freezer/a/b/muster-" RUN "-1");
    make_directory("/sys/fs/cgroup/muster-" RUN "-1");
    assert_nothing();
    add_file("/sys/fs/cgroup/cgroup.controllers", 0);
    assert_only(true, "group", "/sys/fs/cgroup/muster-" RUN "-1");
}

/* Which of a run still dies is looked at again in a moment. */
static void test_groups_of_a_run(void **state)
{
    char path[256], threads[300];

    (void)state;
    if (!is_apart)
        skip();
    make_directory("/tmp/home");
    add_file(NOTICE ".0", OLD_S);
    make_directory(GROUPS "/muster-" RUN "-1");
    assert_false(stale_files_remove_groups(RUN));
    assert_false(is_there(GROUPS "/muster-" RUN "-1"));
    assert_true(is_there(NOTICE ".0")); /* groups only */
    snprintf(path, sizeof path, "%s/muster-%s-%d", GROUPS, RUN, NOBODY);
    snprintf(threads, sizeof threads, "%s/cgroup.threads", path);
    make_directory(path);
    add_file(threads, 0);
    assert_true(stale_files_remove_groups(RUN));
    assert_false(stale_files_remove_groups("20261127-120000-ef01"));
    assert_int_equal(unlink(threads), 0);
    assert_false(stale_files_remove_groups(RUN));
    assert_false(is_there(path));
}

static void test_part_of_the_agent(void **state)
{
    static const struct timespec long_ago[2];
    static const char            path[] = CACHE "/" HASH "/." NONCE;
    static const char            link[] = CACHE "/" HASH "/.2123456789abcdef0123456789abcdef";

    (void)state;
    if (!is_apart)
        skip();
    make_directory(CACHE "/" HASH);
    make_directory(CACHE "/other");
    add_file(path, OLD_S);
    add_file(CACHE "/" HASH "/muster-agent", OLD_S);
    add_file(CACHE "/" HASH "/.0123", OLD_S);
    add_file(CACHE "/" HASH "/0" NONCE, OLD_S);
    add_file(CACHE "/other/." NONCE, OLD_S);
    add_file(CACHE "/" HASH "/.f" NONCE, OLD_S);
    add_file(CACHE "/" HASH "/.1123456789abcdef0123456789abcdef", 0); /* it is being sent */
    assert_int_equal(symlink("muster-agent", link), 0);
    assert_int_equal(utimensat(AT_FDCWD, link, long_ago, AT_SYMLINK_NOFOLLOW), 0);
    assert_only(false, "file", path);
    assert_only(true, "file", path);
    assert_nothing();
}

/* In each place where an agent may be. */
static void test_places_of_the_agent(void **state)
{
    static const char *const places[] = { "/tmp/home/.cache/muster", "/tmp/run/muster",
                                          "/tmp/job/muster-someone", "/tmp/muster-someone",
                                          "/dev/shm/muster-someone" };
    char                     path[256];
    size_t                   i;

    (void)state;
    if (!is_apart)
        skip();
    setenv("XDG_RUNTIME_DIR", "/tmp/run", 1);
    setenv("TMPDIR", "/tmp/job", 1);
    for (i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", places[i], HASH);
        make_directory(path);
        snprintf(path, sizeof path, "%s/%s/.%s", places[i], HASH, NONCE);
        add_file(path, OLD_S);
        assert_only(true, "file", path);
    }
    setenv("XDG_CACHE_HOME", "/tmp/cache", 1);
    make_directory("/tmp/cache/muster/" HASH);
    add_file("/tmp/cache/muster/" HASH "/." NONCE, OLD_S);
    assert_only(true, "file", "/tmp/cache/muster/" HASH "/." NONCE);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("TMPDIR");
}

static void test_notice(void **state)
{
    int held;

    (void)state;
    if (!is_apart)
        skip();
    held = make_file(NOTICE ".0", OLD_S);
    assert_int_equal(flock(held, LOCK_EX), 0); /* as its agent does */
    add_file("/tmp/muster-notice-", OLD_S);
    add_file("/tmp/muster-notice-0123.0", OLD_S);
    add_file("/tmp/muster-notice-" NONCE, OLD_S);
    assert_int_equal(symlink("/etc/passwd", NOTICE ".1"), 0);
    assert_int_equal(mkfifo(NOTICE ".2", 0600), 0);
    assert_nothing();
    assert_int_equal(close(held), 0);
    assert_only(false, "file", NOTICE ".0");
    assert_only(true, "file", NOTICE ".0");
}

static void test_many(void **state)
{
    char    path[256];
    json_t *list;
    int     i;

    (void)state;
    if (!is_apart)
        skip();
    for (i = 0; i < STALE_FILES_MAX + 1; i++) {
        snprintf(path, sizeof path, "%s.%d", NOTICE, i);
        add_file(path, OLD_S);
    }
    list = stale_files_list(true);
    assert_int_equal(json_array_size(list), STALE_FILES_MAX);
    json_decref(list);
    list = stale_files_list(true); /* the rest */
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    assert_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_group, begin),
        cmocka_unit_test_setup(test_hierarchies, begin),
        cmocka_unit_test_setup(test_groups_of_a_run, begin),
        cmocka_unit_test_setup(test_part_of_the_agent, begin),
        cmocka_unit_test_setup(test_places_of_the_agent, begin),
        cmocka_unit_test_setup(test_notice, begin),
        cmocka_unit_test_setup(test_many, begin),
    };

    is_apart = go_apart();
    setenv("HOME", "/tmp/home", 1);
    setenv("LOGNAME", "someone", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("XDG_STATE_HOME");
    unsetenv("TMPDIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
