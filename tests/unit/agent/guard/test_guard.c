/* test_guard.c - the guard and its ranks, with each way to hold them together that this node allows
 *
 * This process stands for the agent: it packs what a rank is started from, asks for it, and reads
 * what the guard says. Ranks are real processes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "guard/guard.h"
#include "node/process.h"
#include "node/test_switch.h"

#define RUN_ID   "20261124-120000-9a9a"
#define TURN_MS  5
#define TURNS    6000 /* half a minute */
#define ALARM_S  120  /* of a test: the guards see that this process is dead */
#define LONG_S   1000.0
#define SHORT_S  0.3
#define MANY     100
#define STAY     "exec sleep 1000"
#define TRACED   "traced" /* this program, as a rank */
#define DAEMON   "setsid sh -c 'setsid sleep 1000 & echo started' & wait"
#define STUBBORN "trap '' TERM; echo; exec sleep 1000"

/* What TEST_SWITCH_CONTAIN is set to. Not const, since cmocka hands it on as it is. */
static char layers[][40] = {
    "pidns,userns,cgroup,subreaper",
    "cgroup,subreaper",
    "subreaper",
    "cgroup",
};

static char self[PATH_MAX]; /* this program */

struct world {
    struct guard         guard;
    struct guard_message said;      /* by the guard, the last */
    int                  out[MANY]; /* the reading ends of what ranks print */
};

/* ---- the world ---- */

/* Orphans that come to us; as the agent does it. */
static void reap_orphans(const struct world *world)
{
    siginfo_t child = { 0 };

    while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid > 0 &&
           child.si_pid != world->guard.pid)
        waitpid(child.si_pid, NULL, 0);
}

/* Until there is something to read. */
static void await(const struct world *world, int fd)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    int           rc, turns = 0;

    while ((rc = poll(&wait, 1, TURN_MS)) == 0 && turns++ < TURNS)
        reap_orphans(world);
    assert_int_equal(rc, 1);
}

static struct world *world_of(void **state)
{
    static struct world only;
    struct world       *world = &only;
    struct containment *contain;
    struct error        err;
    int                 i;

    *world = (struct world){ .guard = { .fd = -1 } };
    for (i = 0; i < MANY; i++)
        world->out[i] = -1;
    alarm(ALARM_S);
    setenv(TEST_SWITCH_CONTAIN, *state, 1);
    if (guard_start(&world->guard, RUN_ID, true, &err) < 0)
        fail_msg("%s", err.text);
    contain = &world->guard.contain;
    if (strcmp(*state, "cgroup") == 0 && contain->cgroup.path[0] == '\0') {
        guard_end(&world->guard);
        skip(); /* no group can be made here */
    }
    assert_int_equal(!contain->pidns && strstr(*state, "subreaper") != NULL, contain->subreaper);
    return world;
}

/* What still runs ends with it. */
static void world_end(struct world *world)
{
    int i;

    if (world->guard.fd >= 0)
        guard_end(&world->guard);
    for (i = 0; i < MANY; i++)
        if (world->out[i] >= 0)
            close(world->out[i]);
    reap_orphans(world);
    cgroup_remove(&world->guard.contain.cgroup); /* a guard that was killed has left it */
    alarm(0);
}

/* What is executed as rank id; arguments end with NULL. */
static void execute(struct world *world, int id, const char *path, const char *cwd,
                    const char *const *argv)
{
    struct strlist args = { 0 }, env = { 0 };
    struct spawn   spawn = { .path = path, .cwd = cwd, .argv = &args, .env = &env };
    struct error   err;
    int            pair[2], fds[SPAWN_FDS] = { -1, -1, -1, -1, -1 };

    while (*argv != NULL)
        strlist_add(&args, *argv++);
    env_set(&env, "PATH", "/usr/bin:/bin");
    env_set(&env, "MASTER_PORT", "1");
    fds[SPAWN_FD_SPEC] = spawn_pack(&spawn, &err);
    assert_true(fds[SPAWN_FD_SPEC] >= 0);
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    fds[SPAWN_FD_STDOUT] = fds[SPAWN_FD_STDERR] = pair[1];
    fds[SPAWN_FD_STDIN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fds[SPAWN_FD_STDIN] >= 0);
    assert_int_equal(guard_spawn(&world->guard, id, fds), 0);
    close(fds[SPAWN_FD_SPEC]);
    close(fds[SPAWN_FD_STDIN]);
    close(pair[1]);
    if (id >= 0)
        world->out[id] = pair[0];
    else
        close(pair[0]);
    strlist_clear(&args);
    strlist_clear(&env);
}

