/* test_history.c - past runs: reading, finding, what has become of them, and broken files
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

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "history/history.h"
#include "history/run_dir.h"
#include "xalloc.h"

#define OLD    "20260101-120000-aaaa"
#define MIDDLE "20260102-120000-aabb"
#define NEW    "20260103-120000-cccc"

static char dir[] = "/tmp/test_history.XXXXXX"; /* XDG_STATE_HOME */

static char *path_of(const char *id, const char *name)
{
    return xasprintf("%s/muster/runs/%s%s%s", dir, id, name[0] != '\0' ? "/" : "", name);
}

static void put(const char *id, const char *name, const char *text)
{
    char *path = path_of(id, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

/* A run with that in its files; NULL: there is no such file. */
static void add_run(const char *id, const char *plan, const char *result)
{
    char *path = path_of(id, "");

    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    put(id, "log", "");
    if (plan != NULL)
        put(id, "plan.json", plan);
    if (result != NULL)
        put(id, "result.json", result);
}

static int setup(void **state)
{
    char *command;

    (void)state;
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(dir));
    command = xasprintf("mkdir -p %s/muster/runs", dir);
    assert_int_equal(system(command), 0);
    free(command);
    setenv("XDG_STATE_HOME", dir, 1);
    return 0;
}

static int teardown(void **state)
{
    char *command = xasprintf("rm -rf %s", dir);

    (void)state;
    assert_int_equal(system(command), 0);
    free(command);
    return 0;
}

static void read_all(struct history *list, size_t count)
{
    struct error err;

    assert_int_equal(history_read(list, &err), 0);
    assert_int_equal(list->count, count);
}

/* What word finds: an id, or why not. Caller frees. */
static char *found(const struct history *list, const char *word)
{
    struct error     err;
    struct past_run *run = history_find(list, word, &err);

    return xstrdup(run != NULL ? run->id : err.text);
}

static void expect_found(const struct history *list, const char *word, const char *expected)
{
    char *got = found(list, word);

    assert_string_equal(got, expected);
    free(got);
}

/* A launcher: holds the lock of that run until it is ended. */
static pid_t hold(const char *id)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char        *path = path_of(id, "log"), word;
    int          ready[2];
    pid_t        pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(path, O_WRONLY);

        if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    free(path);
    return pid;
}

static int end(pid_t pid)
{
    int status;

    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WTERMSIG(status);
}

