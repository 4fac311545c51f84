/* test_orphans.c - which processes are of a run, whether it is running, and who is signalled
 *
 * The processes are started outside of this one's own descendants, which never count. This
 * program itself, called with --nonce, is what looks like an agent.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup/orphans.h"
#include "fd.h"

#define PATIENCE_MS 10000
#define LIFE_S      "60" /* of a sleep that nobody ends */

struct world {
    struct orphans orphans;
    pid_t          group; /* of all that was started; 0: nothing */
    pid_t          rank, agent;
    pid_t          next_pid; /* of what is started next; 0: any */
    bool           own_network; /* so has what is started next */
    char           run[ORPHAN_RUN_ID_MAX];
};

/* Print the pid and become a sleep, with the variable or without. */
static void become_sleep(const char *run)
{
    char  variable[ORPHAN_RUN_ID_MAX + 16];
    char *argv[] = { (char *)"sleep", (char *)LIFE_S, NULL }, *env[] = { variable, NULL };
    int   pid = getpid();

    snprintf(variable, sizeof variable, "MUSTER_RUN_ID=%s", run);
    if (write(STDOUT_FILENO, &pid, sizeof pid) == sizeof pid)
        execve("/bin/sleep", argv, run[0] != '\0' ? env : env + 1);
    _exit(1);
}

static void become(const char *mode, const char *run)
{
    execl("/proc/self/exe", "test_orphans", mode, run, NULL);
    _exit(1);
}

/* What this program is when it does not test. */
static void play(const char *mode, const char *run)
{
    if (strcmp(mode, "rank") == 0)
        become_sleep(run);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (strcmp(mode, "--nonce") == 0)
            become_sleep(run);
        become("--nonce", run); /* mode "parent": a launcher that an agent has */
    }
    for (;;)
        pause();
}

/* fork() that gives the child this pid, if the kernel lets us; 0: any. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid,
                               .set_tid_size = 1 };

    return pid == 0 ? fork() : (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Not a child of ours: its parent has ended. With world->next_pid, if it is set. */
static void start_outside(struct world *world, const char *mode, const char *run)
{
    int     ready[2];
    pid_t   starter;
    ssize_t size;

    assert_int_equal(pipe(ready), 0);
    starter = fork();
    assert_true(starter >= 0);
    if (starter == 0) {
        setsid();
        if (world->own_network && unshare(CLONE_NEWNET) < 0)
            _exit(1);
        if (fork_as(world->next_pid) == 0) {
            dup2(ready[1], STDOUT_FILENO);
            fd_close_from(3);
            become(mode, run);
        }
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(waitpid(starter, NULL, 0), starter);
    world->group = starter;
    size = read(ready[0], &world->rank, sizeof world->rank);
    close(ready[0]);
    if (size != sizeof world->rank && world->next_pid > 0)
        skip(); /* the kernel does not let us choose, or somebody else was faster */
    assert_int_equal(size, sizeof world->rank);
}

/* It sleeps: while execve() still goes on it has the name, and no environment yet. */
static bool is_sleep(pid_t pid)
{
    struct process now;
    char           path[64], name[32] = "";

    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    fd_read_file(path, name, sizeof name);
    return strcmp(name, "sleep\n") == 0 && process_read(pid, &now) && now.state == 'S' &&
           now.parent != getpid();
}

static void wait_for_sleep(struct world *world)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    struct process        rank;
    int                   i;

    for (i = 0; i < PATIENCE_MS / 2 && !is_sleep(world->rank); i++)
        nanosleep(&pause, NULL);
    assert_true(is_sleep(world->rank));
    assert_true(process_read(world->rank, &rank));
    world->agent = rank.parent;
}

static void start(struct world *world, const char *mode)
{
    start_outside(world, mode, world->run);
    wait_for_sleep(world);
}

static struct orphan *find(struct world *world, pid_t pid)
{
    size_t i;

    for (i = 0; i < world->orphans.count; i++)
        if (world->orphans.item[i].process.pid == pid)
            return &world->orphans.item[i];
    return NULL;
}

/* The kernel gives orphans to process 1, unless a subreaper is above us. */
static bool is_adopted_by_init(struct world *world, pid_t pid)
{
    struct orphan *orphan = find(world, pid);

    return orphan != NULL && orphan->process.parent == 1;
}

static void wait_for_state(pid_t pid, char state)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    struct process        now;
    int                   i;

    for (i = 0; i < PATIENCE_MS / 2 && process_read(pid, &now) && now.state != state; i++)
        nanosleep(&pause, NULL);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    snprintf(world->run, sizeof world->run, "20260101-000000-%x", (unsigned)getpid());
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    orphans_clear(&world->orphans);
    if (world->group > 0)
        kill(-world->group, SIGKILL);
    free(world);
    return 0;
}

