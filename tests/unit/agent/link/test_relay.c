/* test_relay.c - what a second agent passes on, in both directions, and until when
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fd.h"
#include "link/relay.h"

#define MANY (4 << 20) /* bytes: more than all sockets between hold */

/* The launcher and the first agent have an end each; the relay's are the others. */
struct world {
    int       launcher, agent, relay_launcher, relay_agent;
    int       relay_errors; /* of the agent; -1: none */
    int       result;
    pthread_t thread;
};

static void *relay_thread(void *arg)
{
    struct world *world = arg;

    world->result = relay_run(world->relay_launcher, world->relay_launcher, world->relay_agent,
                              world->relay_errors);
    close(world->relay_launcher); /* as the end of that process does */
    close(world->relay_agent);
    return NULL;
}

static void begin(struct world *world, int relay_errors)
{
    int pair[2];

    world->relay_errors = relay_errors;
    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    alarm(60); /* a relay that never ends */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    world->launcher = pair[0];
    world->relay_launcher = pair[1];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    world->agent = pair[0];
    world->relay_agent = pair[1];
    assert_int_equal(pthread_create(&world->thread, NULL, relay_thread, world), 0);
}

static int end(struct world *world)
{
    pthread_join(world->thread, NULL);
    return world->result;
}

static unsigned char byte_at(size_t at, int seed)
{
    return (unsigned char)((at + (size_t)seed) * 2654435761u >> 13);
}

/* MANY bytes into fd. */
struct writer {
    int       fd, seed;
    bool      ends; /* then nothing more comes from there */
    pthread_t thread;
};

static void *write_many(void *arg)
{
    struct writer *writer = arg;
    unsigned char *bytes = malloc(MANY);
    size_t         i;

    for (i = 0; i < MANY; i++)
        bytes[i] = byte_at(i, writer->seed);
    fd_write_all(writer->fd, bytes, MANY);
    if (writer->ends)
        shutdown(writer->fd, SHUT_WR);
    free(bytes);
    return NULL;
}

static void start_writing(struct writer *writer)
{
    assert_int_equal(pthread_create(&writer->thread, NULL, write_many, writer), 0);
}

/* MANY bytes of that writer come, in order. */
static void assert_reads(int fd, int seed)
{
    unsigned char bytes[4096];
    size_t        at = 0;
    ssize_t       got, i;

    while (at < MANY && (got = read(fd, bytes, sizeof bytes)) > 0)
        for (i = 0; i < got; i++)
            if (bytes[i] != byte_at(at++, seed))
                fail_msg("byte %zu is another", at - 1);
    assert_int_equal(at, MANY);
}

/* Neither end has to read before the other one may. */
static void test_both_directions_at_once(void **state)
{
    struct world  world;
    struct writer up, down;
    char          byte;

    (void)state;
    begin(&world, -1);
    up = (struct writer){ .fd = world.agent, .seed = 1 };
    down = (struct writer){ .fd = world.launcher, .seed = 2 };
    start_writing(&down);
    start_writing(&up);
    assert_reads(world.launcher, 1);
    pthread_join(up.thread, NULL);
    assert_reads(world.agent, 2);
    pthread_join(down.thread, NULL);
    close(world.agent);
    assert_int_equal(end(&world), 0);
    assert_int_equal(read(world.launcher, &byte, 1), 0);
    close(world.launcher);
}

/* DONE is among them. */
static void test_the_last_bytes_of_the_agent(void **state)
{
    struct world  world;
    struct writer up;
    char          byte;

    (void)state;
    begin(&world, -1);
    up = (struct writer){ .fd = world.agent, .seed = 3, .ends = true };
    start_writing(&up);
    assert_reads(world.launcher, 3);
    assert_int_equal(read(world.launcher, &byte, 1), 0);
    assert_int_equal(end(&world), 0);
    pthread_join(up.thread, NULL);
    close(world.agent);
    close(world.launcher);
}

/* The first agent has to know at once: it waits for the launcher then. */
static void test_the_launcher_goes(void **state)
{
    struct world world;
    char         byte;

    (void)state;
    begin(&world, -1);
    assert_int_equal(write(world.launcher, "x", 1), 1);
    assert_int_equal(read(world.agent, &byte, 1), 1);
    close(world.launcher);
    assert_int_equal(end(&world), 1);
    assert_int_equal(read(world.agent, &byte, 1), 0);
    close(world.agent);
}

/* What another agent writes there is read even while nothing else comes. */
static void test_standard_error(void **state)
{
    struct world world;
    char         bytes[8];
    int          errors[2], shown[2], before = dup(STDERR_FILENO);

    (void)state;
    assert_int_equal(pipe(errors), 0);
    assert_int_equal(pipe(shown), 0);
    dup2(shown[1], STDERR_FILENO);
    begin(&world, errors[0]);
    assert_int_equal(write(errors[1], "reason", 6), 6);
    assert_int_equal(read(shown[0], bytes, sizeof bytes), 6);
    assert_memory_equal(bytes, "reason", 6);
    close(errors[1]);
    assert_int_equal(write(world.agent, "x", 1), 1);
    assert_int_equal(read(world.launcher, bytes, 1), 1);
    close(world.agent);
    assert_int_equal(end(&world), 0);
    dup2(before, STDERR_FILENO);
    close(before);
    close(errors[0]);
    close(shown[0]);
    close(shown[1]);
    close(world.launcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_directions_at_once),
        cmocka_unit_test(test_the_last_bytes_of_the_agent),
        cmocka_unit_test(test_the_launcher_goes),
        cmocka_unit_test(test_standard_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