static void test_none(void **state)
{
    struct history list;
    struct error   err;
    char          *runs = xasprintf("%s/muster/runs", dir), *got;

    (void)state;
    read_all(&list, 0);
    assert_string_equal(list.dir, runs);
    got = found(&list, "x");
    assert_memory_equal(got, "no run 'x' in ", 14);
    free(got);
    history_clear(&list);
    assert_int_equal(rmdir(runs), 0);
    read_all(&list, 0); /* no directory is no error */
    history_clear(&list);
    close(open(runs, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(history_read(&list, &err), -1);
    history_clear(&list);
    free(runs);
}

static void test_no_home(void **state)
{
    struct history list;
    struct error   err;

    (void)state;
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    assert_int_equal(history_read(&list, &err), -1);
    history_clear(&list);
    setenv("HOME", "relative", 1);
    assert_int_equal(history_read(&list, &err), -1);
    history_clear(&list);
}

/* The newest first; what is no run of ours is none. */
static void test_order(void **state)
{
    struct history list;
    char          *other = path_of("not-a-run", ""), *file = path_of("20260104-120000-dddd", "");

    (void)state;
    add_run(MIDDLE, NULL, NULL);
    add_run(OLD, NULL, NULL);
    add_run(NEW, NULL, NULL);
    mkdir(other, 0700);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    read_all(&list, 3);
    assert_string_equal(list.run[0].id, NEW);
    assert_string_equal(list.run[1].id, MIDDLE);
    assert_string_equal(list.run[2].id, OLD);
    history_clear(&list);
    free(other);
    free(file);
}

static void test_link(void **state)
{
    struct history list;
    char          *path = path_of(NEW, "");

    (void)state;
    assert_int_equal(symlink("/", path), 0);
    read_all(&list, 0);
    history_clear(&list);
    free(path);
}

static void test_of_another_user(void **state)
{
    struct history list;
    char          *path = path_of(NEW, "");

    (void)state;
    if (geteuid() != 0)
        skip();
    add_run(NEW, NULL, NULL);
    assert_int_equal(chown(path, 4711, 4711), 0);
    read_all(&list, 0);
    history_clear(&list);
    free(path);
}

static void test_find(void **state)
{
    struct history list;

    (void)state;
    add_run(OLD, NULL, "{\"exit_status\": 0}");
    add_run(MIDDLE "-llama", NULL, "{\"exit_status\": 0}");
    add_run(NEW "-llama-2", NULL, "{\"exit_status\": 0}");
    read_all(&list, 3);
    expect_found(&list, OLD, OLD);
    expect_found(&list, "aabb", MIDDLE "-llama");
    expect_found(&list, "llama", MIDDLE "-llama"); /* a whole name before a part of one */
    expect_found(&list, "llama-2", NEW "-llama-2");
    expect_found(&list, "lama", "'lama' may mean " MIDDLE "-llama or " NEW "-llama-2");
    expect_found(&list, "2026010", "'2026010' may mean " OLD " or " MIDDLE "-llama");
    history_clear(&list);
}

/* Of several the one that is running. */
static void test_find_running(void **state)
{
    struct history list;
    pid_t          pid;

    (void)state;
    add_run(OLD "-llama", NULL, NULL);
    add_run(MIDDLE "-llama", NULL, NULL);
    add_run(NEW "-llama", NULL, "{\"exit_status\": 0}");
    pid = hold(MIDDLE "-llama");
    read_all(&list, 3);
    expect_found(&list, "llama", MIDDLE "-llama");
    expect_found(&list, "2026", MIDDLE "-llama");
    expect_found(&list, NEW "-llama", NEW "-llama");
    history_clear(&list);
    end(pid);
}

/* A launcher that is about to end is not taken for one that lives. */
static void test_find_over(void **state)
{
    struct history list;
    struct error   err;
    pid_t          pid, killer;

    (void)state;
    add_run(NEW, NULL, NULL);
    pid = hold(NEW);
    read_all(&list, 1);
    assert_int_equal(history_find_over(&list, NEW, &err)->state, PAST_RUN_ACTIVE);
    killer = fork();
    if (killer == 0) {
        poll(NULL, 0, 200);
        _exit(kill(pid, SIGKILL));
    }
    assert_int_equal(history_find_over(&list, NEW, &err)->state, PAST_RUN_DIED);
    history_clear(&list);
    end(pid);
    waitpid(killer, NULL, 0);
}

static enum past_run_state state_of(const char *id)
{
    struct history list;
    struct error   err;
    enum past_run_state state;

    assert_int_equal(history_read(&list, &err), 0);
    state = history_find(&list, id, &err)->state;
    history_clear(&list);
    return state;
}

/* By the lock, whatever the files say. */
static void test_states(void **state)
{
    pid_t pid;

    (void)state;
    add_run(OLD, "{}", NULL);
    assert_int_equal(state_of(OLD), PAST_RUN_DIED);
    pid = hold(OLD);
    assert_int_equal(state_of(OLD), PAST_RUN_ACTIVE);
    put(OLD, "result.json", "{\"exit_status\": 3}"); /* it prints its report */
    assert_int_equal(state_of(OLD), PAST_RUN_ACTIVE);
    end(pid);
    assert_int_equal(state_of(OLD), PAST_RUN_ENDED);
}

static void test_elsewhere(void **state)
{
    struct history list;
    char           here[RUN_DIR_HOST_SIZE], *plan;

    (void)state;
    add_run(OLD, "{\"launcher\": {\"host\": \"another.example\"}}", NULL);
    assert_int_equal(state_of(OLD), PAST_RUN_ELSEWHERE);
    read_all(&list, 1);
    assert_string_equal(past_run_host(&list.run[0]), "another.example");
    history_clear(&list);
    put(OLD, "result.json", "{\"exit_status\": 3}");
    assert_int_equal(state_of(OLD), PAST_RUN_ENDED);

    run_dir_host(here);
    plan = xasprintf("{\"launcher\": {\"host\": \"%s\", \"start\": 7}}", here);
    add_run(NEW, plan, NULL);
    assert_int_equal(state_of(NEW), PAST_RUN_DIED);
    read_all(&list, 2);
    assert_int_equal(json_integer_value(past_run_launcher(&list.run[0], "start")), 7);
    history_clear(&list);
    free(plan);
}

static void test_broken_files(void **state)
{
    static const char *const plans[] = {
        "", "{\"comm", "[]", "7", "{\"launcher\": 3}", "{\"launcher\": {\"host\": 7}}",
    };
    static const char *const results[] = {
        "", "{", "[1]", "{}", "{\"exit_status\": \"no\"}", "{\"exit_status\": 256}",
        "{\"exit_status\": -1}",
    };
    struct history list;
    size_t         i;

    (void)state;
    add_run(OLD, NULL, NULL);
    for (i = 0; i < sizeof plans / sizeof *plans; i++) {
        put(OLD, "plan.json", plans[i]);
        assert_int_equal(state_of(OLD), PAST_RUN_DIED);
        read_all(&list, 1);
        assert_string_equal(past_run_host(&list.run[0]), "another machine");
        history_clear(&list);
    }
    for (i = 0; i < sizeof results / sizeof *results; i++) {
        put(OLD, "result.json", results[i]);
        read_all(&list, 1);
        assert_int_equal(list.run[0].state, PAST_RUN_DIED);
        assert_null(list.run[0].result);
        history_clear(&list);
    }
}

/* Files that would hang, or lead elsewhere. */
static void test_no_files(void **state)
{
    char *plan = path_of(OLD, "plan.json"), *result = path_of(OLD, "result.json");
    char *log = path_of(OLD, "log");

    (void)state;
    add_run(OLD, NULL, NULL);
    put(OLD, "real.json", "{\"exit_status\": 0}");
    assert_int_equal(mkfifo(plan, 0600), 0);
    assert_int_equal(symlink("real.json", result), 0);
    assert_int_equal(state_of(OLD), PAST_RUN_DIED);
    unlink(log);
    assert_int_equal(mkfifo(log, 0600), 0);
    assert_int_equal(state_of(OLD), PAST_RUN_DIED);
    free(log);
    free(result);
    free(plan);
}

static void test_signal(void **state)
{
    struct history list;
    struct error   err;
    int            status;
    pid_t          pid;

    (void)state;
    add_run(OLD, NULL, NULL);
    pid = hold(OLD);
    read_all(&list, 1);
    assert_int_equal(list.run[0].launcher, pid);
    past_run_refresh(&list.run[0]); /* a launcher that does not know it */
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    assert_int_equal(past_run_signal(&list.run[0], SIGTERM, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(past_run_signal(&list.run[0], SIGTERM, &err), 0); /* nobody is there */
    history_clear(&list);
}

/* All of a file at once: who reads meanwhile sees the old one or the new one. */
static void test_write(void **state)
{
    char   *path = path_of(OLD, "");
    json_t *body;
    int     fd;

    (void)state;
    add_run(OLD, NULL, NULL);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(run_dir_write(fd, "status.json", "{\"state\": \"one\"}", 16), 0);
    assert_int_equal(run_dir_write(fd, "status.json", "{\"state\": \"two\"}", 16), 0);
    body = run_dir_read(fd, "status.json");
    assert_string_equal(json_string_value(json_object_get(body, "state")), "two");
    assert_int_equal(faccessat(fd, "status.json" RUN_DIR_NEW, F_OK, 0), -1);
    json_decref(body);
    close(fd);
    free(path);
}

/* System calls of this process that have read something; -1: the kernel does not count them. */
static long reads(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    char  line[64];
    long  count = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "syscr: ", 7) == 0)
            count = strtol(line + 7, NULL, 10);
    if (file != NULL)
        fclose(file);
    return count;
}

/* Each run reads the plan of the oldest one before it connects: not byte by byte. */
static void test_reads_in_blocks(void **state)
{
    char   *path = path_of(OLD, ""), *plan = xasprintf("{\"hosts\": \"%0100000d\"}", 0);
    json_t *body;
    long    before;
    int     fd;

    (void)state;
    add_run(OLD, plan, NULL);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    before = reads();
    body = run_dir_read(fd, "plan.json");
    assert_non_null(body);
    assert_true(reads() - before < 1000);
    json_decref(body);
    close(fd);
    free(plan);
    free(path);
}

/* The oldest go, but none that is running, is of another machine, or is our own. */
static void test_remove_old(void **state)
{
    char          *runs = xasprintf("%s/muster/runs", dir), id[32];
    struct history list;
    pid_t          pid;
    int            i;

    (void)state;
    add_run("20250101-120000-aaaa", NULL, NULL);                                     /* running */
    add_run("20250102-120000-aaaa", "{\"launcher\": {\"host\": \"another.example\"}}", NULL);
    add_run("20250103-120000-aaaa", NULL, NULL);
    put("20250103-120000-aaaa", "notes", "of the user");
    for (i = 0; i < RUN_DIR_MOST; i++) {
        snprintf(id, sizeof id, "202601%02d-120000-aaaa", i + 1);
        add_run(id, "{}", "{}");
    }
    pid = hold("20250101-120000-aaaa");
    run_dir_remove_old(runs, "20260120-120000-aaaa");
    read_all(&list, RUN_DIR_MOST + 3); /* the three oldest cannot go */
    history_clear(&list);
    end(pid);
    run_dir_remove_old(runs, "20260120-120000-aaaa");
    read_all(&list, RUN_DIR_MOST + 2);
    assert_string_equal(list.run[list.count - 1].id, "20250102-120000-aaaa");
    history_clear(&list);
    free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_home, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_link, setup, teardown),
        cmocka_unit_test_setup_teardown(test_of_another_user, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find_running, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_states, setup, teardown),
        cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reads_in_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remove_old, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
