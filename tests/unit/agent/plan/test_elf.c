/* test_elf.c - the libraries of an executable, also of a damaged one
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/elf.h"

#define ROUNDS    3000
#define HEAD_SIZE 4096 /* where the interesting parts are: headers */

static bool has(const struct strlist *list, const char *name)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        if (strcmp(list->item[i], name) == 0)
            return true;
    return false;
}

static void test_own_libraries(void **state)
{
    struct strlist needed = { 0 };

    (void)state;
    assert_true(elf_needed("/proc/self/exe", &needed));
    assert_true(has(&needed, "libc.so.6"));
    assert_false(has(&needed, "libmpi.so.40"));
    strlist_clear(&needed);
}

static void test_what_is_no_program(void **state)
{
    struct strlist needed = { 0 };

    (void)state;
    assert_false(elf_needed("/dev/null", &needed));
    assert_false(elf_needed("/", &needed));
    assert_false(elf_needed("/does/not/exist", &needed));
    assert_false(elf_needed("/etc/passwd", &needed));
    assert_int_equal(needed.count, 0);
}

/* Bytes of the headers and of the dynamic section changed at random, the file cut off at random:
 * the answer may be anything, but there is one. */
static void test_damage(void **state)
{
    static unsigned char whole[8 << 20], damaged[sizeof whole];
    char                 path[] = "/tmp/muster-elf-XXXXXX";
    int                  from = open("/proc/self/exe", O_RDONLY), fd = mkstemp(path), round, i;
    ssize_t              size = read(from, whole, sizeof whole);
    struct strlist       needed = { 0 };

    (void)state;
    assert_true(fd >= 0 && size > HEAD_SIZE);
    srandom(9);
    for (round = 0; round < ROUNDS; round++) {
        size_t cut = random() % 4 == 0 ? (size_t)random() % (size_t)size : (size_t)size;

        memcpy(damaged, whole, HEAD_SIZE);
        for (i = (int)(random() % 8); i >= 0; i--)
            damaged[random() % (random() % 2 == 0 ? 64 : HEAD_SIZE)] = (unsigned char)random();
        if (round == 0)
            assert_int_equal(pwrite(fd, whole, (size_t)size, 0), size);
        assert_int_equal(pwrite(fd, damaged, HEAD_SIZE, 0), HEAD_SIZE);
        if (cut < (size_t)size)
            assert_int_equal(ftruncate(fd, (off_t)cut), 0);
        elf_needed(path, &needed);
        if (cut < (size_t)size)
            assert_int_equal(pwrite(fd, whole, (size_t)size, 0), size);
        strlist_clear(&needed);
    }
    close(from);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_libraries),
        cmocka_unit_test(test_what_is_no_program),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
