/* test_task.c - tasks: real children that answer, hang, flood, and leave processes behind
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "frame.h"
#include "task/task.h"

#define LONG_S 1000

struct told {
    struct event_base *base;
    json_t            *lines, *end;
};

static int echo(const json_t *request, struct task_output *out)
{
    task_output_line(out, json_deep_copy(request));
    return 7;
}

static int hang(const json_t *request, struct task_output *out)
{
    task_output_line(out, json_pack("{s:i}", "pid", (int)getpid()));
    (void)request;
    while (pause() < 0)
        ;
    return 0;
}

/* Leaves a child in its session, which would hold up a file system or a port. */
static int leave(const json_t *request, struct task_output *out)
{
    pid_t pid = fork();

    (void)request;
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    task_output_line(out, json_pack("{s:i}", "pid", (int)pid));
    _exit(0); /* as a task that crashes: nothing is cleaned up */
}

static int flood(const json_t *request, struct task_output *out)
{
    const int lines = FRAME_TASK_LINES_MAX + 1000;
    int       i;

    (void)request;
    for (i = 0; i < lines; i++)
        task_output_line(out, json_pack("{s:i}", "line", i));
    return 0;
}

static int write_badly(const json_t *request, struct task_output *out)
{
    static const char *const bad[] = { "no json\n", "[1]\n", "{\"a\":1,\"a\":2}\n", "\n" };
    char                    *wide = calloc(1, FRAME_TASK_LINE_MAX + 2);
    size_t                   i;

    (void)request;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (write(out->fd, bad[i], strlen(bad[i])) < 0)
            return 1;
    memset(wide, 'x', FRAME_TASK_LINE_MAX + 1);
    for (i = 0; i < 5; i++) /* one line */
        if (write(out->fd, wide, FRAME_TASK_LINE_MAX + 1) < 0)
            return 1;
    free(wide);
    if (write(out->fd, "\n{\"good\":1}\n{\"cut", 17) < 0)
        return 1;
    return 0;
}

static int crash(const json_t *request, struct task_output *out)
{
    (void)request, (void)out;
    raise(SIGKILL);
    return 0;
}

/* Its descriptors: nothing of the agent's. */
static int descriptors(const json_t *request, struct task_output *out)
{
    int fd, open_fds = 0;

    (void)request;
    for (fd = 3; fd < 64; fd++)
        open_fds += dup2(fd, fd) == fd && fd != out->fd;
    task_output_line(out, json_pack("{s:i, s:b}", "open", open_fds, "leads",
                                    getsid(0) == getpid()));
    return 0;
}

static const struct task_row table[] = {
    { "echo", echo }, { "hang", hang }, { "leave", leave }, { "flood", flood },
    { "write_badly", write_badly }, { "crash", crash }, { "descriptors", descriptors },
    { NULL, NULL },
};

static void line_cb(json_t *body, void *arg)
{
    struct told *told = arg;

    json_array_append(told->lines, json_object_get(body, "line"));
    json_decref(body);
}

static void end_cb(json_t *body, void *arg)
{
    struct told *told = arg;

    assert_null(told->end);
    told->end = body;
    event_base_loopbreak(told->base);
}

static const struct task_ops ops = { line_cb, end_cb };

static struct task *begin(struct told *told, const char *name, double deadline_s)
{
    json_t             *body = json_pack("{s:s, s:i, s:f, s:s}", "task", name, "id", 5,
                                         "deadline_s", deadline_s, "more", "text");
    struct task_request request;
    struct task        *task;
    struct error        err;

    *told = (struct told){ event_base_new(), json_array(), NULL };
    assert_int_equal(task_request_read(&request, body, table, &err), 0);
    task = task_begin(told->base, &request, body, &ops, told, &err);
    assert_non_null(task);
    json_decref(body);
    return task;
}

static void clear(struct told *told)
{
    json_decref(told->lines);
    json_decref(told->end);
    event_base_free(told->base);
}

static void run(struct told *told, const char *name, double deadline_s)
{
    struct task *task = begin(told, name, deadline_s);

    event_base_dispatch(told->base);
    assert_non_null(told->end);
    assert_true(task_is_over(task));
    assert_int_equal(json_integer_value(json_object_get(told->end, "id")), 5);
    task_free(task);
}

static json_int_t said(const struct told *told, const char *key)
{
    return json_integer_value(json_object_get(json_array_get(told->lines, 0), key));
}

static json_int_t end_says(const struct told *told, const char *key)
{
    const json_t *value = json_object_get(told->end, key);

    return json_is_integer(value) ? json_integer_value(value) : json_is_true(value) ? 1 : -1;
}

static void answers(void **state)
{
    struct told told;

    (void)state;
    run(&told, "echo", LONG_S);
    assert_int_equal(json_array_size(told.lines), 1);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(told.lines, 0), "more")), "text");
    assert_int_equal(end_says(&told, "status"), 7);
    assert_int_equal(end_says(&told, "timed_out"), -1);
    assert_int_equal(end_says(&told, "dropped"), 0);
    clear(&told);
}

