/* test_control.c - what can be said to the control socket of a run, and what cannot
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fd.h"
#include "history/control.h"
#include "xalloc.h"

static int count(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err)
{
    int *calls = arg;

    ++*calls;
    if (strcmp(words->item[0], "no") == 0)
        return err_set(err, "not today");
    snprintf(answer, size, "%zu words", words->count);
    return 0;
}

static int later(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err)
{
    int *calls = arg;

    (void)words, (void)answer, (void)size, (void)err;
    ++*calls;
    return CONTROL_LATER;
}

static const struct control_verb verbs[] = {
    { "count", "count WORD...", 1, count },
    { "later", "later", 0, later },
    { "other", "other", 0, later },
    { .name = NULL },
};

static struct event_base *base;
static struct run_dir     dir;

static int set_up(void **state)
{
    char path[] = "/tmp/muster-control.XXXXXX";

    (void)state;
    signal(SIGPIPE, SIG_IGN); /* as interrupt.c does: who asks may have left */
    base = event_base_new();
    dir.path = xstrdup(mkdtemp(path));
    dir.fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    event_base_free(base);
    close(dir.fd);
    rmdir(dir.path); /* fails if the socket is still there */
    return access(dir.path, F_OK) == 0 ? -1 : (free(dir.path), 0);
}

/* A process of its own says it, while the loop runs here. Caller frees. */
static char *say(const char *bytes, size_t size)
{
    struct sockaddr_un name;
    char               text[2048];
    size_t             got = 0;
    ssize_t            now;
    int                pair[2], fd;
    pid_t              pid;

    assert_int_equal(pipe(pair), 0);
    pid = fork();
    if (pid == 0) {
        run_dir_control(dir.fd, &name);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&name, sizeof name) < 0)
            _exit(1);
        while (size > 0 && (now = send(fd, bytes, size, MSG_NOSIGNAL)) > 0)
            bytes += now, size -= (size_t)now;
        shutdown(fd, SHUT_WR);
        while ((now = read(fd, text, sizeof text)) > 0)
            fd_write_all(pair[1], text, (size_t)now);
        _exit(0);
    }
    close(pair[1]);
    fd_set_nonblock(pair[0]);
    while ((now = read(pair[0], text + got, sizeof text - 1 - got)) != 0) {
        got += now > 0 ? (size_t)now : 0;
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    close(pair[0]);
    waitpid(pid, NULL, 0);
    text[got] = '\0';
    return xstrdup(text);
}

static void lines(void **state)
{
    static const struct {
        const char *line, *answer;
    } rows[] = {
        { "count a b  c\n", "ok 3 words\n" },
        { "count no\n", "error not today\n" },
        { "count a\ncount b\n", "ok 1 words\n" }, /* one line a connection */
        { "count\n", "error usage: count WORD...\n" },
        { "drain 1 te1\n", "error this run does not know 'drain'; was it started by another "
                           "version of muster?\n" },
        { "\n",
          "error this run does not know ''; was it started by another version of muster?\n" },
        { "   \n", "error this run does not know '   '; was it started by another version of "
                   "muster?\n" },
        { "\x1b[31mcount\n", NULL },
        { "count a", "" }, /* cut off */
        { "", "" },
    };
    int             calls = 0;
    struct control *control = control_new(base, &dir, verbs, &calls);
    struct stat     about;
    size_t          i;
    char           *answer;

    (void)state;
    assert_non_null(control);
    assert_int_equal(fstatat(dir.fd, RUN_DIR_CONTROL, &about, 0), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        answer = say(rows[i].line, strlen(rows[i].line));
        if (rows[i].answer != NULL)
            assert_string_equal(answer, rows[i].answer);
        else
            assert_int_equal(strncmp(answer, "error ", 6), 0);
        free(answer);
    }
    assert_int_equal(calls, 3);
    control_free(control);
}

/* Its socket is still there, and nobody listens. */
static void of_one_that_was_killed(void **state)
{
    struct control    *control;
    struct sockaddr_un name;
    char              *answer;
    int                calls = 0, fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    run_dir_control(dir.fd, &name);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    close(fd);
    control = control_new(base, &dir, verbs, &calls);
    assert_non_null(control);
    answer = say("count a\n", 8);
    assert_string_equal(answer, "ok 1 words\n");
    free(answer);
    control_free(control);
}

