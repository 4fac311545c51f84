/* test_swarm.c - what a record of hashes may say, and when a chunk is put into a file
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warm/swarm_file.h"
#include "warm/warm_sums.h"

#define MARK "0123456789abcdef"
#define HEAD "# muster sums 1 " MARK "\n"
#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define FILE1 "file 3000000 12 1577934245.678000000 -1.000000001 /data/a model\n"
#define SIZE 200000

static void sums_are_read_as_they_are_written(void **state)
{
    static const char text[] = HEAD FILE1 "0 " HASH "\n2 " HASH "\nfile 1 2 3.000000000 "
                                          "4.000000000 /b\n";
    struct warm_sums                sums;
    struct error                    err;
    char                           *again;

    (void)state;
    assert_int_equal(warm_sums_parse(text, MARK, &sums, &err), 0);
    assert_int_equal(sums.files, 2);
    assert_int_equal(sums.chunks, 2);
    assert_string_equal(sums.file[0].path, "/data/a model");
    assert_int_equal(sums.file[0].ctime.tv_sec, -1);
    assert_int_equal(warm_sums_find(&sums, 0, 2), 1);
    assert_int_equal(warm_sums_find(&sums, 0, 1), -1);
    assert_int_equal(warm_sums_find(&sums, 1, 0), -1);
    assert_int_equal(warm_sums_find(&sums, 7, 0), -1);
    again = warm_sums_text(&sums, MARK);
    assert_string_equal(again, text);
    free(again);
    warm_sums_clear(&sums);
}

static void other_texts_are_no_sums(void **state)
{
    static const char *const bad[] = {
        "",
        "# muster sums 2 " MARK "\n",
        "# muster sums 1 0123456789abcdee\n",
        HEAD "0 " HASH "\n",
        HEAD FILE1 "3 " HASH "\n",
        HEAD FILE1 "0 " HASH "0\n",
        HEAD FILE1 "0 " HASH "\n0 " HASH "\n",
        HEAD FILE1 "-1 " HASH "\n",
        HEAD FILE1 "0  " HASH "\n",
        HEAD FILE1 "\n",
        HEAD "file 1 2 3.0 4.000000000 /a\n",
        HEAD "file 1 2 3.000000000 4.000000000 a\n",
        HEAD "file -1 2 3.000000000 4.000000000 /a\n",
        HEAD "file 9223372036854775807 2 3.000000000 4.000000000 /a\n",
        HEAD "file 1 2 /a\n",
        HEAD "file 1 2 99999999999999999999.000000000 4.000000000 /a\n",
    };
    struct warm_sums sums;
    struct error     err;
    size_t           i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (warm_sums_parse(bad[i], MARK, &sums, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
}

/* --- a file ----------------------------------------------------------------- */

struct world {
    char               path[64];
    unsigned char      bytes[SIZE];
    struct stat        before;
    struct warm_file   file;
    struct warm_sums   sums;
    struct warm_chunk  chunk;
    struct swarm_files files;
};

static void look(struct world *world)
{
    assert_int_equal(stat(world->path, &world->before), 0);
    world->file = (struct warm_file){ .path = world->path,
                                      .size = SIZE,
                                      .inode = world->before.st_ino,
                                      .mtime = world->before.st_mtim,
                                      .ctime = world->before.st_ctim,
                                      .count = 1 };
    world->sums = (struct warm_sums){ &world->file, 1, &world->chunk, 1 };
    swarm_files_begin(&world->files, &world->sums);
}

/* Nothing of it is in memory. */
static void forget(const struct world *world)
{
    int fd = open(world->path, O_RDONLY | O_CLOEXEC);

    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
}

static bool is_as_it_was(const struct world *world)
{
    unsigned char bytes[SIZE + 1];
    int           fd = open(world->path, O_RDONLY | O_CLOEXEC);
    ssize_t       size = read(fd, bytes, sizeof bytes);

    close(fd);
    return size == SIZE && memcmp(bytes, world->bytes, SIZE) == 0;
}

static int begin(void **state)
{
    struct world *world = *state = calloc(1, sizeof *world);
    int           fd;
    size_t        i;

    for (i = 0; i < SIZE; i++)
        world->bytes[i] = (unsigned char)(i * i >> 7);
    strcpy(world->path, "/var/tmp/muster-test-swarm.XXXXXX");
    fd = mkstemp(world->path);
    if (fd < 0 || write(fd, world->bytes, SIZE) != SIZE || fsync(fd) < 0)
        return -1;
    close(fd);
    look(world);
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;

    unlink(world->path);
    swarm_files_end(&world->files);
    free(world);
    return 0;
}