static void script(struct world *world, int id, const char *text)
{
    const char *const argv[] = { "sh", "-c", text, NULL };

    execute(world, id, "/bin/sh", NULL, argv);
}

/* The next that the guard says, but for signs of life. */
static void hear(struct world *world, enum guard_type type)
{
    do {
        await(world, world->guard.fd);
        assert_int_equal(guard_receive(&world->guard, &world->said), 1);
    } while (world->said.type == GUARD_ALIVE && type != GUARD_ALIVE);
    assert_int_equal(world->said.type, type);
}

static void hear_of(struct world *world, enum guard_type type, int id)
{
    hear(world, type);
    assert_int_equal(world->said.id, id);
}

/* A line of rank 0. */
static void hear_rank(struct world *world, char *line, size_t size)
{
    ssize_t got;

    await(world, world->out[0]);
    got = read(world->out[0], line, size - 1);
    assert_true(got > 0);
    line[got] = '\0';
}

/* Rank 0 runs that, and is executed; its pid. */
static pid_t run(struct world *world, const char *text)
{
    script(world, 0, text);
    hear_of(world, GUARD_STANDS, 0);
    assert_int_equal(guard_go(&world->guard), 0);
    hear_of(world, GUARD_STARTED, 0);
    return world->said.pid;
}

static void assert_over(struct world *world)
{
    int rc;

    do {
        await(world, world->guard.fd);
        rc = guard_receive(&world->guard, &world->said);
    } while (rc > 0);
    assert_int_equal(rc, -1);
}

static void assert_dead(pid_t pid)
{
    struct process process;
    int            turns = 0;

    while (process_read(pid, &process) && process.state != 'Z') {
        assert_true(turns++ < TURNS);
        poll(NULL, 0, TURN_MS);
    }
}

/* ---- from a request to a program ---- */

static void test_waits_for_go(void **state)
{
    static const char variables[] = "MASTER_ADDR=te1\0\0MASTER_PORT=2";
    struct world     *world = world_of(state);
    struct error      err;
    char              line[64];

    script(world, 0, "echo $MASTER_ADDR $MASTER_PORT; exit 7");
    hear_of(world, GUARD_STANDS, 0);
    /* What comes with GO counts, so it has not been executed before. */
    assert_int_equal(go_env_set(world->guard.go_env, variables, sizeof variables, &err), 0);
    assert_int_equal(guard_go(&world->guard), 0);
    hear_of(world, GUARD_STARTED, 0);
    assert_true(world->said.at_ns > 0);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, 7 << 8);
    assert_int_equal(world->said.failure.step, SPAWN_OK);
    assert_true(world->said.at_ns > 0 && world->said.maxrss_kb > 0);
    hear_rank(world, line, sizeof line);
    assert_string_equal(line, "te1 1\n");
    script(world, 1, "exit 8"); /* GO holds for all that come later */
    hear_of(world, GUARD_STANDS, 1);
    hear_of(world, GUARD_STARTED, 1);
    hear_of(world, GUARD_EXITED, 1);
    world_end(world);
}

static void test_helper_waits_for_nothing(void **state)
{
    struct world *world = world_of(state);

    script(world, 0, "exit 1");
    hear_of(world, GUARD_STANDS, 0);
    script(world, GUARD_HELPER, "exit 3");
    hear_of(world, GUARD_STARTED, GUARD_HELPER);
    hear_of(world, GUARD_EXITED, GUARD_HELPER);
    assert_int_equal(world->said.value, 3 << 8);
    world_end(world);
}