static void long_lines(void **state)
{
    int             calls = 0;
    struct control *control = control_new(base, &dir, verbs, &calls);
    char           *line = xmalloc(1 << 20), *answer;

    (void)state;
    memset(line, 'x', 1 << 20);
    answer = say(line, 1 << 20);
    assert_string_equal(answer, "");
    free(answer);
    answer = say("count a\n", 8);
    assert_string_equal(answer, "ok 1 words\n");
    free(answer);
    free(line);
    control_free(control);
}

/* A launcher that was killed leaves its socket; the next one in that directory makes its own. */
static void old_socket(void **state)
{
    struct sockaddr_un name;
    int                calls = 0, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct control    *control;
    char              *answer;

    (void)state;
    run_dir_control(dir.fd, &name);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    close(fd);
    control = control_new(base, &dir, verbs, &calls);
    assert_non_null(control);
    answer = say("count a\n", 8);
    assert_string_equal(answer, "ok 1 words\n");
    free(answer);
    control_free(control);
}

/* Says it, and does not wait. */
static int call(const char *line)
{
    struct sockaddr_un name;
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    run_dir_control(dir.fd, &name);
    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    return fd;
}

/* Hears this and the end; NULL: nothing yet. Closes fd. */
static void hear(int fd, const char *wanted)
{
    char    text[100];
    ssize_t got;
    int     i;

    for (i = 0; i < 20; i++)
        event_base_loop(base, EVLOOP_NONBLOCK);
    got = read(fd, text, sizeof text - 1);
    if (wanted == NULL) {
        assert_int_equal(got, -1);
        return;
    }
    text[got > 0 ? got : 0] = '\0';
    assert_string_equal(text, wanted);
    assert_int_equal(read(fd, text, sizeof text), 0);
    close(fd);
}

/* All who wait for the same get the same, others go on waiting, and who has left does no harm. */
static void answers_later(void **state)
{
    int             calls = 0, one, two, other, gone;
    struct control *control = control_new(base, &dir, verbs, &calls);
    char           *answer;

    (void)state;
    one = call("later\n");
    two = call("later\n");
    other = call("other\n");
    gone = call("later\n");
    hear(one, NULL);
    hear(other, NULL);
    assert_int_equal(calls, 4);
    close(gone);
    answer = say("count a\n", 8); /* it need not wait */
    assert_string_equal(answer, "ok 1 words\n");
    free(answer);
    control_answer(control, "later", 0, "here");
    hear(one, "ok here\n");
    hear(two, "ok here\n");
    hear(other, NULL);
    control_answer(control, "later", 0, "nobody");
    control_answer(control, "other", -1, "no");
    hear(other, "error no\n");
    other = call("other\n");
    hear(other, NULL);
    control_free(control); /* the run is over */
    hear(other, "");
    control_answer(NULL, "other", 0, "too late");
}

static void give_back_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, arg), 0);
}

/* Whoever calls while no descriptor is left is answered later. */
static void no_descriptor(void **state)
{
    const struct timeval soon = { .tv_usec = 100000 };
    struct rlimit        limit, none;
    int                  calls = 0;
    struct control      *control = control_new(base, &dir, verbs, &calls);
    struct sockaddr_un   name;
    char                 text[100];
    int                  fd = socket(AF_UNIX, SOCK_STREAM, 0), i;
    ssize_t              got = -1;
    struct event        *later;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    later = evtimer_new(base, give_back_cb, &limit);
    run_dir_control(dir.fd, &name);
    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(write(fd, "count a\n", 8), 8);
    none = (struct rlimit){ 0, limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    event_add(later, &soon);
    fd_set_nonblock(fd);
    for (i = 0; i < 1000 && got < 0; i++) {
        event_base_loop(base, EVLOOP_NONBLOCK);
        usleep(10000);
        got = read(fd, text, sizeof text);
    }
    assert_int_equal(got, 11);
    close(fd);
    event_free(later);
    control_free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_one_that_was_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_socket, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_descriptor, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
