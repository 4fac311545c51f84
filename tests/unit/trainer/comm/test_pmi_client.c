/* test_pmi_client.c - our side of PMI-1 against a server that plays a script
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/pmi_client.h"

/* What the server waits for and what it then says. NULL instead of an answer: it
 * closes; "": it says nothing and waits for the client to leave. */
struct step {
    const char *request, *answer;
};

#define INIT                                                                          \
    { "cmd=init pmi_version=1 pmi_subversion=1\n",                                    \
      "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n" }
#define GREETING                                                                      \
    INIT, { "cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=16 vallen_max=32\n" }, \
    { "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_7\n" }

static pid_t server;

static void serve(int fd, const struct step *step, size_t steps)
{
    FILE  *in = fdopen(fd, "r");
    char   line[PMI_LINE_MAX];
    size_t i;

    for (i = 0; i < steps; i++) {
        if (fgets(line, sizeof line, in) == NULL || strcmp(line, step[i].request) != 0)
            _exit(1);
        if (step[i].answer == NULL)
            _exit(0);
        if (*step[i].answer != '\0' &&
            write(fd, step[i].answer, strlen(step[i].answer)) < 0)
            _exit(2);
    }
    _exit(fgets(line, sizeof line, in) == NULL ? 0 : 3); /* nothing more may come */
}

static void start_server(const struct step *step, size_t steps)
{
    char text[16];
    int  fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        close(fd[0]);
        serve(fd[1], step, steps);
    }
    close(fd[1]);
    snprintf(text, sizeof text, "%d", fd[0]);
    setenv("PMI_FD", text, 1);
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "4", 1);
}
#define START(STEPS) start_server(STEPS, sizeof(STEPS) / sizeof(STEPS)[0])

/* The server saw exactly what it waited for. */
static void end_server(struct pmi *pmi)
{
    int status;

    if (pmi->fd >= 0)
        close(pmi->fd);
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_int_equal(status, 0);
}

static void test_a_whole_life(void **state)
{
    static const struct step steps[] = {
        GREETING,
        { "cmd=put kvsname=kvs_7 key=a value=1\n", "cmd=put_result rc=0 msg=success\n" },
        { "cmd=barrier_in\n", "cmd=barrier_out\n" },
        { "cmd=get kvsname=kvs_7 key=b\n", "cmd=get_result rc=0 msg=success value=x=y\n" },
        { "cmd=finalize\n", "cmd=finalize_ack\n" },
    };
    struct error err;
    struct pmi   pmi;
    char         value[8];

    (void)state;
    START(steps);
    assert_int_equal(pmi_init(&pmi, 5, &err), 0);
    assert_int_equal(pmi.rank, 1);
    assert_int_equal(pmi.size, 4);
    assert_int_equal(pmi_put(&pmi, "a", "1", &err), 0);
    assert_int_equal(pmi_barrier(&pmi, &err), 0);
    assert_int_equal(pmi_get(&pmi, "b", value, sizeof value, &err), 0);
    assert_string_equal(value, "x=y");
    assert_int_equal(pmi_finalize(&pmi, &err), 0);
    end_server(&pmi);
}

static void test_alone(void **state)
{
    struct error err;
    struct pmi   pmi;
    char         value[8];

    (void)state;
    unsetenv("PMI_FD");
    assert_int_equal(pmi_init(&pmi, 5, &err), 0);
    assert_int_equal(pmi.rank, 0);
    assert_int_equal(pmi.size, 1);
    assert_int_equal(pmi_put(&pmi, "a", "1", &err), 0);
    assert_int_equal(pmi_barrier(&pmi, &err), 0);
    assert_int_equal(pmi_get(&pmi, "a", value, sizeof value, &err), -1);
    assert_non_null(strstr(err.text, "started alone"));
    assert_int_equal(pmi_finalize(&pmi, &err), 0);
}

static void test_bad_environment(void **state)
{
    struct error err;
    struct pmi   pmi;

    (void)state;
    setenv("PMI_FD", "9x", 1);
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "1", 1);
    assert_int_equal(pmi_init(&pmi, 5, &err), -1);
    assert_non_null(strstr(err.text, "PMI_FD: '9x'"));
    setenv("PMI_FD", "1000000", 1);
    assert_int_equal(pmi_init(&pmi, 5, &err), -1);
    assert_non_null(strstr(err.text, "PMI_FD=1000000: Bad file descriptor"));
    setenv("PMI_RANK", "1", 1);
    assert_int_equal(pmi_init(&pmi, 5, &err), -1);
    assert_non_null(strstr(err.text, "PMI_RANK"));
    unsetenv("PMI_SIZE");
    assert_int_equal(pmi_init(&pmi, 5, &err), -1);
    assert_non_null(strstr(err.text, "PMI_SIZE is not"));
}

