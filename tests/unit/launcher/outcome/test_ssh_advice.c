/* test_ssh_advice.c - one piece of advice for nodes with other names, users and ports
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

#include <cmocka.h>

#include "outcome/common_text.h"
#include "outcome/ssh_advice.h"
#include "xalloc.h"

#define NODES_MAX 4

static char             name[NODES_MAX][4] = { "te1", "te2", "te3", "te4" };
static struct plan_node node[NODES_MAX] = { { .host = name[0] }, { .host = name[1] },
                                            { .host = name[2] }, { .host = name[3] } };
static struct plan          plan = { .node = node, .nodes = NODES_MAX };
static const struct outcome outcome = { .plan = &plan };
static const char *const   *text;

static const char *text_of(const struct outcome *of, int number)
{
    (void)of;
    return text[number];
}

/* What these nodes, which have said that, are told; they must be alike. */
static void expect_advice(size_t nodes, const char *const *said, const char *advice)
{
    struct groups groups = { 0 };
    char         *got;
    size_t        i;

    text = said;
    for (i = 0; i < nodes; i++) {
        char *key = common_text_key(said[i], &node[i]);

        groups_add(&groups, key, (int)i);
        free(key);
    }
    assert_int_equal(groups.count, 1);
    got = common_text_hint(&groups.group[0], &outcome, text_of);
    assert_string_equal(got, advice);
    free(got);
    groups_clear(&groups);
}

#define ADVICE(advice, ...)                                                                        \
    do {                                                                                           \
        static const char *const said[] = { __VA_ARGS__ };                                         \
        expect_advice(sizeof said / sizeof *said, said, advice);                                   \
    } while (0)

static void test_one_port(void **state)
{
    (void)state;
    ADVICE("or: ssh-keyscan -p 22 te1 te2.lan >> /h/k", "or: ssh-keyscan -p 22 te1 >> /h/k",
           "or: ssh-keyscan -p 22 te2.lan >> /h/k");
    ADVICE("try: for h in a@te1 b@10.0.0.2; do ssh-copy-id -p 22 \"$h\"; done",
           "try: ssh-copy-id -p 22 a@te1", "try: ssh-copy-id -p 22 b@10.0.0.2");
    ADVICE("try: ssh-copy-id -p 22 a@te1", "try: ssh-copy-id -p 22 a@te1");
}

static void test_more_ports(void **state)
{
    (void)state;
    ADVICE("try: for h in u0@te1 u2@te3; do ssh-copy-id -p 22 \"$h\"; done; "
           "ssh-copy-id -p 24 u1@te2",
           "try: ssh-copy-id -p 22 u0@te1", "try: ssh-copy-id -p 24 u1@te2",
           "try: ssh-copy-id -p 22 u2@te3");
}

#define NEW(old, port, host)                                                                       \
    "if new: ssh-keygen -R '" old "' -f /h/k, then ssh-keyscan -p " port " " host " >> /h/k; "     \
    "if not, no"

static void test_two_commands(void **state)
{
    (void)state;
    ADVICE("if new: for h in 'te1' '[te2]:2222' 'te3'; do ssh-keygen -R \"$h\" -f /h/k; done, then "
           "ssh-keyscan -p 22 te1 te3 >> /h/k; ssh-keyscan -p 2222 te2 >> /h/k; if not, no",
           NEW("te1", "22", "te1"), NEW("[te2]:2222", "2222", "te2"), NEW("te3", "22", "te3"));
}

/* What cannot be said of all of them is said of the first. */
static void test_others(void **state)
{
    (void)state;
    ADVICE("for each node, for example te1: look at te1, then ssh-copy-id te1",
           "look at te1, then ssh-copy-id te1", "look at te2, then ssh-copy-id te2");
    ADVICE("for each node, for example te1: ask ...", /* looks like a gap, and is none */
           "ask ...", "ask te2");
    ADVICE("start sshd", "start sshd", "start sshd");
}

static void test_causes_do_not_differ(void **state)
{
    static const char *const alike[][2] = {
        { "no such key for te1 in /h/k", "no such key for [te2]:2222 in /h/k" },
        { "/h/k:12 has SHA256:ab+/ for te1", "/h/k:7 has SHA256:cd for te2" },
        { "refused for user ann (tried 1)", "refused for user bob (tried 1)" },
    };
    static const char *const other[][2] = {
        { "refused for user ann (tried 1)", "refused for user ann (tried 2)" },
        { "ssh-copy-id -x te1", "ssh-keyscan -x te2" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof alike / sizeof *alike + sizeof other / sizeof *other; i++) {
        bool               is_other = i >= sizeof alike / sizeof *alike;
        const char *const *pair = is_other ? other[i - sizeof alike / sizeof *alike] : alike[i];
        char              *one = common_text_key(pair[0], &node[0]),
             *two = common_text_key(pair[1], &node[1]);

        if ((strcmp(one, two) != 0) != is_other)
            fail_msg("%s | %s", one, two);
        free(one);
        free(two);
    }
}

/* Too many names help nobody. */
static void test_long_lists_are_cut(void **state)
{
    enum { MANY = 400 };
    struct strlist *gaps = xcalloc(MANY, sizeof *gaps);
    size_t          i;

    (void)state;
    for (i = 0; i < MANY; i++) {
        strlist_addf(&gaps[i], "-p %zu bob@te%zu", i % 2 + 22, i);
        strlist_addf(&gaps[i], "-p 22 te%zu", i);
    }
    assert_null(ssh_advice_fold("ssh-copy-id ..., ssh-keyscan ...", "...", gaps, MANY));
    for (i = 0; i < MANY; i++)
        strlist_clear(&gaps[i]);
    free(gaps);
}

#define TEST(test) cmocka_unit_test(test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_port),
        TEST(test_more_ports),
        TEST(test_two_commands),
        TEST(test_others),
        TEST(test_causes_do_not_differ),
        TEST(test_long_lists_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
