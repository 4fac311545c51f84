/* test_ssh_agent.c - what an ssh agent, or whatever is in its place, may answer
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
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/ssh/ssh_agent.h"
#include "xalloc.h"

#define REQUEST "\0\0\0\1\13"

static char folder[] = "/tmp/muster-test-XXXXXX";

/* An agent for one caller, who then leaves. */
static pid_t serve(const char *path, const void *answer, size_t size)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int                listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;
    char               request[5];
    pid_t              pid;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fd = accept(listener, NULL, NULL);
        if (recv(fd, request, 5, MSG_WAITALL) != 5 || memcmp(request, REQUEST, 5) != 0 ||
            send(fd, answer, size, MSG_NOSIGNAL) != (ssize_t)size)
            _exit(1);
        _exit(recv(fd, request, 1, 0) <= 0 ? 0 : 2); /* it stays open: its end says nothing */
    }
    close(listener);
    return pid;
}

static void test_answers(void **state)
{
    static const struct {
        const char *answer;
        size_t      size;
        int         count;
        const char *why;
    } cases[] = {
        { "\0\0\0\5\14\0\0\0\0", 9, 0, NULL },
        { "\0\0\0\20\14\0\0\0\2 and then the keys", 20, 2, NULL },
        { "\0\0\0\1\5", 5, -1, "it is locked, or is not an ssh agent" }, /* SSH_AGENT_FAILURE */
        { "\0\0\0\4\14", 5, -1, "it is locked, or is not an ssh agent" },
        /* more than any agent says */
        { "\0\4\0\1\14", 5, -1, "it is locked, or is not an ssh agent" },
        { "HTTP/1.1 400", 12, -1, "it is locked, or is not an ssh agent" },
        { "\0\0\0\5\14\377\377\377\377", 9, 0x7fffffff, NULL },
    };
    struct error err;
    size_t       i;
    int          status;
    pid_t        pid;
    char        *path;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        path = xasprintf("%s/%zu", folder, i); /* the last one is remembered */
        pid = serve(path, cases[i].answer, cases[i].size);
        err = (struct error){ "" };
        assert_int_equal(ssh_agent_count(path, &err), cases[i].count);
        if (cases[i].why != NULL)
            assert_string_equal(err.text, cases[i].why);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        unlink(path);
        free(path);
    }
}

static void test_none(void **state)
{
    struct error err = { "" };
    char         path[200];

    (void)state;
    assert_int_equal(ssh_agent_count("", &err), -1);
    assert_string_equal(err.text, "none is running");
    snprintf(path, sizeof path, "%s/none", folder);
    assert_int_equal(ssh_agent_count(path, &err), -1);
    assert_non_null(strstr(err.text, "No such file"));
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(ssh_agent_count(path, &err), -1);
    assert_non_null(strstr(err.text, "too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_none),
    };
    int failed;

    if (mkdtemp(folder) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