/* /var/tmp is on a file system for which this is not known to be sound. */
static void need_disk(struct world *world)
{
    int  fd = open(world->path, O_RDONLY | O_CLOEXEC);
    bool is_plain = warm_file_is_plain(fd, &world->before);

    close(fd);
    if (!is_plain)
        skip();
}

static void the_same_bytes_are_put(void **state)
{
    struct world *world = *state;
    struct stat   now;
    struct error  err;

    need_disk(world);
    forget(world);
    assert_true(swarm_file_put(&world->files, &world->chunk, world->bytes));
    assert_int_equal(stat(world->path, &now), 0);
    assert_true(now.st_ctim.tv_sec != world->before.st_ctim.tv_sec ||
                now.st_ctim.tv_nsec != world->before.st_ctim.tv_nsec);
    assert_int_equal(now.st_mtim.tv_sec, world->before.st_mtim.tv_sec);
    assert_int_equal(now.st_mtim.tv_nsec, world->before.st_mtim.tv_nsec);
    forget(world);
    assert_true(swarm_file_put(&world->files, &world->chunk, world->bytes)); /* its own ctime */
    assert_int_equal(swarm_files_sync(&world->files, &err), 0);
    assert_true(is_as_it_was(world));
}

static void what_is_in_memory_is_not_written(void **state)
{
    struct world *world = *state;
    struct stat   now;

    need_disk(world);
    assert_true(is_as_it_was(world)); /* reads it */
    assert_true(swarm_file_put(&world->files, &world->chunk, world->bytes));
    assert_int_equal(stat(world->path, &now), 0);
    assert_int_equal(now.st_ctim.tv_nsec, world->before.st_ctim.tv_nsec);
}

static void a_file_that_somebody_has_open_is_left_alone(void **state)
{
    struct world *world = *state;
    int           fd = open(world->path, O_RDONLY | O_CLOEXEC);

    forget(world);
    assert_false(swarm_file_put(&world->files, &world->chunk, world->bytes));
    close(fd);
}

/* Also one whose size and mtime are as before. */
static void a_file_that_has_changed_is_left_alone(void **state)
{
    struct world   *world = *state;
    struct timespec times[2] = { world->before.st_atim, world->before.st_mtim };
    int             fd = open(world->path, O_WRONLY | O_CLOEXEC);

    world->bytes[100000] ^= 1;
    assert_int_equal(pwrite(fd, world->bytes + 100000, 1, 100000), 1);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    forget(world);
    world->bytes[100000] ^= 1;
    assert_false(swarm_file_put(&world->files, &world->chunk, world->bytes));
    world->bytes[100000] ^= 1;
    assert_true(is_as_it_was(world));
}

/* Between two of its chunks. */
static void a_file_that_changes_meanwhile_is_left_alone(void **state)
{
    struct world *world = *state;
    int           fd;

    need_disk(world);
    forget(world);
    assert_true(swarm_file_put(&world->files, &world->chunk, world->bytes));
    fd = open(world->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 150000), 1);
    close(fd);
    forget(world);
    assert_false(swarm_file_put(&world->files, &world->chunk, world->bytes));
    world->bytes[150000] = 'x';
    assert_true(is_as_it_was(world));
}

static void a_link_is_not_followed(void **state)
{
    struct world *world = *state;
    char          target[80];

    snprintf(target, sizeof target, "%s.2", world->path);
    assert_int_equal(rename(world->path, target), 0);
    assert_int_equal(symlink(target, world->path), 0);
    assert_false(swarm_file_put(&world->files, &world->chunk, world->bytes));
    assert_int_equal(unlink(target), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_read_as_they_are_written),
        cmocka_unit_test(other_texts_are_no_sums),
        cmocka_unit_test_setup_teardown(the_same_bytes_are_put, begin, end),
        cmocka_unit_test_setup_teardown(what_is_in_memory_is_not_written, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_somebody_has_open_is_left_alone, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_file_that_has_changed_is_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_changes_meanwhile_is_left_alone, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_link_is_not_followed, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
