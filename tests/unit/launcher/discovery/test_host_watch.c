/* test_host_watch.c - a hostfile that is written while we watch it, and scripts that misbehave
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
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

#include "clock.h"
#include "discovery/host_script.h"
#include "discovery/host_watch.h"
#include "log.h"
#include "transport/children.h"
#include "xalloc.h"
#include "xevent.h"

#define LIMIT_S 20

static struct {
    struct event_base *base;
    struct options     options;
    struct host_watch *watch;
    int                calls;
    char               hosts[4096]; /* of the last call: "te1:4 te2:4 | te2 is new" */
    char               told[16384]; /* what was logged */
} test;

static void keep(const char *line, size_t size, void *arg)
{
    (void)arg;
    strncat(test.told, line, size < 2000 ? size : 2000);
}

static void changed(const struct hostlist *hosts, const char *words, void *arg)
{
    size_t i, used = 0;

    (void)arg;
    test.calls++;
    for (i = 0; i < hosts->count && used < sizeof test.hosts; i++)
        used += (size_t)snprintf(test.hosts + used, sizeof test.hosts - used, "%s:%d ",
                                 hosts->host[i].name, hosts->host[i].slots);
    snprintf(test.hosts + used, sizeof test.hosts - used, "| %s", words != NULL ? words : "-");
}

static int setup(void **state)
{
    static char dir[] = "/tmp/test_host_watch.XXXXXX";

    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    if (mkdtemp(dir) == NULL || chdir(dir) < 0)
        return -1;
    memset(&test, 0, sizeof test);
    test.base = event_base_new();
    test.options.num_gpus = -1;
    log_init("test", LOG_WARN);
    log_sink(keep, NULL);
    *state = dir;
    return 0;
}

static int teardown(void **state)
{
    char *command = xasprintf("rm -rf %s", (char *)*state);
    int   rc;

    host_watch_free(test.watch);
    children_await(5);
    event_base_free(test.base);
    log_sink(NULL, NULL);
    rc = chdir("/") + system(command);
    free(command);
    return rc;
}