static void test_what_fails_is_named(void **state)
{
    static const char *const argv[] = { "none", NULL };
    struct world            *world = world_of(state);
    struct error             err;

    execute(world, 0, "/bin/sh", "/no/such/directory", argv);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.failure.step, SPAWN_CHDIR);
    assert_int_equal(world->said.failure.error, ENOENT);
    execute(world, 1, "/no/such/program", NULL, argv);
    hear_of(world, GUARD_STANDS, 1);
    assert_int_equal(guard_go(&world->guard), 0);
    hear_of(world, GUARD_EXITED, 1);
    assert_int_equal(world->said.failure.step, SPAWN_EXEC);
    assert_int_equal(spawn_explain(&world->said.failure, "/no/such/program", NULL, &err), 127);
    assert_string_equal(err.text, "cannot execute /no/such/program: No such file or directory");
    execute(world, 2, "/etc/passwd", NULL, argv);
    hear_of(world, GUARD_STANDS, 2);
    hear_of(world, GUARD_EXITED, 2);
    assert_int_equal(spawn_explain(&world->said.failure, "/etc/passwd", NULL, &err), 126);
    world_end(world);
}

/* A descriptor of the agent's is closed when the agent closes it. */
static void test_guard_has_no_other_descriptors(void **state)
{
    struct world *world;
    int           pair[2];
    char          byte;

    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    world = world_of(state);
    close(pair[1]);
    await(world, pair[0]);
    assert_int_equal(read(pair[0], &byte, 1), 0);
    close(pair[0]);
    world_end(world);
}

static void test_rank_has_no_other_descriptors(void **state)
{
    struct world *world = world_of(state);
    char          line[64];

    run(world, "for fd in /proc/$$/fd/*; do [ -e $fd ] && printf '%s ' ${fd##*/}; done");
    hear_of(world, GUARD_EXITED, 0);
    hear_rank(world, line, sizeof line);
    assert_string_equal(line, "0 1 2 ");
    world_end(world);
}

/* In a namespace, and where its numbers can be set. */
static void test_number(void **state)
{
    struct world             *world = world_of(state);
    const struct containment *contain = &world->guard.contain;
    char                      line[64];

    guard_number(&world->guard, 5000);
    run(world, "echo $$");
    hear_of(world, GUARD_EXITED, 0);
    hear_rank(world, line, sizeof line);
    if (contain->pidns && !contain->userns &&
        access("/proc/sys/kernel/ns_last_pid", W_OK) == 0)
        assert_string_equal(line, "5001\n");
    world_end(world);
}

static void test_many(void **state)
{
    struct world *world = world_of(state);
    int           i, stand = 0, started = 0, ended = 0;

    for (i = 0; i < MANY; i++)
        script(world, i, "exit 5");
    for (; stand < MANY; stand++)
        hear(world, GUARD_STANDS);
    assert_int_equal(guard_go(&world->guard), 0);
    while (ended < MANY) {
        await(world, world->guard.fd);
        assert_int_equal(guard_receive(&world->guard, &world->said), 1);
        started += world->said.type == GUARD_STARTED;
        ended += world->said.type == GUARD_EXITED && world->said.value == 5 << 8;
    }
    assert_int_equal(started, MANY);
    world_end(world);
}

/* ---- signals ---- */

/* The exec stops it until its debugger has had a look: the guard, which lets it go. */
static void test_rank_wants_a_debugger(void **state)
{
    static const char *const argv[] = { TRACED, NULL };
    struct world            *world = world_of(state);

    execute(world, 0, self, NULL, argv);
    hear_of(world, GUARD_STANDS, 0);
    assert_int_equal(guard_go(&world->guard), 0);
    hear_of(world, GUARD_STARTED, 0);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, SIGUSR1);
    world_end(world);
}

