/* test_reconnect_socket.c - who comes in at the agent's reconnect socket, and who does not
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "frame.h"
#include "link/reconnect_socket.h"

#define TOKEN "00112233445566778899aabbccddeeff"

struct world {
    struct event_base *base;
    struct reconnect_socket *socket;
    char               name[64];
    int                came; /* callers that were let in */
    uint64_t           received;
    bool               refuses;
};

static int attach(int fd, uint64_t received, void *arg, struct error *err)
{
    struct world *world = arg;

    if (world->refuses)
        return err_set(err, "not now");
    world->came++;
    world->received = received;
    assert_int_equal(write(fd, "welcome", 7), 7);
    close(fd);
    return 0;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    struct error  err;

    snprintf(world->name, sizeof world->name, "muster-test-%ld", (long)getpid());
    world->base = event_base_new();
    world->socket = reconnect_socket_open(world->base, world->name, TOKEN, attach, world, &err);
    assert_non_null(world->socket);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    reconnect_socket_close(world->socket);
    event_base_free(world->base);
    free(world);
    return 0;
}

/* What the socket says to these bytes: into answer, up to its end. Caller frees nothing. */
static const char *say(struct world *world, const void *bytes, size_t size)
{
    static char  answer[2048];
    struct error err;
    ssize_t      got;
    int          fd = reconnect_socket_connect(world->name, &err), turns = 0;

    assert_true(fd >= 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (size > 0)
        assert_int_equal(write(fd, bytes, size), size);
    memset(answer, 0, sizeof answer);
    while ((got = read(fd, answer, sizeof answer - 1)) < 0 && errno == EAGAIN && turns++ < 1000)
        event_base_loop(world->base, EVLOOP_ONCE);
    close(fd);
    return got > FRAME_HEADER_BYTES && answer[4] == FRAME_ERROR ? answer + FRAME_HEADER_BYTES
                                                                : answer;
}

static const char *ask_json(struct world *world, json_t *body, const char *more)
{
    struct evbuffer *out = evbuffer_new();
    const char      *answer;
    size_t           size;

    frame_put_json(out, FRAME_RECONNECT, 3, 0, body);
    evbuffer_add(out, more, strlen(more));
    size = evbuffer_get_length(out);
    answer = say(world, evbuffer_pullup(out, -1), size);
    evbuffer_free(out);
    return answer;
}

static const char *ask(struct world *world, const char *token, json_int_t received,
                       const char *more)
{
    return ask_json(world,
                    json_pack("{s:s, s:s, s:I}", "socket", world->name, "token", token, "received",
                              received), more);
}

static void test_lets_the_launcher_in(void **state)
{
    struct world *world = *state;

    assert_string_equal(ask(world, TOKEN, 12345, ""), "welcome");
    assert_int_equal(world->came, 1);
    assert_int_equal(world->received, 12345);
    assert_string_equal(ask(world, TOKEN, 12345, ""), "welcome"); /* and again */
}

static void test_turns_others_away_with_the_reason(void **state)
{
    struct world *world = *state;

    assert_non_null(strstr(ask(world, "ff112233445566778899aabbccddeeff", 0, ""), "token"));
    assert_non_null(strstr(ask(world, TOKEN "0", 0, ""), "token"));
    assert_non_null(strstr(ask(world, "", 0, ""), "token"));
    assert_non_null(strstr(ask(world, TOKEN, -1, ""), "missing or invalid"));
    assert_non_null(strstr(ask(world, TOKEN, 0, "x"), "nothing else"));
    assert_non_null(strstr(ask_json(world, json_pack("{s:s, s:s}", "socket", world->name,
                                                        "token", TOKEN), ""), "received"));
    world->refuses = true;
    assert_non_null(strstr(ask(world, TOKEN, 0, ""), "not now"));
    assert_int_equal(world->came, 0);
}

static void test_survives_what_is_no_request(void **state)
{
    struct world *world = *state;
    char          junk[8192];

    memset(junk, 'x', sizeof junk);
    assert_non_null(strstr(say(world, junk, sizeof junk), "frame of"));
    memset(junk, 0, sizeof junk);
    junk[2] = 0x40; /* a body of 16 KiB, in a frame that may have 4 */
    junk[4] = FRAME_RECONNECT;
    assert_non_null(strstr(say(world, junk, sizeof junk), "too long"));
    assert_int_equal(world->came, 0);
    assert_string_equal(ask(world, TOKEN, 1, ""), "welcome");
}

/* Some come and say nothing: there is room again when they have gone. */
static void test_bounds_its_callers(void **state)
{
    struct world *world = *state;
    struct error  err;
    int           fd[16];
    size_t        i;
    char          byte;

    for (i = 0; i < 16; i++) {
        fd[i] = reconnect_socket_connect(world->name, &err);
        assert_true(fd[i] >= 0);
        event_base_loop(world->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
    for (i = 0; i < 16; i++) {
        fcntl(fd[i], F_SETFL, O_NONBLOCK);
        assert_int_equal(read(fd[i], &byte, 1), i < 4 ? -1 : 0); /* the first four are heard */
        close(fd[i]);
    }
    for (i = 0; i < 8; i++)
        event_base_loop(world->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(ask(world, TOKEN, 1, ""), "welcome");
}

static void test_rests_without_descriptors(void **state)
{
    struct world *world = *state;
    struct rlimit few, all;
    struct error  err;
    int           fd = reconnect_socket_connect(world->name, &err), turns = 0;
    int64_t       end_ns = clock_now_ns() + NS_PER_S / 4;

    assert_true(fd >= 0);
    getrlimit(RLIMIT_NOFILE, &all);
    few = all;
    few.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &few);
    for (; clock_now_ns() < end_ns; turns++)
        event_base_loop(world->base, EVLOOP_ONCE);
    setrlimit(RLIMIT_NOFILE, &all);
    close(fd);
    assert_in_range(turns, 1, 20);
    assert_string_equal(ask(world, TOKEN, 1, ""), "welcome");
}

static void test_says_when_nobody_is_there(void **state)
{
    struct world *world = *state;
    struct error  err;

    assert_int_equal(reconnect_socket_connect("muster-test-nobody", &err), -1);
    assert_non_null(strstr(err.text, "no longer there"));
    assert_null(reconnect_socket_open(world->base, world->name, TOKEN, attach, world, &err));
    assert_non_null(strstr(err.text, "in use"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lets_the_launcher_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns_others_away_with_the_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_survives_what_is_no_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds_its_callers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rests_without_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_says_when_nobody_is_there, set_up, tear_down),
    };

    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    return cmocka_run_group_tests_name("reconnect_socket", tests, NULL, NULL);
}
