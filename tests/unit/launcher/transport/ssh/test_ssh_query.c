/* test_ssh_query.c - ssh -G is asked once about a host, and again when a file has changed
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include <cmocka.h>

#include "transport/ssh/ssh_query.h"
#include "xalloc.h"

#define PATIENCE_S 30 /* nothing here takes longer on a busy machine */

static char dir[] = "/tmp/muster-query-XXXXXX";

/* ssh knows no HOME, only the password file. */
struct passwd *getpwuid(uid_t uid)
{
    static struct passwd me = { .pw_name = (char *)"me", .pw_dir = dir };

    me.pw_uid = uid;
    return &me;
}

static void sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void sh(const char *format, ...)
{
    va_list ap;
    char   *line;

    va_start(ap, format);
    if (vasprintf(&line, format, ap) < 0)
        xalloc_die();
    va_end(ap);
    assert_int_equal(system(line), 0);
    free(line);
}

/* What stands for ssh says how often it was started, and fails while there is a file "broken". */
static int group_setup(void **state)
{
    char *path;

    (void)state;
    if (mkdtemp(dir) == NULL || chdir(dir) < 0)
        return -1;
    path = xasprintf("%s:%s", dir, getenv("PATH"));
    setenv("PATH", path, 1);
    free(path);
    sh("printf '#!/bin/sh\\necho >>calls; wc -l <calls; test ! -e broken\\n' >ssh; chmod +x ssh");
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    sh("rm -rf %s", dir);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    sh("rm -rf .ssh conf.d config more deep broken calls; mkdir -p .ssh/own.d conf.d; : >calls");
    return 0;
}

static void answered(const char *answer, const struct conn_failure *why, void *arg)
{
    int *number = arg;

    (void)why;
    *number = answer != NULL ? atoi(answer) : -1;
}

/* The number of the call that the answer comes from; -1: ssh refused. */
static int ask(const char *host, const char *config)
{
    struct conn_target target = { .host = host, .ssh_config = config };
    struct event_base *base = event_base_new();
    struct timeval     limit = { .tv_sec = PATIENCE_S };
    struct ssh_query  *query;
    int                number = 0;

    event_base_loopexit(base, &limit);
    query = ssh_query_start(base, &target, answered, &number);
    while (number == 0 && !event_base_got_exit(base))
        event_base_loop(base, EVLOOP_ONCE);
    ssh_query_free(query);
    event_base_free(base);
    return number;
}

static void test_once_about_each_host(void **state)
{
    (void)state;
    sh("echo Host x >config");
    assert_int_equal(ask("te1", "config"), 1);
    assert_int_equal(ask("te2", "config"), 2);
    assert_int_equal(ask("te1", "config"), 1);
    assert_int_equal(ask("te2", "config"), 2);
}

static void test_every_file_counts(void **state)
{
    static const char *const changes[] = {
        "echo User a >>config",
        "echo User a >>more",
        "echo User a >>deep",        /* included by more */
        "echo User a >conf.d/one",   /* new, and found by the pattern */
        "echo User a >>conf.d/one",
        "mv conf.d/one conf.d/two",
        "rm conf.d/two",
        "echo User a >>.ssh/own.d/x", /* a relative name */
        "echo User a >.ssh/not-yet",  /* it is no error that it is missing */
        "chmod 666 more",             /* ssh refuses it then */
        "cp -p more other && sed -i s/deep/DEEP/ other && touch -r more other && mv other more",
    };
    size_t i;

    (void)state;
    sh("printf 'Host x\\n Include %s/more\\nHost *\\ninclude=%s/conf.d/* own.d/*\\n"
       "Include not-yet\\n' >config", dir, dir);
    sh("echo Include %s/deep >more; : >deep; : >.ssh/own.d/x", dir);
    assert_int_equal(ask("te3", "config"), 1);
    for (i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        sh("%s", changes[i]);
        if (ask("te3", "config") != (int)i + 2)
            fail_msg("ssh was not asked after: %s", changes[i]);
        assert_int_equal(ask("te3", "config"), i + 2); /* that answer is stored in turn */
    }
}

static void test_the_users_own_file(void **state)
{
    (void)state;
    assert_int_equal(ask("te4", NULL), 1);
    assert_int_equal(ask("te4", NULL), 1);
    sh("echo 'Include conf.d/*' >.ssh/config");
    assert_int_equal(ask("te4", NULL), 2);
    sh("mkdir .ssh/conf.d; echo User a >.ssh/conf.d/a");
    assert_int_equal(ask("te4", NULL), 3);
    assert_int_equal(ask("te4", NULL), 3);
}

/* Which files those are is for ssh to say: nothing is stored. */
static void test_unknown_includes_are_not_stored(void **state)
{
    static const char *const lines[] = {
        "Include \"more\"", "\"Include\" more", "Include ${HOME}/more", "Include %d/more",
        "Include ~me/more", "Include 'more'", "Include more # text", "  =Include more\\ 1",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        sh("cat >config <<'END'\nHost *\n%s\nEND\n: >calls", lines[i]);
        if (ask("te5", "config") != 1 || ask("te5", "config") != 2)
            fail_msg("an answer was stored in spite of: %s", lines[i]);
    }
    sh("echo Include %s/config >config; : >calls", dir); /* ssh refuses one that includes itself */
    assert_int_equal(ask("te5", "config"), 1);
    assert_int_equal(ask("te5", "config"), 2);
}

static void test_a_refusal_is_not_stored(void **state)
{
    (void)state;
    sh("echo Host x >config; : >broken");
    assert_int_equal(ask("te6", "config"), -1);
    sh("rm broken");
    assert_int_equal(ask("te6", "config"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_once_about_each_host, setup),
        cmocka_unit_test_setup(test_every_file_counts, setup),
        cmocka_unit_test_setup(test_the_users_own_file, setup),
        cmocka_unit_test_setup(test_unknown_includes_are_not_stored, setup),
        cmocka_unit_test_setup(test_a_refusal_is_not_stored, setup),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
