/* test_metadata.c - what a metadata service may answer, and who is in its place
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "cloud/metadata.h"
#include "fd.h"
#include "xalloc.h"

#define H "HTTP/1.1 200 OK\r\n"

static void answers(void **state)
{
    static const struct {
        const char *bytes;
        int         is_end, rc, status;
        const char *body;
    } rows[] = {
        { H "Content-Length: 4\r\n\r\nspot", 0, 1, 200, "spot" },
        { H "content-length:4\r\n\r\nspot and more", 0, 1, 200, "spot" },
        { H "Content-Length: 0\r\n\r\n", 0, 1, 200, "" },
        { "HTTP/1.0 404 Not Found\r\n\r\nnone", 1, 1, 404, "none" },
        { H "X-Content-Length: 1\r\n\r\nab", 1, 1, 200, "ab" },
        /* more is to come */
        { "", 0, 0, 0, NULL },
        { "HTT", 0, 0, 0, NULL },
        { H "Content-Length: 4\r\n", 0, 0, 0, NULL },
        { H "Content-Length: 4\r\n\r\nspo", 0, 0, 0, NULL },
        { H "\r\nspot", 0, 0, 0, NULL },
        /* no answers */
        { "", 1, -1, 0, NULL },
        { H "Content-Length: 4\r\n\r\nspo", 1, -1, 0, NULL },
        { H "Content-Length: 4", 1, -1, 0, NULL },
        { H "Content-Length: -1\r\n\r\n", 0, -1, 0, NULL },
        { H "Content-Length: \r\n\r\n", 0, -1, 0, NULL },
        { H "Content-Length: 16385\r\n\r\n", 0, -1, 0, NULL },
        { H "Content-Length: 99999999999999999999999999\r\n\r\n", 0, -1, 0, NULL },
        { H "Transfer-Encoding: chunked\r\n\r\n4\r\nspot\r\n0\r\n\r\n", 1, -1, 0, NULL },
        { "HTTP/1.1 20\r\n\r\n", 0, -1, 0, NULL },
        { "HTTP/1.1 99999 x\r\n\r\n", 0, -1, 0, NULL },
        { "HTTP/2 200\r\n\r\n", 0, -1, 0, NULL },
        { "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, -1, 0, NULL },
        { "\r\n\r\n", 0, -1, 0, NULL },
    };
    struct metadata_reply *reply = xcalloc(1, sizeof *reply);
    size_t                 i;
    int                    rc;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        rc = metadata_parse(rows[i].bytes, strlen(rows[i].bytes), rows[i].is_end, reply);
        if (rc != rows[i].rc)
            fail_msg("%d, not %d: %s", rc, rows[i].rc, rows[i].bytes);
        if (rc <= 0)
            continue;
        assert_int_equal(reply->status, rows[i].status);
        assert_string_equal(reply->body, rows[i].body);
    }
    free(reply);
}

/* What the service of exchange() does. */
enum service { ANSWERS_IN_PARTS, FLOODS_HEAD, FLOODS_BODY, SAYS_NOTHING, ENDS };

static void serve(int fd, enum service service)
{
    static char zeros[65536];

    memset(zeros, 'x', sizeof zeros);
    if (service == ANSWERS_IN_PARTS)
        fd_write_all(fd, H "Content-Length: 4\r\n\r\nsp", strlen(H) + 23);
    if (service == ANSWERS_IN_PARTS)
        fd_write_all(fd, "ot", 2);
    if (service == FLOODS_BODY)
        fd_write_all(fd, H "\r\n", strlen(H) + 2);
    while (service == FLOODS_HEAD || service == FLOODS_BODY)
        if (fd_write_all(fd, zeros, sizeof zeros) == 0)
            break;
    while (service != ENDS && read(fd, zeros, sizeof zeros) > 0)
        ;
    _exit(0);
}

/* "200 spot", or why not. Caller frees. */
static char *exchange(enum service service, double seconds)
{
    struct metadata_reply *reply = xcalloc(1, sizeof *reply);
    struct error           err;
    int                    pair[2];
    char                  *text;
    pid_t                  pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        serve(pair[1], service);
    }
    close(pair[1]);
    fd_set_nonblock(pair[0]);
    if (metadata_exchange(pair[0], "GET / HTTP/1.1\r\n\r\n",
                          clock_now_ns() + (int64_t)(seconds * NS_PER_S), reply, &err) == 0)
        text = xasprintf("%d %s", reply->status, reply->body);
    else
        text = xstrdup(err.text);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pair[0]);
    free(reply);
    return text;
}

/* The deadlines are far away where they must not be met. */
static void services(void **state)
{
    static const struct {
        enum service service;
        double       seconds;
        const char  *says;
    } rows[] = {
        { ANSWERS_IN_PARTS, 600, "200 spot" },
        { FLOODS_HEAD, 600, "what it says is not understood" },
        { FLOODS_BODY, 600, "what it says is not understood" },
        { SAYS_NOTHING, 0.02, "its answer took too long" },
        { ENDS, 600, "what it says is not understood" },
    };
    size_t i;
    char  *text;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        text = exchange(rows[i].service, rows[i].seconds);
        assert_string_equal(text, rows[i].says);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(services),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
