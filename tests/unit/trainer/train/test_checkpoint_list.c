/* test_checkpoint_list.c - which checkpoint is the one to continue from, and which are deleted
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
#include <unistd.h>

#include <cmocka.h>

#include "train/checkpoint.h"
#include "train/checkpoint_list.h"
#include "unit/trainer/train/checkpoint_fixture.h"
#include "xalloc.h"

/* latest is gone: the only checkpoint is the one, of several each might be. */
static void test_lost_latest(void **state)
{
    struct error err;
    bool         is_none;
    char        *tag, *path = xasprintf("%s/latest", saves), *expected;
    char        *others = xasprintf("mkdir %s/global_step7 %s/global_stepx", saves, saves);
    char        *older = xasprintf("touch -d @1000000000 %s/global_step30/shard-00000", saves);

    (void)state;
    assert_int_equal(system(others), 0); /* DeepSpeed's, without shards */
    assert_int_equal(checkpoint_save(1, 5, &err), 0);
    assert_int_equal(unlink(path), 0);
    tag = checkpoint_latest(saves, &is_none, &err);
    assert_string_equal(tag, "global_step5");
    free(tag);
    /* Back to an earlier step: what was written later is newer. */
    assert_int_equal(checkpoint_save(1, 30, &err), 0);
    assert_int_equal(checkpoint_save(1, 4, &err), 0);
    assert_int_equal(system(older), 0);
    assert_int_equal(unlink(path), 0);
    assert_null(checkpoint_latest(saves, &is_none, &err));
    assert_false(is_none);
    expected = xasprintf("%s: there are ..., global_step5 and global_step4, but no file latest "
                         "that names one of them: continue with --tag global_step4, or give "
                         "another --checkpoint_dir", saves);
    assert_string_equal(err.text, expected);
    free(expected);
    free(older);
    free(others);
    free(path);
    checkpoint_remove_all();
}

static void set_time(int step, int seconds)
{
    char *command = xasprintf("touch -d @%d %s/global_step%d/shard-00000", seconds, saves, step);

    assert_int_equal(system(command), 0);
    free(command);
}

/* Returns the checkpoints and what else is in the directory, as "ls" prints it. */
static char *listing(void)
{
    static char text[256];
    char       *command = xasprintf("cd %s && echo *", saves);
    FILE       *file = popen(command, "r");

    assert_non_null(fgets(text, sizeof text, file));
    assert_int_equal(pclose(file), 0);
    free(command);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void set_best(const char *tag)
{
    char *command = xasprintf("echo %s >%s/best", tag, saves), *best;

    assert_int_equal(system(command), 0);
    best = checkpoint_best(saves);
    assert_string_equal(best, tag);
    free(best);
    free(command);
}

/* The newest stay, by time and not by step, and latest's whatever its age is. */
static void test_prune(void **state)
{
    static const int steps[] = { 2, 10, 8, 4, 6 };
    struct error     err;
    char            *others = xasprintf("mkdir %s/global_step1 %s/mine", saves, saves), *path;
    int              i;

    (void)state;
    assert_int_equal(system(others), 0);
    for (i = 0; i < 5; i++) {
        assert_int_equal(checkpoint_save(2, steps[i], &err), 0);
        set_time(steps[i], 1000000000 + i);
    }
    assert_int_equal(checkpoint_list_prune(saves, 5, &err), 0);
    assert_string_equal(listing(), "global_step1 global_step10 global_step2 global_step4 "
                                   "global_step6 global_step8 latest mine");
    assert_int_equal(checkpoint_list_prune(saves, 3, &err), 0);
    assert_string_equal(listing(), "global_step1 global_step4 global_step6 global_step8 latest "
                                   "mine");
    assert_int_equal(checkpoint_point_latest(saves, "global_step8", NULL, &err), 0);
    assert_int_equal(checkpoint_list_prune(saves, 1, &err), 0);
    assert_string_equal(listing(), "global_step1 global_step6 global_step8 latest mine");
    assert_int_equal(checkpoint_load(1, 8, &err), 0);
    assert_int_equal(checkpoint_load(1, 6, &err), 0);
    /* best's stays, too, for ever. */
    set_best("global_step8");
    assert_int_equal(checkpoint_save(1, 7, &err), 0);
    assert_int_equal(checkpoint_list_prune(saves, 1, &err), 0);
    assert_string_equal(listing(), "best global_step1 global_step7 global_step8 latest mine");
    /* Its name when it is deleted is taken: all others go. */
    free(others);
    others = xasprintf("mkdir -p %s/global_step7.tmp/x", saves);
    assert_int_equal(system(others), 0);
    assert_int_equal(checkpoint_save(1, 9, &err), 0);
    assert_int_equal(checkpoint_list_prune(saves, 1, &err), -1);
    path = xasprintf("%s/global_step7: ", saves);
    assert_ptr_equal(strstr(err.text, path), err.text);
    assert_string_equal(listing(), "best global_step1 global_step7 global_step7.tmp "
                                   "global_step8 global_step9 latest mine");
    free(path);
    free(others);
    checkpoint_remove_all();
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(saves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_latest),
        cmocka_unit_test(test_prune),
    };

    if (mkdtemp(saves) == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, remove_dir);
}
