/* test_gpu_kill.c - which processes with a GPU open are ended, by real ones
 *
 * A file stands for the GPU. Those that hold it are children of this program.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup/gpu_kill.h"
#include "node/gpu_holders.h"
#include "node/test_switch.h"

#define GPU 3

static char            folder[64], gpu[80];
static struct orphans  orphans;
static struct gpu_kill asked;
static pid_t           holder;

static int set_up(void **state)
{
    char glob[96];
    int  fd;

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_gpu_kill.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(gpu, sizeof gpu, "%s/nvidia%d", folder, GPU);
    snprintf(glob, sizeof glob, "%s/nvidia[0-9]*", folder);
    setenv(TEST_SWITCH_GPU_GLOB, glob, 1);
    fd = open(gpu, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    orphans_look(&orphans);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu_kill_clear(&asked);
    orphans_clear(&orphans);
    if (holder > 0) {
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
    }
    holder = 0;
    unlink(gpu);
    rmdir(folder);
    return 0;
}

/* A child with this pid, or with any (0), that has opened the GPU. -1: the kernel did not let
 * us choose. */
static pid_t hold(pid_t wanted)
{
    struct clone_args args = { .exit_signal = SIGCHLD,
                               .set_tid = (uint64_t)(uintptr_t)&wanted,
                               .set_tid_size = 1 };
    int               ready[2];
    char              byte;
    pid_t             pid;

    assert_int_equal(pipe(ready), 0);
    pid = wanted == 0 ? fork() : (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (open(gpu, O_RDONLY) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_true(pid < 0 || read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return pid;
}

static void ask_for(json_t *what)
{
    struct error err;

    assert_int_equal(gpu_kill_init(&asked, what, &err), 0);
    json_decref(what);
}

static void test_values(void **state)
{
    static const char *const bad[] = { "0",    "-1", "1.5", "4294967296", "true",
                                       "\"\"", "{}", "[]",  "null" };
    struct error             err;
    char                     text[80];
    json_t                  *what;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        what = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        if (gpu_kill_init(&asked, what, &err) == 0)
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(asked.whose, GPU_KILL_NONE);
        json_decref(what);
    }
    memset(text, 'a', sizeof text);
    what = json_stringn(text, sizeof asked.name);
    assert_int_equal(gpu_kill_init(&asked, what, &err), -1);
    json_decref(what);
    assert_int_equal(gpu_kill_init(&asked, NULL, &err), 0);
    assert_int_equal(asked.whose, GPU_KILL_NONE);
    ask_for(json_stringn(text, sizeof asked.name - 1));
    assert_int_equal(asked.whose, GPU_KILL_USER);
    ask_for(json_string("mine"));
    assert_int_equal(asked.whose, GPU_KILL_MINE);
    ask_for(json_integer(7));
    assert_int_equal(asked.pid, 7);
}

static void test_nothing_asked_for(void **state)
{
    json_t *list;

    (void)state;
    holder = hold(0);
    ask_for(NULL);
    gpu_kill_look(&asked, &orphans, false);
    gpu_kill_ask(&asked);
    gpu_kill_force(&asked);
    assert_true(gpu_kill_is_over(&asked));
    assert_true(gpu_is_held_by(holder));
    list = gpu_kill_list(&asked, &orphans);
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "pid")),
                     holder);
    assert_true(json_is_true(json_object_get(json_array_get(list, 0), "mine")));
    assert_null(json_object_get(json_array_get(list, 0), "asked"));
    assert_int_equal(
        json_integer_value(json_array_get(json_object_get(json_array_get(list, 0), "gpus"), 0)),
        GPU);
    json_decref(list);
}

static void test_mine(void **state)
{
    int status;

    (void)state;
    holder = hold(0);
    ask_for(json_string("mine"));
    gpu_kill_look(&asked, &orphans, false);
    assert_false(gpu_kill_is_over(&asked));
    gpu_kill_ask(&asked);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_true(gpu_kill_is_over(&asked));
    holder = 0;
}

/* Of all processes only the one with that PID, and it only while it has a GPU open. */
static void test_pid(void **state)
{
    pid_t other;

    (void)state;
    holder = hold(0);
    other = hold(0);
    ask_for(json_integer(other));
    gpu_kill_look(&asked, &orphans, false);
    gpu_kill_ask(&asked);
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_true(gpu_kill_is_over(&asked));
    assert_true(gpu_is_held_by(holder));
    assert_null(asked.problem);
    gpu_kill_clear(&asked);

    ask_for(json_integer(getppid()));
    gpu_kill_look(&asked, &orphans, false);
    assert_true(gpu_kill_is_over(&asked));
    assert_non_null(strstr(asked.problem, " has no GPU open"));
    gpu_kill_clear(&asked);

    ask_for(json_integer(other));
    gpu_kill_look(&asked, &orphans, false);
    assert_non_null(strstr(asked.problem, "there is no process"));
}

/* The kernel gives the PID to another process that has a GPU open: it is not the one that was
 * seen. */
static void test_next_with_its_pid(void **state)
{
    const struct timespec pause = { .tv_nsec = 30000000 }; /* three ticks: it starts later */
    pid_t                 first;
    int                   status;

    (void)state;
    if (getuid() != 0)
        skip(); /* others may not choose a PID */
    first = hold(0);
    ask_for(json_integer(first));
    gpu_kill_look(&asked, &orphans, false);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    nanosleep(&pause, NULL);
    holder = hold(first);
    if (holder < 0)
        skip();
    gpu_kill_look(&asked, &orphans, false);
    gpu_kill_ask(&asked);
    gpu_kill_force(&asked);
    assert_true(gpu_kill_is_over(&asked));
    kill(holder, SIGUSR1); /* the first signal that it gets */
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(WTERMSIG(status), SIGUSR1);
    holder = 0;
}

static void test_what_orphans_has(void **state)
{
    (void)state;
    holder = hold(0);
    ask_for(json_string("mine"));
    orphans.item = realloc(orphans.item, (orphans.count + 1) * sizeof *orphans.item);
    memset(&orphans.item[orphans.count], 0, sizeof *orphans.item);
    process_read(holder, &orphans.item[orphans.count++].process);
    gpu_kill_look(&asked, &orphans, true);
    gpu_kill_ask(&asked);
    gpu_kill_force(&asked);
    assert_true(gpu_is_held_by(holder)); /* muster clean --kill signals it */
    assert_false(gpu_kill_is_over(&asked));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_values), TEST(test_nothing_asked_for), TEST(test_mine),
        TEST(test_pid),    TEST(test_next_with_its_pid), TEST(test_what_orphans_has),
    };

    return cmocka_run_group_tests_name("gpu_kill", tests, NULL, NULL);
}