/* One request after the greeting that must fail; the text says why. */
static void expect_failure(const struct step *steps, size_t count, double timeout_s,
                           const char *why)
{
    struct error err;
    struct pmi   pmi;
    char         value[4];

    start_server(steps, count);
    assert_int_equal(pmi_init(&pmi, timeout_s, &err), 0);
    assert_int_equal(pmi_get(&pmi, "k", value, sizeof value, &err), -1);
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, why);
    assert_int_equal(pmi.timed_out, strstr(why, "within") != NULL);
    end_server(&pmi);
}

static void test_answers_that_are_none(void **state)
{
    static char long_line[PMI_LINE_MAX + 2];
    const struct {
        const char *answer, *why;
    } cases[] = {
        { "cmd=get_result rc=-1 msg=key_not_found value=unknown\n", "key_not_found" },
        { "cmd=get_result rc=0 msg=success\n", "missing from the answer" },
        { "cmd=get_result rc=0 value=longer\n", "longer than expected" },
        { "cmd=barrier_out\n", "instead of cmd=get_result" },
        { "rc=0 value=1\n", "instead of cmd=get_result" },
        { long_line, "longer than" },
        { NULL, "closed the connection" },
        { "", "within 0.2 s" },
        { "cmd=get_result rc=0 val", "within 0.2 s" },
    };
    size_t i;

    (void)state;
    memset(long_line, 'x', PMI_LINE_MAX + 1);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct step steps[] = { GREETING,
                                      { "cmd=get kvsname=kvs_7 key=k\n", cases[i].answer } };

        expect_failure(steps, 4, i < 7 ? 30 : 0.2, cases[i].why);
    }
}

static void test_puts_that_do_not_fit(void **state)
{
    static const struct step steps[] = { GREETING };
    struct error             err;
    struct pmi               pmi;

    (void)state;
    START(steps);
    assert_int_equal(pmi_init(&pmi, 5, &err), 0);
    assert_int_equal(pmi_put(&pmi, "a-key-of-16-char", "1", &err), -1);
    assert_int_equal(pmi_put(&pmi, "a", "12345678901234567890123456789012", &err), -1);
    assert_non_null(strstr(err.text, "accepts 31"));
    assert_int_equal(pmi_put(&pmi, "a", "two words", &err), -1);
    assert_int_equal(pmi_put(&pmi, "a", "1\ncmd=abort", &err), -1);
    assert_int_equal(pmi_put(&pmi, "a=b", "1", &err), -1);
    assert_int_equal(pmi_put(&pmi, "a", "", &err), -1);
    end_server(&pmi); /* none of them was sent */
}

static void test_late_barrier_says_so(void **state)
{
    static const struct step steps[] = { GREETING, { "cmd=barrier_in\n", "" } };
    struct error             err;
    struct pmi               pmi;

    (void)state;
    START(steps);
    assert_int_equal(pmi_init(&pmi, 0.2, &err), 0);
    assert_int_equal(pmi_barrier(&pmi, &err), -1);
    assert_non_null(strstr(err.text, "not all 4 ranks arrived"));
    assert_true(pmi.timed_out);
    end_server(&pmi);
}

static void test_abort(void **state)
{
    static const struct step steps[] = { GREETING, { "cmd=abort exitcode=7\n", "" } };
    struct error             err;
    struct pmi               pmi;

    (void)state;
    START(steps);
    assert_int_equal(pmi_init(&pmi, 5, &err), 0);
    pmi_abort(&pmi, 7);
    end_server(&pmi);
}

static void test_hex(void **state)
{
    unsigned char bytes[256], back[256];
    char          text[513];
    int           i;

    (void)state;
    for (i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    hex_encode(bytes, sizeof bytes, text);
    assert_int_equal(strlen(text), 512);
    assert_int_equal(hex_decode(text, back, sizeof back), 256);
    assert_memory_equal(bytes, back, 256);
    assert_int_equal(hex_decode(text, back, 255), -1);
    assert_int_equal(hex_decode("0", back, 8), -1);
    assert_int_equal(hex_decode("0g", back, 8), -1);
    assert_int_equal(hex_decode("AB", back, 8), -1);
    assert_int_equal(hex_decode("", back, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_life),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_bad_environment),
        cmocka_unit_test(test_answers_that_are_none),
        cmocka_unit_test(test_puts_that_do_not_fit),
        cmocka_unit_test(test_late_barrier_says_so),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_hex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
