/* test_fit.c - what the kernel says of free memory, and what does not fit
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

#include "report/free_memory.h"
#include "train/fit.h"
#include "xalloc.h"

#define GIB  ((uint64_t)1 << 30)
#define NONE FREE_MEMORY_UNKNOWN

/* ---- free memory ---- */

static char dir[] = "/tmp/test_fit.XXXXXX";

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
    char    command[1024];
    int     at = snprintf(command, sizeof command, "cd %s && ", dir);
    va_list ap;

    va_start(ap, format);
    vsnprintf(command + at, sizeof command - (size_t)at, format, ap);
    va_end(ap);
    assert_int_equal(system(command), 0);
}

static void expect_free(uint64_t machine, uint64_t group)
{
    const struct free_memory memory = free_memory_read(dir);

    assert_int_equal(memory.machine, machine);
    assert_int_equal(memory.group, group);
}

static void test_machine(void **state)
{
    (void)state;
    expect_free(NONE, NONE);
    run("mkdir -p proc/self && echo 'MemTotal: 100 kB' >proc/meminfo");
    expect_free(NONE, NONE);
    run("printf 'MemTotal:  9 kB\nMemFree: 1 kB\nMemAvailable:    5 kB\nSwapFree: 2 kB\n' "
        ">proc/meminfo");
    expect_free(7 * 1024, NONE);
}

/* The limit of a directory above counts, too; pages of files do not, but swap does. */
static void test_groups(void **state)
{
    (void)state;
    run("mkdir -p sys/fs/cgroup/a/b && printf '1:name=x:/y\n0::/a/b\n' >proc/self/cgroup");
    expect_free(7 * 1024, NONE);
    run("cd sys/fs/cgroup/a/b && echo max >memory.max && echo 5000 >memory.current");
    expect_free(7 * 1024, NONE);
    run("cd sys/fs/cgroup/a && echo 9000 >memory.max && echo 5000 >memory.current");
    expect_free(7 * 1024, 4000 + 2048);
    run("cd sys/fs/cgroup/a && printf 'anon 9\ninactive_file 300\nactive_file 20\nfile 9\n' "
        ">memory.stat");
    expect_free(7 * 1024, 4320 + 2048);
    run("cd sys/fs/cgroup/a && echo 1000 >memory.swap.max && echo 400 >memory.swap.current");
    expect_free(7 * 1024, 4320 + 600);
    run("cd sys/fs/cgroup/a && echo 0 >memory.swap.max && echo 9500 >memory.current");
    expect_free(7 * 1024, 0);
    /* In a container, whose name is not there. */
    run("echo 0::/gone/for/ever >proc/self/cgroup && cd sys/fs/cgroup && echo 700 >memory.max && "
        "echo 0 >memory.current");
    expect_free(7 * 1024, 700 + 2048);
    run("cd proc/self && printf '5:cpu:/\n4:memory:/c\n' >cgroup && cd ../.. && "
        "mkdir -p sys/fs/cgroup/memory/c && cd sys/fs/cgroup/memory/c && "
        "echo 6000 >memory.limit_in_bytes && echo 5000 >memory.usage_in_bytes && "
        "printf 'inactive_file 7\ntotal_inactive_file 100\ntotal_active_file 11\n' >memory.stat");
    expect_free(7 * 1024, 1111 + 2048);
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
    char *command = xasprintf("rm -r %s", dir);
    int   rc = system(command);

    (void)state;
    free(command);
    return rc;
}

/* ---- fit ---- */

static const struct {
    struct fit         fit;
    struct free_memory memory;
    const char        *why; /* NULL: it fits */
} cases[] = {
    { { .bytes = { GIB, GIB, 2 * GIB, 0, 4 * GIB, 0 }, .on_machine = 1, .on_node = 1 },
      { 8 * GIB, NONE }, NULL },
    { { .bytes = { GIB, GIB, 2 * GIB, 0, 4 * GIB, 0 }, .on_machine = 9, .on_node = 9 },
      { NONE, NONE }, NULL },
    { { .bytes = { GIB, GIB, 2 * GIB, GIB / 100, 4 * GIB, 0 }, .on_machine = 1, .on_node = 1 },
      { 8 * GIB, NONE },
      "a rank needs 8.0 GiB of memory (parameters 1.0, gradients 1.0, optimizer state 2.0, "
      "activations 4.0), and on this machine 8.0 GiB are free: shorten --length, lower "
      "--micro-batch, or use --activation_checkpointing; --no-memory-check starts even so" },
    { { .bytes = { GIB, 0, 0, 0, 2 * GIB, 0 }, .recomputes = true, .on_machine = 4,
        .on_node = 2 },
      { 11 * GIB, NONE },
      "a rank needs 3.0 GiB of memory (parameters 1.0, activations 2.0), so 4 ranks need 12.0, "
      "and on this machine 11.0 GiB are free: shorten --length, or lower --micro-batch; "
      "--no-memory-check starts even so" },
    /* Two containers on a machine: each has a limit of its own. */
    { { .bytes = { 3 * GIB }, .on_machine = 4, .on_node = 2 }, { 12 * GIB, 6 * GIB }, NULL },
    { { .bytes = { 3 * GIB }, .on_machine = 4, .on_node = 2 },
      { 12 * GIB, 6 * GIB - 1 },
      "a rank needs 3.0 GiB of memory (parameters 3.0), so 2 ranks need 6.0, and in this cgroup "
      "6.0 GiB are free: use more nodes with ZeRO stage 3, or offload to a file (device nvme); "
      "--no-memory-check starts even so" },
    { { .bytes = { GIB, GIB, 0, GIB, 0, 2 * GIB }, .on_machine = 1, .on_node = 1 },
      { 4 * GIB, NONE },
      "a rank needs 5.0 GiB of memory (parameters 1.0, gradients 1.0, buffers 1.0, the copy for "
      "--async-checkpoint 2.0), and on this machine 4.0 GiB are free: save without "
      "--async-checkpoint; --no-memory-check starts even so" },
};

static void test_judge(void **state)
{
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int rc = fit_judge(&cases[i].fit, &cases[i].memory, &err);

        assert_int_equal(rc, cases[i].why != NULL ? -1 : 0);
        if (rc < 0)
            assert_string_equal(err.text, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_judge),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
