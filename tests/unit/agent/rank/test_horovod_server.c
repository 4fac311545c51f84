/* test_horovod_server.c - the HTTP server of Horovod's ranks, over real connections
 *
 * A child is the client: it writes requests as Horovod's does, and checks what comes back.
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
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rank/horovod_server.h"
#include "rank/horovod_store.h"
#include "xalloc.h"

#define HERE  "127.0.0.1"
#define THERE "127.0.0.2" /* another address of this machine */
#define MANY  200

static struct event_base     *base;
static struct horovod_server *server;
static int                    port;
static bool                   is_over;

static void over_cb(evutil_socket_t fd, short what, void *arg);

static int setup(void **state)
{
    struct error err;

    (void)state;
    base = event_base_new();
    server = horovod_server_new(base, &port, &err);
    assert_non_null(server);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    horovod_server_free(server);
    event_base_free(base);
    return 0;
}

static int call(const char *address)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, address, &to.sin_addr);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Sends one request over a connection of its own, and returns the whole answer in text. */
static void ask(const char *address, const char *method, const char *path, const char *body,
                size_t size, char *text, size_t most)
{
    char   *head = xasprintf("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n"
                             "Connection: close\r\n\r\n", method, path, size);
    int     fd = call(address);
    size_t  filled = 0;
    ssize_t got;

    if (write(fd, head, strlen(head)) < 0 || (size > 0 && write(fd, body, size) < 0))
        filled = 0; /* it may have hung up: the answer tells */
    while (filled < most - 1 && (got = read(fd, text + filled, most - 1 - filled)) > 0)
        filled += (size_t)got;
    text[filled] = '\0';
    close(fd);
    free(head);
}

/* Does the answer begin with this status, have its length in Horovod's spelling, and end with
 * this body? */
static bool is_answer(const char *text, int status, const char *body)
{
    char       *begin = xasprintf("HTTP/1.1 %d ", status);
    char       *length = xasprintf("\r\nContent-Length: %zu\r\n", strlen(body));
    const char *at = strstr(text, "\r\n\r\n");
    bool        is = strncmp(text, begin, strlen(begin)) == 0 && strstr(text, length) != NULL &&
              at != NULL && strcmp(at + 4, body) == 0;

    free(begin);
    free(length);
    return is;
}

static bool gets(const char *method, const char *path, const char *body, int status,
                 const char *expected)
{
    char text[4096];

    ask(HERE, method, path, body, strlen(body), text, sizeof text);
    return is_answer(text, status, expected);
}

/* Serves until the child has ended; true: it is content. */
static bool serve_child(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0)
        event_base_loop(base, EVLOOP_NONBLOCK);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void answers_as_horovod_expects(void **state)
{
    pid_t pid;

    (void)state;
    horovod_server_begin(server, HERE);
    pid = fork();
    if (pid == 0)
        _exit(!(gets("GET", "/global/0", "", 404, "") && gets("PUT", "/global/0", "abc", 200, "") &&
                gets("GET", "/global/0", "", 200, "abc") &&
                gets("PUT", "/local_te1/0", "", 200, "") &&
                gets("GET", "/local_te1/0", "", 200, "") &&
                gets("DELETE", "/global/0", "", 200, "") &&
                gets("GET", "/global/0", "", 404, "") && gets("GET", "/", "", 400, "") &&
                gets("GET", "/worker_addresses/te1:0", "", 404, "")));
    assert_true(serve_child(pid));
}