static void test_signal(void **state)
{
    struct world *world = world_of(state);
    char          byte;

    script(world, GUARD_SERVER, STAY);
    hear_of(world, GUARD_STARTED, GUARD_SERVER);
    script(world, 0, STAY);
    hear_of(world, GUARD_STANDS, 0);
    /* It is no rank yet, as the server never is: this is not for them. */
    assert_int_equal(guard_signal(&world->guard, GUARD_ALL, SIGKILL), 0);
    assert_int_equal(guard_go(&world->guard), 0);
    hear_of(world, GUARD_STARTED, 0);
    script(world, 1, "trap : USR1; /bin/sh -c 'echo; exec sleep 1000' & wait; wait; exit 7");
    hear_of(world, GUARD_STANDS, 1);
    hear_of(world, GUARD_STARTED, 1);
    await(world, world->out[1]);
    assert_int_equal(read(world->out[1], &byte, 1), 1);
    assert_int_equal(guard_signal(&world->guard, 1, SIGUSR1), 0);
    hear_of(world, GUARD_EXITED, 1);
    assert_int_equal(world->said.value, 7 << 8); /* its child got it, too, and has ended */
    await(world, world->out[1]);
    assert_int_equal(read(world->out[1], &byte, 1), 0);
    assert_int_equal(guard_signal(&world->guard, GUARD_ALL, SIGUSR2), 0);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, SIGUSR2);
    assert_int_equal(guard_stop(&world->guard, LONG_S), 0);
    hear_of(world, GUARD_EXITED, GUARD_SERVER);
    hear(world, GUARD_EMPTY);
    assert_int_equal(world->said.killed, 0);
    world_end(world);
}

/* ---- the end ---- */

static void test_stop(void **state)
{
    struct world *world = world_of(state);
    pid_t         pid = run(world, STAY);

    assert_int_equal(kill(pid, 0), 0); /* by its number here */
    assert_int_equal(guard_stop(&world->guard, LONG_S), 0);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, SIGTERM);
    assert_dead(pid);
    hear(world, GUARD_EMPTY);
    assert_int_equal(world->said.left, 0);
    assert_int_equal(world->said.killed, 0);
    world_end(world);
}

static void test_stop_kills_after_the_grace(void **state)
{
    struct world *world = world_of(state);
    char          line[4];

    run(world, STUBBORN);
    hear_rank(world, line, sizeof line);
    assert_int_equal(guard_stop(&world->guard, LONG_S), 0);
    assert_int_equal(guard_stop(&world->guard, SHORT_S), 0); /* again: shorter */
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, SIGKILL);
    hear(world, GUARD_EMPTY);
    assert_int_equal(world->said.left, 0);
    world_end(world);
}

/* Ranks that never were executed. */
static void test_stop_before_go(void **state)
{
    struct world *world = world_of(state);

    script(world, 0, STAY);
    hear_of(world, GUARD_STANDS, 0);
    assert_int_equal(guard_stop(&world->guard, LONG_S), 0);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, SIGTERM);
    hear(world, GUARD_EMPTY);
    world_end(world);
}

/* A daemon has left its rank's process group and session, and its parent is dead. A guard that has
 * the control group alone cannot see it, and sends it no TERM; but it can kill all of the group. */
static void test_stop_finds_daemons(void **state)
{
    struct world             *world = world_of(state);
    const struct containment *contain = &world->guard.contain;
    bool                      sees_it = contain->pidns || contain->subreaper;
    char                      line[64];

    run(world, DAEMON);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, 0);
    hear_rank(world, line, sizeof line);
    assert_string_equal(line, "started\n");
    assert_int_equal(guard_stop(&world->guard, sees_it ? LONG_S : SHORT_S), 0);
    hear(world, GUARD_EMPTY);
    assert_int_equal(world->said.killed, sees_it ? 1 : 0);
    assert_int_equal(world->said.left, 0);
    assert_int_equal(read(world->out[0], line, sizeof line), 0); /* it held this open */
    world_end(world);
}

static void test_again(void **state)
{
    struct world *world = world_of(state);

    run(world, DAEMON);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(guard_stop(&world->guard, 0), 0);
    hear(world, GUARD_EMPTY);
    assert_int_equal(world->said.left, 0);
    assert_int_equal(guard_stop(&world->guard, 0), 0); /* too late: it is over */
    assert_int_equal(guard_again(&world->guard), 0);
    close(world->out[0]);
    script(world, 0, "exit 4");
    hear_of(world, GUARD_STANDS, 0); /* the next generation has a GO of its own */
    script(world, GUARD_HELPER, "exit 0");
    hear_of(world, GUARD_STARTED, GUARD_HELPER);
    hear_of(world, GUARD_EXITED, GUARD_HELPER);
    assert_int_equal(guard_go(&world->guard), 0);
    hear_of(world, GUARD_STARTED, 0);
    hear_of(world, GUARD_EXITED, 0);
    assert_int_equal(world->said.value, 4 << 8);
    assert_int_equal(guard_stop(&world->guard, LONG_S), 0);
    hear(world, GUARD_EMPTY);
    assert_int_equal(world->said.killed, 0);
    world_end(world);
}

