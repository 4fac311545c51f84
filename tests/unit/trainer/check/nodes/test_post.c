/* test_post.c - texts through PMI come out as they went in
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
#include <unistd.h>

#include <cmocka.h>

#include "check/nodes/post.h"
#include "xalloc.h"

#define ANSWERS_MAX (64 << 10)

/* A PMI that has been answered already. */
static struct pmi pmi_with(const char *answers, int *other)
{
    struct pmi pmi = { .size = 2, .timeout_s = 5, .key_max = 64, .value_max = 1024,
                       .kvsname = "kvs" };
    const int  room = 200 << 10; /* nobody reads while all is put */
    int        fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    assert_int_equal(write(fd[1], answers, strlen(answers)), strlen(answers));
    pmi.fd = fd[0];
    *other = fd[1];
    return pmi;
}

/* What was put, as answers to the same gets. */
static char *put(const char *text)
{
    char       *requests = xcalloc(1, ANSWERS_MAX), *answers = xcalloc(1, ANSWERS_MAX), *line;
    char       *rest = requests, agreed[32 * 40] = "";
    struct error err;
    struct pmi   pmi;
    int          other, i;

    for (i = 0; i < 32; i++)
        strcat(agreed, "cmd=put_result rc=0\n");
    pmi = pmi_with(agreed, &other);
    if (post_put(&pmi, "facts", text, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(read(other, requests, ANSWERS_MAX - 1) > 0);
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        assert_null(strchr(strstr(line, " value=") + 1, ' '));
        snprintf(answers + strlen(answers), ANSWERS_MAX - strlen(answers),
                 "cmd=get_result rc=0%s\n", strstr(line, " value="));
    }
    close(pmi.fd);
    close(other);
    free(requests);
    return answers;
}

static void test_what_was_put(void **state)
{
    char         longest[POST_MAX + 100], *answers, *text;
    const char  *texts[] = { "", "a", "two words\nand 100 % more\t\x01", "k\xc3\xb6ln", longest };
    struct error err;
    struct pmi   pmi;
    size_t       i;
    int          other;

    (void)state;
    memset(longest, ' ', sizeof longest - 1); /* three characters each, on the way */
    longest[sizeof longest - 1] = '\0';
    for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        answers = put(texts[i]);
        pmi = pmi_with(answers, &other);
        text = post_get(&pmi, "facts", 0, &err);
        if (text == NULL)
            fail_msg("%s", err.text);
        longest[POST_MAX] = '\0'; /* it is cut there */
        assert_string_equal(text, texts[i]);
        free(text);
        free(answers);
        close(pmi.fd);
        close(other);
    }
}

static void test_what_no_rank_has_put(void **state)
{
    static const char *const values[] = { "0:a", "99:a", "x:a", "1:a%", "1:a%4", "1:%zz",
                                          "9223372036854775808:a" };
    char         answer[100];
    struct error err;
    struct pmi   pmi;
    size_t       i;
    int          other;

    (void)state;
    for (i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(answer, sizeof answer, "cmd=get_result rc=0 value=%s\n", values[i]);
        pmi = pmi_with(answer, &other);
        shutdown(other, SHUT_WR);
        err.text[0] = '\0';
        if (post_get(&pmi, "facts", 0, &err) != NULL)
            fail_msg("'%s' was taken", values[i]);
        assert_string_not_equal(err.text, "");
        close(pmi.fd);
        close(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_put),
        cmocka_unit_test(test_what_no_rank_has_put),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