static void refuses_other_requests(void **state)
{
    char *large = xmalloc(HOROVOD_VALUE_MAX + 2), text[4096] = "";
    pid_t pid;

    (void)state;
    memset(large, 'x', HOROVOD_VALUE_MAX + 2);
    large[HOROVOD_VALUE_MAX + 1] = '\0';
    horovod_server_begin(server, HERE);
    pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        ask(HERE, "PUT", "/global/0", large, HOROVOD_VALUE_MAX + 1, text, sizeof text);
        if (strncmp(text, "HTTP/1.1 200", 12) == 0 || !gets("GET", "/global/0", "", 404, ""))
            _exit(1);
        ask(HERE, "POST", "/global/0", "x", 1, text, sizeof text);
        if (strncmp(text, "HTTP/1.1 501", 12) != 0)
            _exit(2);
        ask(HERE, large, "/global/0", "", 0, text, sizeof text); /* no header is so long */
        _exit(strncmp(text, "HTTP/1.1 200", 12) == 0 || !gets("GET", "/global/0", "", 404, ""));
    }
    assert_true(serve_child(pid));
    free(large);
}

/* A rank on another node may be faster than GO to this one. */
static void lets_early_callers_wait(void **state)
{
    char   text[4096] = "";
    int    fd = call(HERE);
    pid_t  pid;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "GET /a/0 HTTP/1.1\r\n\r\n", 21), 21);
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), -1);
    horovod_server_begin(server, HERE);
    pid = fork();
    if (pid == 0)
        _exit(read(fd, text, sizeof text - 1) <= 0 || !is_answer(text, 404, ""));
    assert_true(serve_child(pid));
    close(fd);
}

static void answers_at_its_address(void **state)
{
    char  text[4096];
    pid_t pid;

    (void)state;
    horovod_server_begin(server, HERE);
    pid = fork();
    if (pid == 0) {
        ask(THERE, "PUT", "/global/0", "x", 1, text, sizeof text);
        _exit(!is_answer(text, 403, "") || !gets("GET", "/global/0", "", 404, ""));
    }
    assert_true(serve_child(pid));
}

/* MASTER_ADDR is a name, or belongs to a device that translates addresses. */
static void answers_everywhere_else(void **state)
{
    static const char *const others[] = { "te1.example", "203.0.113.9", "fd00::1", "" };
    char                     text[4096];
    size_t                   i;
    pid_t                    pid;

    for (i = 0; i < sizeof others / sizeof *others; i++) {
        horovod_server_begin(server, others[i]);
        pid = fork();
        if (pid == 0) {
            ask(THERE, "GET", "/global/0", "", 0, text, sizeof text);
            _exit(!is_answer(text, 404, ""));
        }
        assert_true(serve_child(pid));
        teardown(state);
        setup(state);
    }
}

/* How often the loop turns: it must rest between two attempts to accept, each of which fails. */
static int turns_in_half_a_second(void)
{
    const struct timeval half = { .tv_usec = 500000 };
    struct event        *over = evtimer_new(base, over_cb, NULL);
    int                  turns;

    is_over = false;
    event_add(over, &half);
    for (turns = 0; !is_over; turns++)
        event_base_loop(base, EVLOOP_ONCE);
    event_free(over);
    return turns;
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    is_over = true;
}

/* Callers who send nothing take all descriptors: when they leave, it answers again. */
static void survives_a_lack_of_descriptors(void **state)
{
    struct rlimit few, usual;
    int           fd[MANY], next = dup(0), i, ready[2], go[2];
    char          byte;
    pid_t         pid;

    (void)state;
    close(next);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    horovod_server_begin(server, HERE);
    pid = fork();
    if (pid == 0) {
        for (i = 0; i < MANY; i++)
            fd[i] = call(HERE);
        if (write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        for (i = 0; i < MANY; i++)
            close(fd[i]);
        _exit(!gets("PUT", "/global/0", "x", 200, ""));
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    getrlimit(RLIMIT_NOFILE, &usual);
    few = usual;
    few.rlim_cur = (rlim_t)next + 20;
    setrlimit(RLIMIT_NOFILE, &few);
    while ((i = dup(0)) >= 0) {
        close(i);
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    assert_true(turns_in_half_a_second() < 50);
    assert_int_equal(write(go[1], "", 1), 1);
    assert_true(serve_child(pid));
    setrlimit(RLIMIT_NOFILE, &usual);
    for (i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_as_horovod_expects, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(lets_early_callers_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_at_its_address, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_everywhere_else, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_a_lack_of_descriptors, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
