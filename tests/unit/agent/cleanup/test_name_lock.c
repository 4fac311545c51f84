/* test_name_lock.c - two runs of one name on one machine: who sees whom, and who may end whom
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

#include "cleanup/name_lock.h"
#include "clock.h"

#define FIRST  "20260101-000000-aaaa"
#define SECOND "20260101-000001-bbbb"
#define NOBODY 65534

static struct event_base *base;
static char               name[RUNID_NAME_MAX + 1]; /* of this test alone */
static char               first[RUNID_MAX + 1], second[RUNID_MAX + 1];
static char               replaced_by[RUNID_MAX + 1];

static void note_replaced(const char *run_id, void *arg)
{
    assert_ptr_equal(arg, base);
    snprintf(replaced_by, sizeof replaced_by, "%s", run_id);
}

static int setup(void **state)
{
    (void)state;
    base = event_base_new();
    snprintf(name, sizeof name, "test%d", (int)getpid());
    snprintf(first, sizeof first, "%s-%s", FIRST, name);
    snprintf(second, sizeof second, "%s-%s", SECOND, name);
    replaced_by[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    event_base_free(base);
    return 0;
}

static struct name_lock *take(const char *run_id, const char *launcher)
{
    return name_lock_take(base, run_id, launcher, note_replaced, base);
}

/* Call it with the holder's loop running, as it does in another process. */
static void with_loop(void (*call)(const struct namesake *other), const struct namesake *other)
{
    pid_t child = fork();
    int   status;

    assert_true(child >= 0);
    if (child == 0) {
        call(other);
        _exit(0);
    }
    while (waitpid(child, &status, WNOHANG) == 0)
        event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(status, 0);
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static void test_no_name(void **state)
{
    (void)state;
    assert_null(take(FIRST, NULL));
    assert_null(take("", NULL));
    assert_null(take("20260101-000000-aaaa-with blank", NULL));
    name_lock_release(NULL);
}

static void test_holder(void **state)
{
    struct name_lock *lock = take(first, NULL);
    struct namesake   other;
    char              longer[RUNID_MAX + 2];

    (void)state;
    assert_non_null(lock);
    assert_true(name_lock_holder(second, &other));
    assert_string_equal(other.run, first);
    assert_true(name_lock_is_held(&other));
    assert_false(name_lock_holder(first, &other)); /* that is ourselves */
    snprintf(longer, sizeof longer, "%s2", second);
    assert_false(name_lock_holder(longer, &other));
    assert_false(name_lock_holder(SECOND, &other));
    assert_true(name_lock_holder(second, &other));
    name_lock_release(lock);
    assert_false(name_lock_is_held(&other));
    assert_false(name_lock_holder(second, &other));
}

static void expect_words(const struct namesake *other)
{
    char words[NAME_LOCK_WORDS_MAX];

    name_lock_ask(other, words);
    if (strcmp(words, "ann on te1, pid 7") != 0)
        _exit(1);
}

static void test_ask(void **state)
{
    struct name_lock *lock = take(first, "ann on te1, pid 7");
    struct namesake   other;
    char              words[NAME_LOCK_WORDS_MAX] = "before";
    int64_t           begun_ns = clock_now_ns();

    (void)state;
    assert_true(name_lock_holder(second, &other));
    name_lock_ask(&other, words); /* nobody runs its loop: it is stopped */
    assert_string_equal(words, "");
    assert_true(clock_now_ns() - begun_ns >= NS_PER_S / 4);
    with_loop(expect_words, &other);
    assert_string_equal(replaced_by, ""); /* who asks only looks */
    name_lock_release(lock);
    name_lock_ask(&other, words);
    assert_string_equal(words, "");
}

static void replace_it(const struct namesake *other)
{
    name_lock_replace(other, second);
}

static void replace_by_another_name(const struct namesake *other)
{
    name_lock_replace(other, SECOND "-other");
}

static void replace_by_itself(const struct namesake *other)
{
    name_lock_replace(other, first);
}

static void test_replace(void **state)
{
    struct name_lock *lock = take(first, NULL);
    struct namesake   other;

    (void)state;
    assert_true(name_lock_holder(second, &other));
    with_loop(replace_by_another_name, &other);
    with_loop(replace_by_itself, &other);
    assert_string_equal(replaced_by, "");
    with_loop(replace_it, &other);
    assert_string_equal(replaced_by, second);
    name_lock_release(lock);
}

/* Any number of them must not make the socket look dead. */
static void test_many_callers(void **state)
{
    struct name_lock *lock = take(first, NULL);
    struct namesake   other;
    int               i;

    (void)state;
    for (i = 0; i < 100; i++) {
        assert_true(name_lock_holder(second, &other));
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    name_lock_release(lock);
}

/* --- another user ------------------------------------------------------------- */

static void replace_as_nobody(const struct namesake *other)
{
    if (setuid(NOBODY) == 0)
        replace_it(other);
}

/* His run of that name is his, and he may not end ours. */
static void test_other_user(void **state)
{
    struct namesake   other;
    struct name_lock *lock;
    int               ready[2], done[2];
    pid_t             child;
    char              byte = 0;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can be somebody else */
    lock = take(first, NULL);
    assert_true(name_lock_holder(second, &other));
    with_loop(replace_as_nobody, &other);
    assert_string_equal(replaced_by, "");
    name_lock_release(lock);

    assert_true(pipe(ready) == 0 && pipe(done) == 0);
    child = fork();
    if (child == 0) {
        close(done[1]);
        lock = setuid(NOBODY) == 0 ? take(first, NULL) : NULL;
        (void)!write(ready[1], lock != NULL ? "y" : "n", 1);
        (void)!read(done[0], &byte, 1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_false(name_lock_holder(second, &other));
    close(done[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(done[0]);
    close(ready[0]);
    close(ready[1]);
}

/* A socket of ours whose name only looks like one. */
static void test_odd_names(void **state)
{
    static const char *const ends[] = { "", "-", "-1", "-x-1", "--1" };
    struct sockaddr_un       address = { .sun_family = AF_UNIX };
    struct namesake          other;
    size_t                   i, length;
    int                      fd;

    (void)state;
    for (i = 0; i < sizeof ends / sizeof *ends; i++) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        length = (size_t)snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                  "muster-name-%s%s", i == 0 ? "" : name, ends[i]);
        assert_int_equal(bind(fd, (struct sockaddr *)&address,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_false(name_lock_holder(second, &other));
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_holder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ask, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_callers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_user, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_names, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