static void test_rank_without_an_agent(void **state)
{
    struct world  *world = *state;
    struct orphan *rank;

    start(world, "rank");
    orphans_look(&world->orphans);
    rank = find(world, world->rank);
    assert_non_null(rank);
    assert_int_equal(rank->what, ORPHAN_RANK);
    assert_string_equal(rank->run, world->run);
    assert_false(rank->has_agent || rank->is_running || rank->is_draining || rank->is_spared);
    assert_int_equal(json_integer_value(json_object_get(rank->about, "pid")), world->rank);
}

static void test_no_variable_no_orphan(void **state)
{
    struct world *world = *state;

    start_outside(world, "rank", "");
    wait_for_sleep(world);
    orphans_look(&world->orphans);
    assert_null(find(world, world->rank));
}

static void test_own_children_do_not_count(void **state)
{
    struct world *world = *state;
    int           ready[2];
    pid_t         child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        dup2(ready[1], STDOUT_FILENO);
        become("rank", world->run);
    }
    assert_int_equal(read(ready[0], &world->rank, sizeof world->rank), sizeof world->rank);
    wait_for_state(child, 'S');
    orphans_look(&world->orphans);
    assert_null(find(world, child));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static void test_looking_twice_adds_nothing(void **state)
{
    struct world *world = *state;
    size_t        i, times = 0;

    start(world, "rank");
    orphans_look(&world->orphans);
    orphans_look(&world->orphans);
    for (i = 0; i < world->orphans.count; i++)
        times += world->orphans.item[i].process.pid == world->rank;
    assert_int_equal(times, 1);
}

static void test_only_those_that_are_old_enough(void **state)
{
    struct world  *world = *state;
    struct process rank;

    start(world, "rank");
    assert_true(process_read(world->rank, &rank));
    world->orphans.started_by = rank.start - 1;
    orphans_look(&world->orphans);
    assert_null(find(world, world->rank));
    world->orphans.started_by = rank.start;
    orphans_look(&world->orphans);
    assert_non_null(find(world, world->rank));
    assert_in_range(process_ticks_ago(0), rank.start,
                    rank.start + (uint64_t)(100 * sysconf(_SC_CLK_TCK)));
    assert_true(process_ticks_ago(1000) < rank.start);
}

static void test_agent_with_a_launcher(void **state)
{
    struct world  *world = *state;
    struct orphan *rank, *agent;

    start(world, "parent");
    orphans_look(&world->orphans);
    rank = find(world, world->rank);
    agent = find(world, world->agent);
    assert_non_null(rank);
    assert_non_null(agent);
    assert_int_equal(agent->what, ORPHAN_AGENT);
    assert_string_equal(agent->run, world->run); /* as its rank says */
    assert_true(rank->has_agent && rank->is_running);
    assert_false(rank->is_draining || agent->is_spared);
}

/* By its environment, or by the agent above it; another user's run is known by that, too. */
static void test_run_of_a_process(void **state)
{
    struct world  *world = *state;
    struct process process;
    char           run[ORPHAN_RUN_ID_MAX];
    bool           is_running;

    start(world, "parent");
    orphans_look(&world->orphans);
    assert_true(process_read(world->rank, &process));
    assert_true(orphans_run_of(&world->orphans, &process, run, &is_running));
    assert_string_equal(run, world->run);
    assert_true(is_running);
    orphans_clear(&world->orphans);
    kill(-world->group, SIGKILL);

    start_outside(world, "parent", ""); /* it has cleared its environment */
    wait_for_sleep(world);
    orphans_look(&world->orphans);
    assert_true(process_read(world->rank, &process));
    assert_true(orphans_run_of(&world->orphans, &process, run, &is_running));
    assert_string_equal(run, "");
    assert_true(is_running);
    orphans_clear(&world->orphans);
    kill(-world->group, SIGKILL);

    start(world, "rank"); /* nothing is above it */
    orphans_look(&world->orphans);
    assert_true(process_read(world->rank, &process));
    assert_true(orphans_run_of(&world->orphans, &process, run, &is_running));
    assert_false(is_running);
    assert_true(process_read(getpid(), &process));
    assert_false(orphans_run_of(&world->orphans, &process, run, &is_running));
}

static void test_agent_that_lost_its_launcher(void **state)
{
    struct world  *world = *state;
    struct orphan *rank;

    start(world, "--nonce");
    orphans_look(&world->orphans);
    if (!is_adopted_by_init(world, world->agent))
        skip();
    rank = find(world, world->rank);
    assert_true(rank->has_agent && rank->is_draining); /* it ends its ranks */
    assert_false(rank->is_running);
}

/* Nodes of one run on one machine: that one's connection was made again, and it goes on. */
static void test_agent_in_another_network(void **state)
{
    struct world *world = *state;

    if (getuid() != 0)
        skip();
    world->own_network = true;
    start(world, "--nonce");
    orphans_look(&world->orphans);
    if (!is_adopted_by_init(world, world->agent))
        skip();
    assert_true(find(world, world->rank)->has_agent);
    assert_false(find(world, world->rank)->is_draining);
}