/* By rename, as one should. */
static void write_file(const char *name, const char *text, mode_t mode)
{
    int fd = open("new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(rename("new", name), 0);
}

/* A file that is executed must not be open for writing anywhere. */
static void write_script(const char *text)
{
    char *whole = xasprintf("#!/bin/sh\n%s\n", text);

    write_file("find", whole, 0755);
    free(whole);
}

static void turn(double seconds)
{
    const struct timeval limit = clock_interval(seconds);

    event_base_loopexit(test.base, &limit);
    event_base_loop(test.base, EVLOOP_ONCE);
}

/* Until the hosts are these, or it was told so. */
static void await(const char *hosts, const char *told)
{
    int64_t until_ns = clock_now_ns() + LIMIT_S * NS_PER_S;

    while (clock_now_ns() < until_ns && ((hosts != NULL && strcmp(test.hosts, hosts) != 0) ||
                                         (told != NULL && strstr(test.told, told) == NULL)))
        turn(0.05);
    if (hosts != NULL)
        assert_string_equal(test.hosts, hosts);
    if (told != NULL && strstr(test.told, told) == NULL)
        assert_string_equal(test.told, told);
}

static int count(const char *text)
{
    const char *at = test.told;
    int         n = 0;

    while ((at = strstr(at, text)) != NULL) {
        n++;
        at++;
    }
    return n;
}

static void watch(const char *hostfile, const char *script)
{
    test.options.hostfile = xstrdup(hostfile != NULL ? hostfile : "/nowhere");
    test.options.hostfile_given = hostfile != NULL;
    test.options.discovery_script = script != NULL ? xstrdup(script) : NULL;
    test.watch = host_watch_new(test.base, &test.options, 2, changed, NULL);
    assert_non_null(test.watch);
}

static void unwatch(void)
{
    host_watch_free(test.watch);
    test.watch = NULL;
    options_clear(&test.options);
}

static void test_file(void **state)
{
    (void)state;
    write_file("hosts", "te1 slots=4\nte2\n", 0644);
    watch("hosts", NULL);
    await("te1:4 te2:2 | -", NULL);
    write_file("hosts", "te1 slots=4\nte3 slots=4\n", 0644);
    await("te1:4 te3:4 | te3 is new; te2 is gone", "hosts: te3 is new; te2 is gone");

    write_file("hosts", "te1 slots=none\n", 0644);
    await(NULL, "hosts:1:11: slots= needs a number; the hosts stay as they were");
    write_file("hosts", "", 0644);
    await(NULL, "hosts: contains no host");
    unlink("hosts");
    await(NULL, "hosts: No such file or directory; the hosts stay");
    write_file("hosts", "te1 slots=4\nte3 slots=4\n", 0644);
    await(NULL, "hosts: can be read again");
    assert_int_equal(test.calls, 2);

    symlink("one", "hosts.link");
    assert_int_equal(rename("hosts.link", "hosts"), 0);
    write_file("one", "te9 slots=1\n", 0644);
    await("te9:1 | te9 is new; te[1,3] are gone", NULL);
    assert_int_equal(count("needs a number"), 1);
    unwatch();
}

/* Counts the directories that this process watches. */
static int watches(void)
{
    FILE *found = popen("cat /proc/$PPID/fdinfo/* 2>/dev/null | grep -c '^inotify wd:'", "r");
    int   n = -1;

    assert_non_null(found);
    assert_int_equal(fscanf(found, "%d", &n), 1);
    pclose(found);
    return n;
}

/* The path leads to another directory each time. */
static void test_other_directory(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0755) + mkdir("b", 0755), 0);
    write_file("a/hosts", "te1 slots=4\n", 0644);
    write_file("b/hosts", "te2 slots=4\n", 0644);
    assert_int_equal(symlink("a", "dir"), 0);
    watch("dir/hosts", NULL);
    await("te1:4 | -", NULL);
    assert_int_equal(watches(), 1);
    assert_int_equal(symlink("b", "dir.new") + rename("dir.new", "dir"), 0);
    write_file("a/touched", "", 0644); /* so that it looks now */
    await("te2:4 | te2 is new; te1 is gone", NULL);
    assert_int_equal(watches(), 1);
    write_file("b/hosts", "te3 slots=4\n", 0644);
    await("te3:4 | te3 is new; te2 is gone", NULL);
    unwatch();
}

/* Truncated, and written again some time later: in between it is no list that counts. */
static void test_in_place(void **state)
{
    FILE *out;

    (void)state;
    write_file("hosts", "te1 slots=4\nte2 slots=4\n", 0644);
    watch("hosts", NULL);
    await("te1:4 te2:4 | -", NULL);
    out = fopen("hosts", "we");
    assert_non_null(out);
    fputs("te1 slots=4\n", out);
    fflush(out);
    turn(0.1);
    turn(0.1);
    assert_int_equal(test.calls, 1);
    fputs("te2 slots=4\nte3 slots=4\n", out);
    fclose(out);
    await("te1:4 te2:4 te3:4 | te3 is new", NULL);
    unwatch();
}

static void test_hangup(void **state)
{
    (void)state;
    write_file("hosts", "te1 slots=4\n", 0644);
    watch("hosts", NULL);
    await("te1:4 | -", NULL);
    write_file("hosts", "te2 slots=4\n", 0644);
    host_watch_look(test.watch);
    await("te2:4 | te2 is new; te1 is gone", NULL);
    host_watch_look(NULL);
    unwatch();
}

static void test_nothing_to_watch(void **state)
{
    (void)state;
    test.options.hostfile = xstrdup("-");
    assert_null(host_watch_new(test.base, &test.options, 1, changed, NULL));
    free(test.options.hostfile);
    test.options.hostfile = xstrdup("/no/such/default");
    assert_null(host_watch_new(test.base, &test.options, 1, changed, NULL));
    test.options.hosts = xstrdup("te1:4");
    test.options.hostfile_given = true;
    assert_null(host_watch_new(test.base, &test.options, 1, changed, NULL));
    options_clear(&test.options);
}

