/* test_swap_file.c - what is written is read back; what a disk does wrong is told
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/alone.h"
#include "zero/swap_ring.h"
#include "zero/zero.h"

#define RECORDS 40

static char dir[] = "/tmp/test_swap_file.XXXXXX";

static struct swap_options options_of(const char *where)
{
    return (struct swap_options){ .dir = where, .what = "offload_optimizer", .block = SWAP_ALIGN,
                                  .depth = 4, .timeout_s = 30 };
}

static struct swap_file *open_here(uint64_t bytes)
{
    const struct swap_options options = options_of(dir);
    struct error              err = { "" };
    struct swap_file         *file = swap_file_open(&options, bytes, &err);

    if (file == NULL)
        fail_msg("%s", err.text);
    return file;
}

static void *aligned(size_t bytes)
{
    struct error err;
    void        *memory = zero_device_cpu.pinned(&zero_device_cpu, bytes, &err);

    assert_non_null(memory);
    return memory;
}

static void assert_says(const struct error *err, const char *part)
{
    if (strstr(err->text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err->text, part);
}

/* More requests than there is room for, each of several blocks. */
static void test_requests(void **state)
{
    const size_t      bytes = 3 * SWAP_ALIGN;
    const int         count = 3 * SWAP_REQUESTS_MAX;
    struct swap_file *file = open_here(bytes * (size_t)count);
    char             *out = aligned(bytes * (size_t)count), *in = aligned(bytes * (size_t)count);
    struct error      err = { "" };
    uint64_t          ticket[3 * SWAP_REQUESTS_MAX];
    size_t            i;
    int               n;

    (void)state;
    ticket[0] = swap_file_read(file, in, 0, bytes);
    assert_int_equal(swap_file_wait(file, ticket[0], &err), 0);
    for (i = 0; i < bytes; i++)
        assert_int_equal(in[i], 0);
    for (i = 0; i < bytes * (size_t)count; i++)
        out[i] = (char)(i * 2654435761u >> 24);
    for (n = 0; n < count; n++)
        ticket[n] = swap_file_write(file, out + (size_t)n * bytes, (size_t)n * bytes, bytes);
    for (n = 0; n < count; n++)
        assert_int_equal(swap_file_wait(file, ticket[n], &err), 0);
    for (n = count - 1; n >= 0; n--)
        ticket[n] = swap_file_read(file, in + (size_t)n * bytes, (size_t)n * bytes, bytes);
    for (n = 0; n < count; n++)
        assert_int_equal(swap_file_wait(file, ticket[n], &err), 0);
    assert_memory_equal(in, out, bytes * (size_t)count);
    swap_file_close(file);
    free(out);
    free(in);
}

/* Each record is what was written to it last. */
static void test_ring(void **state)
{
    const struct swap_options options = options_of(dir);
    struct swap_ring          ring;
    struct error              err = { "" };
    size_t                    sizes[RECORDS];
    int                       round, i, lanes;
    char                     *record;

    (void)state;
    for (i = 0; i < RECORDS; i++)
        sizes[i] = (size_t)(1000 + i * 617);
    for (lanes = 1; lanes <= 4; lanes++) {
        assert_int_equal(swap_ring_init(&ring, &options, sizes, RECORDS, lanes, &zero_device_cpu,
                                        &err), 0);
        assert_int_equal(ring.bytes, swap_ring_bytes(sizes, RECORDS, lanes));
        for (round = 0; round < 4; round++) {
            for (i = 0; i < RECORDS; i++) {
                record = swap_ring_take(&ring, i, &err);
                assert_non_null(record);
                swap_ring_ahead(&ring, i + 1);
                assert_int_equal(record[0], round);
                assert_int_equal(record[sizes[i] - 1], round == 0 ? 0 : i);
                record[0]++;
                record[sizes[i] - 1] = (char)i;
                swap_ring_give(&ring, i, true);
            }
        }
        swap_ring_clear(&ring);
    }
}

/* All lanes used: that is no failure of the disk. */
static void test_full_ring(void **state)
{
    const struct swap_options options = options_of(dir);
    const size_t              sizes[] = { 10, 20, 30 };
    struct swap_ring          ring;
    struct error              err;

    (void)state;
    assert_int_equal(swap_ring_init(&ring, &options, sizes, 3, 2, &zero_device_cpu, &err), 0);
    assert_non_null(swap_ring_take(&ring, 0, &err));
    assert_non_null(swap_ring_take_blank(&ring, 1, &err));
    assert_null(swap_ring_take(&ring, 2, &err));
    assert_string_equal(err.text, "");
    swap_ring_ahead(&ring, 2); /* no room: it is not begun */
    swap_ring_give(&ring, 1, true);
    assert_non_null(swap_ring_take(&ring, 2, &err));
    swap_ring_clear(&ring);
}

