/* test_bind.c - which cores a rank gets, on machines made up by hwloc
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/gpu.h"
#include "node/test_switch.h"
#include "plan/bind.h"
#include "xalloc.h"

/* 2 packages with a NUMA node each, 4 cores each, 2 hyperthreads each, and the
 * numbering of most servers: CPU n and n + 8 are one core. */
#define TWO_SOCKETS "pack:2 [numa] core:4 pu:2(indexes=2*8:8*1)"

static char root[64];

static void use_machine(const char *synthetic)
{
    setenv("HWLOC_SYNTHETIC", synthetic, 1);
    setenv("HWLOC_THISSYSTEM", "0", 1);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

/* A GPU as /sys shows it. */
static void add_gpu(const char *address, const char *numa_node, const char *vendor)
{
    char *dir = xasprintf("%s/sys/bus/pci/devices/%s", root, address);

    assert_int_equal(mkdir(dir, 0755), 0);
    write_file(dir, "vendor", vendor);
    write_file(dir, "class", "0x030200\n");
    write_file(dir, "numa_node", numa_node);
    free(dir);
}

static int setup(void **state)
{
    static const char *const dirs[] = { "", "/sys", "/sys/bus", "/sys/bus/pci",
                                        "/sys/bus/pci/devices", "/dev" };
    size_t i;

    (void)state;
    snprintf(root, sizeof root, "/tmp/muster-bind-test.%d", (int)getpid());
    for (i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char *dir = xasprintf("%s%s", root, dirs[i]);

        if (mkdir(dir, 0755) < 0)
            return -1;
        free(dir);
    }
    setenv(TEST_SWITCH_ROOT, root, 1);
    return 0;
}

static int teardown(void **state)
{
    char *command[] = { (char *)"rm", (char *)"-rf", root, NULL };

    (void)state;
    if (fork() == 0) {
        execvp(command[0], command);
        _exit(1);
    }
    wait(NULL);
    return 0;
}

/* The CPUs of rank i as "0-1,8-9". */
static const char *cpus_of(const struct binding *binding, int i)
{
    static char    text[256];
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    size_t         cpu;

    for (cpu = 0; cpu < BIND_CPU_MAX; cpu++)
        if (CPU_ISSET_S(cpu, binding->mask_size, binding->mask[i]))
            hwloc_bitmap_set(set, (unsigned)cpu);
    hwloc_bitmap_list_snprintf(text, sizeof text, set);
    hwloc_bitmap_free(set);
    return text;
}

static void test_contiguous_chunks_of_whole_cores(void **state)
{
    const int      slot[] = { 0, 1, 2 };
    struct binding binding;
    struct error   err;

    (void)state;
    use_machine(TWO_SOCKETS);
    assert_int_equal(bind_make(&binding, "", slot, 3, &err), 0);
    assert_int_equal(binding.each, 2); /* 8 cores, 3 ranks, 2 unused */
    assert_string_equal(cpus_of(&binding, 0), "0-1,8-9");
    assert_string_equal(cpus_of(&binding, 1), "2-3,10-11");
    assert_string_equal(cpus_of(&binding, 2), "4-5,12-13");
    bind_clear(&binding);
}

static void test_a_list_names_cpus(void **state)
{
    const int      slot[] = { 0, 1 };
    struct binding binding;
    struct error   err;

    (void)state;
    use_machine(TWO_SOCKETS);
    assert_int_equal(bind_make(&binding, "0,2-4", slot, 2, &err), 0);
    assert_int_equal(binding.each, 2);
    assert_string_equal(cpus_of(&binding, 0), "0,2");
    assert_string_equal(cpus_of(&binding, 1), "3-4");
    bind_clear(&binding);

    assert_int_equal(bind_make(&binding, "14-20", slot, 2, &err), -1);
    assert_non_null(strstr(err.text, "14-20"));
    assert_non_null(strstr(err.text, "0-15"));
}

static void test_too_few_cores(void **state)
{
    int            slot[9] = { 0 };
    struct binding binding;
    struct error   err;

    (void)state;
    use_machine(TWO_SOCKETS);
    assert_int_equal(bind_make(&binding, "", slot, 9, &err), -1);
    assert_non_null(strstr(err.text, "9 ranks cannot be bound to 8 cores"));
    assert_int_equal(bind_make(&binding, "3", slot, 2, &err), -1);
    assert_non_null(strstr(err.text, "--bind_core_list 3"));
}

static void test_cores_near_the_gpu(void **state)
{
    const int      slot[] = { 0, 1, 2, 3 };
    struct binding binding;
    struct error   err;

    (void)state;
    use_machine(TWO_SOCKETS);
    add_gpu("0000:81:00.0", "0\n", "0x10de\n"); /* slots 2 and 3, but on the first socket */
    add_gpu("0000:82:00.0", "0\n", "0x10de\n");
    add_gpu("0000:17:00.0", "1\n", "0x10de\n"); /* slots 0 and 1, on the second */
    add_gpu("0000:18:00.0", "1\n", "0x10de\n");
    add_gpu("0000:02:00.0", "0\n", "0x1a03\n"); /* the console's VGA is no slot */
    assert_int_equal(bind_make(&binding, "", slot, 4, &err), 0);
    assert_int_equal(binding.each, 2);
    assert_string_equal(cpus_of(&binding, 0), "4-5,12-13");
    assert_string_equal(cpus_of(&binding, 1), "6-7,14-15");
    assert_string_equal(cpus_of(&binding, 2), "0-1,8-9");
    assert_string_equal(cpus_of(&binding, 3), "2-3,10-11");
    bind_clear(&binding);
}

static void deal(const char *numas, const int *near, int ranks, int each, const char *expected)
{
    struct bind_unit unit[32];
    int              chosen[32], count = (int)strlen(numas), i;
    char             got[128] = "";

    for (i = 0; i < count; i++)
        unit[i] = (struct bind_unit){ .numa = numas[i] - '0' };
    assert_int_equal(bind_deal(unit, count, near, ranks, chosen), each);
    for (i = 0; i < ranks * each; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d",
                 i == 0 ? "" : i % each == 0 ? " | " : " ", chosen[i]);
    assert_string_equal(got, expected);
}

static void test_dealing(void **state)
{
    (void)state;
    deal("0000", (int[]){ -1, -1 }, 2, 2, "0 1 | 2 3");
    deal("00000", (int[]){ -1, -1 }, 2, 2, "0 1 | 2 3"); /* the remainder is unused */
    deal("0011", (int[]){ 1, 0 }, 2, 2, "2 3 | 0 1");
    deal("0011", (int[]){ 1, 1 }, 2, 2, "2 3 | 0 1"); /* node 1 is full: what is left */
    deal("0011", (int[]){ -1, 0 }, 2, 2, "2 3 | 0 1"); /* who wants a node goes first */
    deal("0101", (int[]){ 0, 1 }, 2, 2, "0 2 | 1 3");
    deal("00", (int[]){ 7, -1 }, 2, 1, "0 | 1"); /* a node without cores */
    deal("0", (int[]){ -1, -1 }, 2, 0, "");
}

static void test_lists(void **state)
{
    static const struct {
        const char *list, *set; /* set NULL: refused */
    } cases[] = {
        { "0", "0" },         { "0,2-4,6,8-9", "0,2-4,6,8-9" },
        { "3-3", "3" },       { "0,2-6,5-9", NULL },
        { "8,2-6", NULL },    { "1,6-2", NULL },
        { "1,1", NULL },      { "0, 1", NULL },
        { "0,,1", NULL },     { "-1", NULL },
        { "1-", NULL },       { "a", NULL },
        { "99999", NULL },    { "1-2-3", NULL },
        { "0,", NULL },
    };
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct error   err;
    char           text[64];
    size_t         i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = bind_list(cases[i].list, set, &err);

        assert_int_equal(rc, cases[i].set != NULL ? 0 : -1);
        hwloc_bitmap_list_snprintf(text, sizeof text, set);
        if (rc == 0)
            assert_string_equal(text, cases[i].set);
        else
            assert_non_null(strstr(err.text, cases[i].list));
    }
    hwloc_bitmap_free(set);
}

static void test_gpus_are_counted(void **state)
{
    char *dev = xasprintf("%s/dev", root);

    (void)state;
    assert_int_equal(gpu_count(), 0);
    write_file(dev, "nvidia0", "");
    write_file(dev, "nvidia11", "");
    write_file(dev, "nvidiactl", "");
    write_file(dev, "nvidia-uvm", "");
    assert_int_equal(gpu_count(), 2);
    free(dev);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_contiguous_chunks_of_whole_cores),
        TEST(test_a_list_names_cpus),
        TEST(test_too_few_cores),
        TEST(test_cores_near_the_gpu),
        TEST(test_dealing),
        TEST(test_lists),
        TEST(test_gpus_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
