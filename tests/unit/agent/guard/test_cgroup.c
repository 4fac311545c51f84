/* test_cgroup.c - a process begins in the run's control group, or joins it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_begins_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