/* -g chooses among the hosts of a file, which the watch does not do; -a takes others than those of
 * the default file, but not of one that is named. */
static void test_groups_are_not_watched(void **state)
{
    (void)state;
    write_file("hosts", "te1 slots=4\n", 0644);
    test.options.hostfile = xstrdup("hosts");
    test.options.hostfile_given = true;
    assert_true(host_watch_is_possible(&test.options));
    test.options.all_hosts = true;
    assert_true(host_watch_is_possible(&test.options));
    test.options.hostfile_given = false;
    assert_false(host_watch_is_possible(&test.options));
    test.options.all_hosts = false;
    assert_true(host_watch_is_possible(&test.options));
    test.options.groups = xstrdup("gpu");
    test.options.hostfile_given = true;
    assert_false(host_watch_is_possible(&test.options));
    options_clear(&test.options);
    unlink("hosts");
}

static void test_script(void **state)
{
    (void)state;
    write_script("echo te1:4; echo te2; echo te1:4");
    watch(NULL, "./find");
    await("te1:4 te2:2 | -", NULL);
    write_script("echo te1:4");
    await("te1:4 | te2 is gone", "./find: te2 is gone");
    write_script("echo the cloud is down >&2; exit 3");
    await(NULL, "./find: exit 3 (the cloud is down); the hosts stay as they were");
    write_script("kill -9 $$");
    await(NULL, "./find: killed by signal 9");
    write_script("echo '<html>'");
    await(NULL, "./find:1:1: ");
    write_script("exec sh -c 'cat /dev/zero'");
    await(NULL, "./find: prints more than 1048576 bytes");
    unlink("find");
    await(NULL, "./find: No such file or directory");
    write_script(":");
    await(NULL, "./find: prints no host");
    write_script("echo te5:1");
    await("te5:1 | te5 is new; te1 is gone", "can be read again");
    unwatch();
}

/* Told once, though it is asked each second; and never two at once. */
static void test_script_again(void **state)
{
    int64_t until_ns;

    (void)state;
    write_script("mkdir busy || echo two at once >&2; echo x >>asked; sleep 0.3; rmdir busy; "
                 "exit 7");
    watch(NULL, "./find");
    await(NULL, "exit 7");
    until_ns = clock_now_ns() + LIMIT_S * NS_PER_S;
    for (;;) {
        struct stat about;

        host_watch_look(test.watch);
        turn(0.05);
        if ((stat("asked", &about) == 0 && about.st_size >= 6) || clock_now_ns() > until_ns)
            break;
    }
    assert_int_equal(count("exit 7"), 1);
    assert_int_equal(count("two at once"), 0);
    unwatch();
}

static void test_script_read(void **state)
{
    struct error    err;
    struct hostlist hosts;

    (void)state;
    write_script("echo te1:4; echo te2:4; echo 'not read' >&2");
    test.options.discovery_script = xstrdup("./find");
    assert_int_equal(host_watch_ask(&test.options, &hosts, &err), 0);
    assert_int_equal(hosts.count, 2);
    hostlist_clear(&hosts);
    write_script("exit 1");
    assert_int_equal(host_watch_ask(&test.options, &hosts, &err), -1);
    assert_string_equal(err.text, "--host-discovery-script: ./find: exit 1");
    assert_int_equal(chmod("find", 0644), 0);
    assert_int_equal(host_watch_ask(&test.options, &hosts, &err), -1);
    assert_string_equal(err.text, "--host-discovery-script: ./find: Permission denied");
    options_clear(&test.options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hangup, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups_are_not_watched, setup, teardown),
        cmocka_unit_test_setup_teardown(test_script, setup, teardown),
        cmocka_unit_test_setup_teardown(test_script_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_script_read, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