static void hangs_and_is_killed_at_the_deadline(void **state)
{
    int64_t     begun_ns = clock_now_ns();
    struct told told;

    (void)state;
    run(&told, "hang", 0.2);
    assert_true(clock_now_ns() - begun_ns >= NS_PER_S / 10); /* libevent's time may be old */
    assert_int_equal(end_says(&told, "timed_out"), 1);
    assert_int_equal(end_says(&told, "signal"), SIGKILL);
    assert_int_equal(kill((pid_t)said(&told, "pid"), 0), -1);
    clear(&told);
}

static void is_killed_if_nobody_needs_it(void **state)
{
    struct told  told;
    struct task *task;

    (void)state;
    task = begin(&told, "hang", LONG_S);
    while (json_array_size(told.lines) == 0)
        event_base_loop(told.base, EVLOOP_ONCE);
    task_free(task);
    assert_null(told.end);
    assert_int_equal(kill((pid_t)said(&told, "pid"), 0), -1);
    clear(&told);
}

/* True once that process is dead, whoever is to reap it. */
static bool dies(pid_t pid)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    char                  path[64], text[512], *state;
    FILE                 *file;
    int                   i;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (i = 0; i < 20000; i++) {
        file = fopen(path, "r");
        if (file == NULL)
            return true;
        state = fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
        fclose(file);
        if (state == NULL || state[2] == 'Z')
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void what_it_leaves_is_killed(void **state)
{
    struct told told;

    (void)state;
    run(&told, "leave", 20);
    assert_true(said(&told, "pid") > 0);
    assert_true(dies((pid_t)said(&told, "pid")));
    clear(&told);
}

static void flood_is_bounded(void **state)
{
    struct told told;

    (void)state;
    run(&told, "flood", LONG_S);
    assert_int_equal(json_array_size(told.lines), FRAME_TASK_LINES_MAX);
    assert_int_equal(end_says(&told, "dropped"), 1000);
    clear(&told);
}

static void bad_lines_are_dropped(void **state)
{
    struct told told;

    (void)state;
    run(&told, "write_badly", LONG_S);
    assert_int_equal(json_array_size(told.lines), 1);
    assert_int_equal(said(&told, "good"), 1);
    assert_int_equal(end_says(&told, "dropped"), 5);
    assert_int_equal(end_says(&told, "status"), 0);
    clear(&told);
}

static void tells_a_crash(void **state)
{
    struct told told;

    (void)state;
    run(&told, "crash", LONG_S);
    assert_int_equal(end_says(&told, "signal"), SIGKILL);
    assert_int_equal(end_says(&told, "timed_out"), -1);
    clear(&told);
}

static void has_nothing_of_the_agent(void **state)
{
    struct told told;
    int         fd = dup(STDERR_FILENO);

    (void)state;
    run(&told, "descriptors", LONG_S);
    assert_int_equal(said(&told, "open"), 0);
    assert_true(json_is_true(json_object_get(json_array_get(told.lines, 0), "leads")));
    close(fd);
    clear(&told);
}

static void bad_requests(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"task\":1, \"id\":1, \"deadline_s\":1}",
        "{\"task\":\"rm\", \"id\":1, \"deadline_s\":1}",
        "{\"task\":\"\", \"id\":1, \"deadline_s\":1}",
        "{\"task\":\"echo\", \"deadline_s\":1}",
        "{\"task\":\"echo\", \"id\":-1, \"deadline_s\":1}",
        "{\"task\":\"echo\", \"id\":4294967296, \"deadline_s\":1}",
        "{\"task\":\"echo\", \"id\":\"1\", \"deadline_s\":1}",
        "{\"task\":\"echo\", \"id\":1}",
        "{\"task\":\"echo\", \"id\":1, \"deadline_s\":0}",
        "{\"task\":\"echo\", \"id\":1, \"deadline_s\":-1}",
        "{\"task\":\"echo\", \"id\":1, \"deadline_s\":1e300}",
        "{\"task\":\"echo\", \"id\":1, \"deadline_s\":true}",
    };
    struct task_request request;
    struct error        err;
    json_t             *body;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        body = json_loads(bad[i], 0, NULL);
        assert_non_null(body);
        assert_int_equal(task_request_read(&request, body, table, &err), -1);
        assert_memory_equal(err.text, "TASK frame: ", 12);
        json_decref(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(hangs_and_is_killed_at_the_deadline),
        cmocka_unit_test(is_killed_if_nobody_needs_it),
        cmocka_unit_test(what_it_leaves_is_killed),
        cmocka_unit_test(flood_is_bounded),
        cmocka_unit_test(bad_lines_are_dropped),
        cmocka_unit_test(tells_a_crash),
        cmocka_unit_test(has_nothing_of_the_agent),
        cmocka_unit_test(bad_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