/* ---- the agent, or the guard, is gone ---- */

static void test_agent_dies(void **state)
{
    struct world *world = world_of(state);
    char          line[4];
    pid_t         pid = run(world, STUBBORN);

    hear_rank(world, line, sizeof line);
    guard_end(&world->guard);
    assert_dead(pid);
    assert_int_equal(access(world->guard.contain.cgroup.path, F_OK), -1); /* if there was one */
    world_end(world);
}

static void test_agent_is_silent(void **state)
{
    struct world *world = world_of(state);
    char          line[4];
    pid_t         pid = run(world, STUBBORN);

    hear_rank(world, line, sizeof line);
    guard_watch(&world->guard, SHORT_S, LONG_S);
    hear(world, GUARD_ALIVE);
    assert_over(world);
    assert_dead(pid);
    world_end(world);
}

static void test_guard_dies(void **state)
{
    struct world *world = world_of(state);
    pid_t         pid = run(world, STAY);

    kill(world->guard.pid, SIGKILL);
    assert_over(world);
    assert_dead(pid); /* it dies with its parent */
    world_end(world);
}

/* Something has stopped the guard, and for so long nothing was heard of it. */
static void stop_guard(struct world *world, double silent_s)
{
    struct guard *guard = &world->guard;

    assert_int_equal(kill(guard->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(guard->pid, NULL, WUNTRACED), guard->pid);
    guard->watched_ns = clock_now_ns();
    guard->heard_ns = guard->watched_ns - (int64_t)(silent_s * NS_PER_S);
}

static void test_guard_stands_still(void **state)
{
    struct world *world = world_of(state);
    pid_t         pid = run(world, STAY);

    stop_guard(world, GUARD_SUSPECT_S + 1);
    guard_watch(&world->guard, LONG_S, LONG_S); /* it may be a mistake: it is told to go on */
    hear(world, GUARD_ALIVE);
    stop_guard(world, GUARD_SUSPECT_S + 1);
    guard_watch(&world->guard, LONG_S, GUARD_SUSPECT_S); /* nobody waits for ever */
    assert_int_equal(world->guard.silent_as, 'T');
    assert_over(world);
    assert_dead(pid);
    world_end(world);
}

#define IN_LAYERS(test, words, i) { #test ": " words, test, NULL, NULL, layers[i] }
#define EACH_LAYER(test)                                                                 \
    IN_LAYERS(test, "namespace", 0), IN_LAYERS(test, "group, subreaper", 1),               \
        IN_LAYERS(test, "subreaper", 2), IN_LAYERS(test, "group", 3)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        EACH_LAYER(test_waits_for_go),
        EACH_LAYER(test_helper_waits_for_nothing),
        EACH_LAYER(test_what_fails_is_named),
        EACH_LAYER(test_guard_has_no_other_descriptors),
        EACH_LAYER(test_rank_has_no_other_descriptors),
        EACH_LAYER(test_number),
        EACH_LAYER(test_many),
        EACH_LAYER(test_rank_wants_a_debugger),
        EACH_LAYER(test_signal),
        EACH_LAYER(test_stop),
        EACH_LAYER(test_stop_kills_after_the_grace),
        EACH_LAYER(test_stop_before_go),
        EACH_LAYER(test_stop_finds_daemons),
        EACH_LAYER(test_again),
        EACH_LAYER(test_agent_dies),
        EACH_LAYER(test_agent_is_silent),
        EACH_LAYER(test_guard_dies),
        EACH_LAYER(test_guard_stands_still),
    };

    if (argc == 1 && strcmp(argv[0], TRACED) == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl("/bin/sh", "sh", "-c", "kill -USR1 $$", (char *)NULL);
        return 1;
    }
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
