/* test_cgroup.c - a process begins in the run's control group, or joins it; nobody takes it away
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/cgroup.h"

#define RUN_ID "20261124-120000-0c0c"

/* Exits with 0 if it is in a group of that run. */
static void child(struct cgroup *cgroup)
{
    char run_id[64] = "";

    alarm(60);
    if (!cgroup->takes_forks && !cgroup_enter(cgroup))
        _exit(1);
    _exit(cgroup_run_of(getpid(), run_id, sizeof run_id) && strcmp(run_id, RUN_ID) == 0 ? 0 : 2);
}

static void forks_into(struct cgroup *cgroup)
{
    int   status = -1;
    pid_t pid = cgroup_fork(cgroup);

    assert_true(pid >= 0);
    if (pid == 0)
        child(cgroup);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_fork(void **state)
{
    struct cgroup cgroup;

    (void)state;
    if (!cgroup_make(&cgroup, RUN_ID))
        skip(); /* no group can be made here */
    forks_into(&cgroup);
    cgroup.takes_forks = false; /* as on a kernel before 5.7 */
    forks_into(&cgroup);
    assert_true(cgroup_is_empty(&cgroup));
    assert_true(cgroup_remove(&cgroup));
}

/* One fork, and no move: a move stops the forks of the whole machine for milliseconds. */
static void test_begins_there(void **state)
{
    struct cgroup cgroup;
    pid_t         pid;

    (void)state;
    if (!cgroup_make(&cgroup, RUN_ID))
        skip();
    if (!cgroup.takes_forks) {
        cgroup_remove(&cgroup);
        skip(); /* version 1, or an old kernel */
    }
    pid = cgroup_fork(&cgroup);
    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(1);
    }
    assert_false(cgroup_is_empty(&cgroup));
    cgroup_kill(&cgroup);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(cgroup_remove(&cgroup));
}

/* As the clean-ups of other runs do, until it is killed. */
static void remove_unused(const char *path)
{
    struct cgroup cgroup = { 0 };
    int           held;

    alarm(60);
    for (;;) {
        held = cgroup_hold_unused(path, true);
        if (held > 0) {
            snprintf(cgroup.path, sizeof cgroup.path, "%s", path);
            cgroup_remove(&cgroup);
            close(held);
        }
    }
}

/* Between its making and its lock, a group looks unused. */
static void test_stays(void **state)
{
    struct cgroup cgroup;
    char          path[sizeof cgroup.path];
    pid_t         pid;
    int           i;

    (void)state;
    if (!cgroup_make(&cgroup, RUN_ID))
        skip();
    snprintf(path, sizeof path, "%s", cgroup.path);
    assert_true(cgroup_remove(&cgroup));
    pid = fork();
    if (pid == 0)
        remove_unused(path);
    for (i = 0; i < 2000; i++) {
        assert_true(cgroup_make(&cgroup, RUN_ID));
        assert_string_equal(cgroup.path, path);
        assert_true(cgroup.lock_fd > 0);
        assert_int_equal(cgroup_hold_unused(path, false), 0);
        assert_int_equal(access(path, F_OK), 0);
        cgroup_remove(&cgroup); /* or the other one does */
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Looking at it keeps no other from looking. */
static void test_lookers(void **state)
{
    struct cgroup cgroup;
    int           one, two;

    (void)state;
    if (!cgroup_make(&cgroup, RUN_ID))
        skip();
    assert_int_equal(cgroup_hold_unused(cgroup.path, false), 0);
    close(cgroup.lock_fd); /* its maker is gone */
    cgroup.lock_fd = 0;
    one = cgroup_hold_unused(cgroup.path, false);
    two = cgroup_hold_unused(cgroup.path, false);
    assert_true(one > 0);
    assert_true(two > 0);
    close(one);
    close(two);
    assert_true(cgroup_remove(&cgroup));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_begins_there),
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_lookers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