static void assert_not_opened(const char *where, uint64_t bytes, const char *why)
{
    const struct swap_options options = options_of(where);
    struct error              err = { "" };

    assert_null(swap_file_open(&options, bytes, &err));
    assert_says(&err, "offload_optimizer: ");
    assert_says(&err, where);
    assert_says(&err, why);
}

static void test_no_directory(void **state)
{
    (void)state;
    assert_not_opened("/tmp/there/is/none", SWAP_ALIGN, "No such file or directory");
    assert_not_opened("/dev/null", SWAP_ALIGN, "Not a directory");
    assert_not_opened("/proc", SWAP_ALIGN, "/proc");
}

/* It is found at the start; and if it comes later, when something is written. */
static void test_limit_of_size(void **state)
{
    const struct rlimit small = { 1 << 20, RLIM_INFINITY };
    struct swap_file   *file = open_here(2 << 20);
    char               *memory = aligned(SWAP_ALIGN);
    struct error        err = { "" };
    struct rlimit       before;

    (void)state;
    memset(memory, 1, SWAP_ALIGN);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_not_opened(dir, 2 << 20, "no room for 2.0 MiB");
    swap_file_close(open_here(1 << 20));
    assert_int_equal(
        swap_file_wait(file, swap_file_write(file, memory, 3 << 19, SWAP_ALIGN), &err), -1);
    assert_says(&err, "offload_optimizer: writing 4096 bytes at 1572864 of the file in ");
    assert_says(&err, "File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    swap_file_close(file);
    free(memory);
}

static void test_full_disk(void **state)
{
    (void)state;
    if (mount("none", dir, "tmpfs", 0, "size=1m") < 0) {
        print_message("# a full disk: not root, or no mounts here\n");
        skip();
    }
    swap_file_close(open_here(1 << 19));
    assert_not_opened(dir, 2 << 20, "no room for 2.0 MiB");
    assert_int_equal(umount(dir), 0);
}

/* Somebody has cut it, through /proc: it has no name. */
static void cut(off_t bytes)
{
    char    path[64], target[4096];
    ssize_t size;
    int     fd, found = 0;

    for (fd = 3; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        size = readlink(path, target, sizeof target - 1);
        if (size < 0)
            continue;
        target[size] = '\0';
        if (strncmp(target, dir, strlen(dir)) != 0)
            continue;
        assert_non_null(strstr(target, " (deleted)"));
        assert_int_equal(truncate(path, bytes), 0);
        found++;
    }
    assert_int_equal(found, 1);
}

static void test_cut_file(void **state)
{
    struct swap_file *file = open_here(8 * SWAP_ALIGN);
    char             *memory = aligned(8 * SWAP_ALIGN);
    struct error      err = { "" };

    (void)state;
    cut(4 * SWAP_ALIGN);
    assert_int_equal(swap_file_wait(file, swap_file_read(file, memory, 0, 4 * SWAP_ALIGN), &err),
                     0);
    assert_int_equal(swap_file_wait(file, swap_file_read(file, memory, 0, 8 * SWAP_ALIGN), &err),
                     -1);
    assert_says(&err, "offload_optimizer: reading 4096 bytes at ");
    assert_says(&err, dir);
    assert_says(&err, "the file ends there");
    assert_int_equal(swap_file_wait(file, swap_file_write(file, memory, 0, SWAP_ALIGN), &err), -1);
    assert_says(&err, "the file ends there"); /* the first failure */
    swap_file_close(file);
    free(memory);
}

/* What a checkpoint is made of: an error of the disk is told, and ends nobody by a signal. */
static void test_cut_states(void **state)
{
    const struct zero_options options = { .stage = 1, .type = DTYPE_FLOAT, .bucket_max = 1 << 20,
                                          .states = { .place = ZERO_FILE, .dir = dir },
                                          .io_block = SWAP_ALIGN, .io_depth = 1 };
    const size_t              layer = 1 << 20;
    struct comm              *alone = comm_alone(30);
    struct error              err = { "" };
    struct zero              *zero = zero_open(alone, &options, &layer, 1, &err);
    struct zero_piece        *piece;
    int                       count;

    (void)state;
    assert_non_null(zero);
    piece = zero_pieces(zero, true, &count, &err);
    assert_int_equal(count, 1);
    assert_null(piece->param);
    cut(SWAP_ALIGN);
    assert_int_equal(zero_piece_take(piece, &err), -1);
    assert_says(&err, "offload_optimizer: reading ");
    assert_says(&err, "the file ends there");
    free(piece);
    zero_close(zero);
    assert_int_equal(alone->ops->close(alone, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_full_ring),
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_limit_of_size),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_cut_file),
        cmocka_unit_test(test_cut_states),
    };
    int rc;

    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) < 0 || rc != 0; /* it is empty */
}
