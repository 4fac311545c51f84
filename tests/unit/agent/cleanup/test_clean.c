/* test_clean.c - an answer about orphans waits for their control group, for a while
 *
 * Here this program is the guard that has made the group, and its child the process in it. Neither
 * is an agent by its looks, so to the cleanup both are about to be gone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "cleanup/clean.h"
#include "clock.h"
#include "err.h"
#include "guard/cgroup.h"

#define ENDS_AFTER_S 0.2
#define PATIENCE_S   120.0

struct world {
    struct event_base *base;
    struct event      *ends, *late;
    struct clean      *clean;
    struct cgroup      cgroup;
    char               path[sizeof((struct cgroup *)NULL)->path], run[32];
    pid_t              member;
    bool               has_ended, is_done;
    int64_t            begun_ns, done_ns;
};

static void ends_cb(evutil_socket_t fd, short what, void *arg)
{
    struct world *world = arg;

    (void)fd, (void)what;
    world->has_ended = true;
    if (world->cgroup.lock_fd > 0)
        close(world->cgroup.lock_fd);
    world->cgroup.lock_fd = 0;
    if (world->member > 0)
        kill(world->member, SIGKILL);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(((struct world *)arg)->base);
}

static void done(json_t *body, void *arg)
{
    struct world *world = arg;

    assert_int_equal(json_array_size(json_object_get(body, "processes")), 0);
    json_decref(body);
    world->is_done = true;
    world->done_ns = clock_now_ns();
    event_base_loopbreak(world->base);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    *state = world;
    snprintf(world->run, sizeof world->run, "20260101-000000-%04x", (unsigned)getpid() & 0xffff);
    world->base = event_base_new();
    world->ends = evtimer_new(world->base, ends_cb, world);
    world->late = evtimer_new(world->base, late_cb, world);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    clean_free(world->clean);
    if (world->member > 0) {
        kill(world->member, SIGKILL);
        waitpid(world->member, NULL, 0);
    }
    cgroup_remove(&world->cgroup);
    event_free(world->ends);
    event_free(world->late);
    event_base_free(world->base);
    free(world);
    return 0;
}

static void make_group(struct world *world)
{
    if (!cgroup_make(&world->cgroup, world->run))
        skip(); /* not allowed here */
    snprintf(world->path, sizeof world->path, "%s", world->cgroup.path);
}

static void add_member(struct world *world)
{
    world->member = fork();
    assert_true(world->member >= 0);
    if (world->member == 0) {
        cgroup_enter(&world->cgroup);
        for (;;)
            pause();
    }
    while (cgroup_is_empty(&world->cgroup))
        usleep(1000);
}

/* The group's last process, or its guard, ends after that; 0: never. */
static void clean(struct world *world, double ends_after_s)
{
    struct timeval soon = clock_interval(ends_after_s), late = clock_interval(PATIENCE_S);
    struct error   err;
    json_t        *body = json_pack("{s:b, s:b, s:f, s:s}", "kill", 1, "orphans", 1, "grace_s", 0.0,
                                    "run", world->run);

    world->begun_ns = clock_now_ns();
    world->clean = clean_begin(world->base, body, done, world, &err);
    json_decref(body);
    assert_non_null(world->clean);
    if (ends_after_s > 0)
        evtimer_add(world->ends, &soon);
    evtimer_add(world->late, &late);
    event_base_dispatch(world->base);
    assert_true(world->is_done);
}

static void test_guard_is_not_quite_gone(void **state)
{
    struct world *world = *state;

    make_group(world);
    clean(world, ENDS_AFTER_S);
    assert_true(world->has_ended);
    assert_int_equal(access(world->path, F_OK), -1);
}

static void test_process_is_not_quite_gone(void **state)
{
    struct world *world = *state;

    make_group(world);
    add_member(world);
    clean(world, ENDS_AFTER_S);
    assert_true(world->has_ended);
    assert_int_equal(access(world->path, F_OK), -1);
}

static void test_group_that_stays(void **state)
{
    struct world *world = *state;

    make_group(world);
    clean(world, 0);
    assert_true(world->done_ns - world->begun_ns >= NS_PER_S / 2);
    assert_int_equal(access(world->path, F_OK), 0);
}

static void test_group_of_another_run(void **state)
{
    struct world *world = *state;

    make_group(world);
    snprintf(world->run, sizeof world->run, "20260101-000001-%04x", (unsigned)getpid() & 0xffff);
    clean(world, PATIENCE_S / 2);
    assert_false(world->has_ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_guard_is_not_quite_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_process_is_not_quite_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_group_that_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_group_of_another_run, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("clean", tests, NULL, NULL);
}
