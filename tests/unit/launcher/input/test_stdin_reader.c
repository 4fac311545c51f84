/* test_stdin_reader.c - stdin_reader.c, and the keys of terminal.c
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "buffer.h"
#include "input/stdin_reader.h"
#include "input/terminal.h"

/* What one reader has said. */
struct world {
    struct event_base   *base;
    struct stdin_reader *reader;
    struct buffer        came;
    int                  pieces, ends, error;
};

static void bytes_cb(const void *bytes, size_t size, void *arg)
{
    struct world *world = arg;

    buffer_add(&world->came, bytes, size);
    world->pieces++;
    event_base_loopbreak(world->base);
}

static void end_cb(int error, void *arg)
{
    struct world *world = arg;

    world->ends++;
    world->error = error;
    event_base_loopbreak(world->base);
}

static void begin(struct world *world, int fd)
{
    static const struct stdin_reader_ops ops = { bytes_cb, end_cb };

    *world = (struct world){ .base = event_base_new() };
    world->reader = stdin_reader_new(world->base, fd, &ops, world);
}

static void end(struct world *world)
{
    stdin_reader_free(world->reader);
    event_base_free(world->base);
    buffer_clear(&world->came);
}

/* Asks for so many bytes, and waits for them or the end. */
static void want(struct world *world, size_t size)
{
    stdin_reader_want(world->reader, size);
    event_base_dispatch(world->base);
}

static void test_reads_what_is_wanted(void **state)
{
    struct world world;
    int          pair[2], left;

    (void)state;
    assert_int_equal(pipe(pair), 0);
    assert_int_equal(write(pair[1], "abcdefghij", 10), 10);
    begin(&world, pair[0]);
    want(&world, 3);
    assert_int_equal(world.came.size, 3);
    assert_memory_equal(world.came.bytes, "abc", 3);
    /* Nobody wants more, so it stays in the pipe. */
    assert_int_equal(ioctl(pair[0], FIONREAD, &left), 0);
    assert_int_equal(left, 7);
    want(&world, 100);
    assert_int_equal(world.came.size, 10);
    assert_int_equal(world.pieces, 2);
    close(pair[1]);
    want(&world, 1);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.error, 0);
    end(&world);
    close(pair[0]);
}

static void test_a_file_and_nothing(void **state)
{
    struct world world;
    char         name[] = "/tmp/muster-test-XXXXXX";
    int          fd = mkstemp(name), i;
    char         bytes[100000];

    (void)state;
    unlink(name);
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    lseek(fd, 0, SEEK_SET);
    begin(&world, fd);
    for (i = 0; world.ends == 0; i++)
        want(&world, SIZE_MAX);
    assert_int_equal(world.came.size, sizeof bytes);
    assert_int_equal(world.pieces, 2); /* no read is larger than STDIN_READER_MAX */
    end(&world);
    close(fd);

    fd = open("/dev/null", O_RDONLY);
    begin(&world, fd);
    want(&world, 1);
    assert_int_equal(world.ends, 1);
    end(&world);
    close(fd);
}

static void test_an_error_is_an_end(void **state)
{
    struct world world;
    int          fd = open("/", O_RDONLY | O_DIRECTORY);

    (void)state;
    begin(&world, fd);
    want(&world, 1);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.error, EISDIR);
    end(&world);
    close(fd);
}

/* A reader ends at once, whether it has a request or not. */
static void test_ends_while_it_waits(void **state)
{
    struct world world;
    int          pair[2], i;

    (void)state;
    assert_int_equal(pipe(pair), 0);
    for (i = 0; i < 2; i++) {
        begin(&world, pair[0]);
        if (i == 1)
            stdin_reader_want(world.reader, 1);
        end(&world);
        assert_int_equal(world.ends, 0);
    }
    close(pair[0]);
    close(pair[1]);
}

static void test_escape(void **state)
{
    static const struct {
        const char *keys;
        bool        ends;
    } rows[] = {
        { "~.", true },      { "ls\r~.", true },  { "ls\n~.", true }, { "ls~.", false },
        { "\r~x.", false },  { "\r~~.", false },  { "\r.~", false },  { "~\r.", false },
        { "\r\r~.", true },  { "~x\r~.", true },  { "", false },      { "\r ~.", false },
    };
    size_t i, k;
    int    state_of;
    bool   has_come;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        state_of = 0;
        assert_int_equal(terminal_find_escape(&state_of, rows[i].keys, strlen(rows[i].keys)),
                         rows[i].ends);
        state_of = 0; /* the same, key by key */
        for (k = 0, has_come = false; k < strlen(rows[i].keys) && !has_come; k++)
            has_come = terminal_find_escape(&state_of, rows[i].keys + k, 1);
        assert_int_equal(has_come, rows[i].ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_is_wanted),
        cmocka_unit_test(test_a_file_and_nothing),
        cmocka_unit_test(test_an_error_is_an_end),
        cmocka_unit_test(test_ends_while_it_waits),
        cmocka_unit_test(test_escape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