static void test_stopped_agent(void **state)
{
    struct world  *world = *state;
    struct orphan *rank;

    start(world, "parent");
    kill(world->agent, SIGSTOP);
    wait_for_state(world->agent, 'T');
    orphans_look(&world->orphans);
    rank = find(world, world->rank);
    assert_true(rank->has_agent);
    assert_false(rank->is_running || rank->is_given_up);

    world->orphans.given_up = find(world, world->agent)->process;
    orphans_refresh(&world->orphans);
    assert_true(find(world, world->rank)->is_given_up);
    assert_true(find(world, world->agent)->is_given_up);
}

static void test_given_up_agent_that_runs_ends_its_ranks(void **state)
{
    struct world *world = *state;

    start(world, "parent");
    orphans_look(&world->orphans);
    world->orphans.given_up = find(world, world->agent)->process;
    orphans_refresh(&world->orphans);
    assert_false(find(world, world->rank)->is_given_up);
    assert_true(find(world, world->rank)->is_draining);
}

static void test_signal_ends_it(void **state)
{
    struct world  *world = *state;
    struct orphan *rank;
    size_t         count;

    start(world, "rank");
    orphans_look(&world->orphans);
    rank = find(world, world->rank);
    orphans_refresh(&world->orphans);
    assert_false(rank->is_gone);
    orphan_signal(rank, SIGKILL);
    assert_true(rank->is_signalled);
    wait_for_state(world->rank, 'Z');
    orphans_refresh(&world->orphans);
    assert_true(rank->is_gone);
    count = world->orphans.count;
    orphans_forget_gone(&world->orphans);
    assert_null(find(world, world->rank));
    assert_true(world->orphans.count < count);
}

/* Neither what we may not touch, nor another process with that number. */
static void test_signal_spares(void **state)
{
    struct world  *world = *state;
    struct orphan *rank;

    start(world, "rank");
    orphans_look(&world->orphans);
    rank = find(world, world->rank);
    rank->is_spared = true;
    orphan_signal(rank, SIGKILL);
    assert_false(rank->is_signalled);
    rank->is_spared = false;
    rank->what = ORPHAN_AGENT; /* it was one, and became another program */
    orphan_signal(rank, SIGKILL);
    assert_false(rank->is_signalled);
    rank->what = ORPHAN_RANK;
    rank->process.start++;
    orphan_signal(rank, SIGKILL);
    assert_true(is_sleep(world->rank));
    orphans_refresh(&world->orphans);
    assert_true(rank->is_gone); /* the one that was meant */
}

static bool is_free(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

/* The kernel gives a pid to another process, of the same run, between look and signal: only the
 * time of its start, in ticks, tells them apart. */
static void test_signal_spares_the_next_with_its_pid(void **state)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    struct world         *world = *state;
    struct process        next;
    struct orphan        *rank;
    int                   i;

    if (getuid() != 0)
        skip(); /* nobody else may choose a pid */
    start(world, "rank");
    orphans_look(&world->orphans);
    rank = find(world, world->rank);
    kill(world->rank, SIGKILL);
    for (i = 0; i < PATIENCE_MS / 2 && (i < 10 || !is_free(world->rank)); i++)
        nanosleep(&pause, NULL); /* for two ticks at least */
    world->next_pid = world->rank;
    start(world, "rank");
    assert_int_equal(world->rank, world->next_pid);
    orphan_signal(rank, SIGKILL);
    kill(world->rank, SIGSTOP); /* KILL would come first */
    wait_for_state(world->rank, 'T');
    assert_true(process_read(world->rank, &next));
    assert_int_equal(next.state, 'T');
    assert_true(next.start != rank->process.start);
    orphans_refresh(&world->orphans);
    assert_true(rank->is_gone);
    rank->process = next;
    rank->is_gone = false;
    orphan_signal(rank, SIGKILL); /* it would have ended by that */
    for (i = 0; i < PATIENCE_MS / 2 && !is_free(world->rank); i++)
        nanosleep(&pause, NULL);
    assert_true(is_free(world->rank));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_rank_without_an_agent),
        TEST(test_no_variable_no_orphan),
        TEST(test_own_children_do_not_count),
        TEST(test_looking_twice_adds_nothing),
        TEST(test_only_those_that_are_old_enough),
        TEST(test_agent_with_a_launcher),
        TEST(test_run_of_a_process),
        TEST(test_agent_that_lost_its_launcher),
        TEST(test_agent_in_another_network),
        TEST(test_stopped_agent),
        TEST(test_given_up_agent_that_runs_ends_its_ranks),
        TEST(test_signal_ends_it),
        TEST(test_signal_spares),
        TEST(test_signal_spares_the_next_with_its_pid),
    };

    if (argc == 3)
        play(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
