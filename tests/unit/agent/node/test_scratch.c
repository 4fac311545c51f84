/* test_scratch.c - directories that shall not outlive their agent
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/scratch.h"

struct search {
    const char *path;
    int         found;
};

static void found_cb(const char *path, void *arg)
{
    struct search *search = arg;

    search->found += strcmp(path, search->path) == 0;
}

static bool is_stale(const char *path)
{
    struct search search = { .path = path };

    scratch_find_stale(found_cb, &search);
    return search.found == 1;
}

static void fill(const char *path)
{
    char name[128];
    int  fd;

    snprintf(name, sizeof name, "%s/folder", path);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof name, "%s/folder/file", path);
    fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    snprintf(name, sizeof name, "%s/link", path);
    assert_int_equal(symlink("/", name), 0); /* it is removed, what it leads to is not */
}

static void test_its_own(void **state)
{
    struct scratch scratch;
    struct stat    about;
    struct error   err;
    char           path[64];

    (void)state;
    assert_int_equal(scratch_make(&scratch, &err), 0);
    snprintf(path, sizeof path, "%s", scratch.path);
    assert_int_equal(lstat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    fill(path);
    assert_false(is_stale(path));
    scratch_remove(&scratch);
    assert_int_equal(access(path, F_OK), -1);
    scratch_remove(&scratch); /* again: nothing happens */
}

static void test_its_agent_is_dead(void **state)
{
    struct scratch scratch;
    struct error   err;

    (void)state;
    assert_int_equal(scratch_make(&scratch, &err), 0);
    fill(scratch.path);
    close(scratch.fd); /* as a death does it */
    assert_true(is_stale(scratch.path));
    assert_true(scratch_clear(scratch.path));
    assert_false(is_stale(scratch.path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_own),
        cmocka_unit_test(test_its_agent_is_dead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
