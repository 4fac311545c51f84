/* test_checkpoint.c - any world reads what any other wrote; what is damaged is named; and
 * whoever is killed while writing leaves one that loads
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "report/crc32c.h"
#include "train/checkpoint.h"
#include "train/checkpoint_list.h"
#include "train/writer.h"
#include "unit/trainer/train/checkpoint_fixture.h"
#include "xalloc.h"

#define KILLS 50

static void test_crc32c(void **state)
{
    const char text[] = "The quick brown fox jumps over the lazy dog";
    size_t     cut;

    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
    for (cut = 0; cut < sizeof text; cut++)
        assert_int_equal(crc32c(crc32c(0, text, cut), text + cut, sizeof text - cut),
                         crc32c(0, text, sizeof text));
}

static void test_worlds(void **state)
{
    static const int worlds[] = { 1, 2, 3, 4, 7 };
    struct error     err;
    int              from, to;

    (void)state;
    for (from = 0; from < 5; from++) {
        if (checkpoint_save(worlds[from], 10 + from, &err) < 0)
            fail_msg("%s", err.text);
        for (to = 0; to < 5; to++)
            if (checkpoint_load(worlds[to], 10 + from, &err) < 0)
                fail_msg("%s", err.text);
    }
    checkpoint_remove_all();
}

static void test_latest(void **state)
{
    struct error err;
    bool         is_none;
    char        *tag, *path = xasprintf("%s/latest", saves);

    (void)state;
    assert_null(checkpoint_latest(saves, &is_none, &err));
    assert_true(is_none);
    assert_int_equal(checkpoint_save(2, 5, &err), 0);
    assert_int_equal(checkpoint_save(1, 6, &err), 0);
    tag = checkpoint_latest(saves, &is_none, &err);
    assert_string_equal(tag, "global_step6");
    free(tag);
    assert_int_equal(checkpoint_load(1, 5, &err), 0);
    /* Once more under the same name, and then nothing but these is there. */
    assert_int_equal(checkpoint_save(3, 6, &err), 0);
    assert_int_equal(checkpoint_load(2, 6, &err), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_null(checkpoint_latest(saves, &is_none, &err));
    assert_false(is_none);
    assert_non_null(strstr(err.text, "latest: '' cannot name a checkpoint"));
    free(path);
    checkpoint_remove_all();
}

static void test_names(void **state)
{
    static const char *const bad[] = { "", ".", "..", "a/b", "latest", "best", "x.tmp",
                                       "a b", "a\nb" };
    struct error             err;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(checkpoint_begin(saves, bad[i], &err), -1);
        assert_null(checkpoint_open(saves, bad[i], TOTAL, MODEL, &err));
    }
}

/* What a crash has left is removed, and nothing else. */
static void test_leftovers(void **state)
{
    char *command = xasprintf("cd %s && mkdir global_step1.tmp keep.tmp && touch "
                              "global_step1.tmp/shard-00000 keep.tmp/mine latest.tmp", saves);
    char *gone = xasprintf("%s/global_step1.tmp", saves);
    char *kept = xasprintf("%s/keep.tmp/mine", saves);
    struct error err;

    (void)state;
    assert_int_equal(system(command), 0);
    assert_int_equal(checkpoint_save(2, 2, &err), 0);
    assert_int_equal(access(gone, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    free(command);
    free(gone);
    free(kept);
    checkpoint_remove_all();
}

/* ---- damage ---- */

static char *bytes;
static off_t bytes_size;

static char *victim_path(void)
{
    return xasprintf("%s/global_step3/shard-00001", saves);
}

static void keep_victim(void)
{
    char       *path = victim_path();
    int         fd = open(path, O_RDONLY);
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    bytes_size = status.st_size;
    bytes = xmalloc((size_t)bytes_size);
    assert_int_equal(read(fd, bytes, (size_t)bytes_size), bytes_size);
    close(fd);
    free(path);
}

static void write_victim(const void *with, size_t size)
{
    char *path = victim_path();
    int   fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    assert_int_equal(write(fd, with, size), size);
    close(fd);
    free(path);
}

static void expect_refused(const char *why)
{
    struct error err;

    assert_int_equal(checkpoint_load(2, 3, &err), -1);
    if (strstr(err.text, "global_step3/shard-00001") == NULL || strstr(err.text, why) == NULL)
        fail_msg("expected '%s', got '%s'", why, err.text);
}

static void test_damage(void **state)
{
    static const struct { off_t size; const char *why; } cuts[] = {
        { 0, "or incomplete" }, { 7, "or incomplete" }, { 30, "invalid sizes" },
        { 100, "bytes, but" }, { 1000000, "bytes, but" },
    };
    struct error err;
    size_t       i;
    off_t        at;

    (void)state;
    assert_int_equal(checkpoint_save(3, 3, &err), 0);
    keep_victim();
    for (i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        write_victim(bytes, (size_t)cuts[i].size);
        expect_refused(cuts[i].why);
    }
    /* Any bit of what is in front, and some of the data. */
    for (at = 0; at < bytes_size; at += at < 400 ? 1 : 100003) {
        bytes[at] ^= 4;
        write_victim(bytes, (size_t)bytes_size);
        expect_refused("");
        bytes[at] ^= 4;
    }
    write_victim(bytes, (size_t)bytes_size);
    assert_int_equal(checkpoint_load(2, 3, &err), 0);
    free(bytes);
    checkpoint_remove_all();
}

static void test_foreign(void **state)
{
    struct error err;
    char        *from, *to = victim_path();

    (void)state;
    assert_int_equal(checkpoint_save(3, 3, &err), 0);
    assert_int_equal(checkpoint_save(3, 4, &err), 0);
    assert_null(checkpoint_open(saves, "global_step3", TOTAL, MODEL + 1, &err));
    assert_non_null(strstr(err.text, "global_step3: this checkpoint belongs to another model"));
    from = xasprintf("%s/global_step4/shard-00001", saves);
    assert_int_equal(rename(from, to), 0);
    expect_refused("belong to different checkpoints");
    free(from);
    from = xasprintf("%s/global_step3/shard-00002", saves);
    assert_int_equal(rename(from, to), 0);
    expect_refused("belong to different checkpoints");
    assert_int_equal(unlink(to), 0);
    expect_refused("No such file");
    write_victim("#!/bin/sh\n", 10);
    expect_refused("not a shard");
    free(from);
    free(to);
    checkpoint_remove_all();
}

/* Shards that do not make up the model: one rank has written what another one has. */
static void test_cover(void **state)
{
    struct shard_info info = { .total = TOTAL, .model = MODEL, .ranks = 2, .note = "" };
    struct share      share;
    struct error      err;

    (void)state;
    assert_int_equal(checkpoint_begin(saves, "twice", &err), 0);
    for (info.rank = 0; info.rank < 2; info.rank++) {
        share = share_new(0, 2, 0, 1);
        assert_int_equal(checkpoint_write(saves, "twice", &info, share.piece, share.count, &err),
                         0);
        share_clear(&share);
    }
    assert_int_equal(checkpoint_commit(saves, "twice", 3, false, &err), -1);
    assert_non_null(strstr(err.text, "shard-00002: No such file"));
    assert_int_equal(checkpoint_commit(saves, "twice", 2, false, &err), 0);
    assert_null(checkpoint_open(saves, "twice", TOTAL, MODEL, &err));
    assert_non_null(strstr(err.text, "do not cover the model"));
    checkpoint_remove_all();
}

/* ---- kill ---- */

typedef int save_fn(int ranks, int step, struct error *err);

/* Saves for ever, sometimes under a name that is there, and says which step is done. */
static void save_for_ever(int out, int step, save_fn *save_one)
{
    struct error err;

    for (;; step++) {
        if (save_one(2, step / 2, &err) < 0)
            _exit(1);
        if (write(out, &step, sizeof step) != sizeof step)
            _exit(1);
    }
}

/* Start it, kill it at some moment, and return the last step that it said was done, or
 * done. */
static int run_and_kill(int done, int64_t after_ns, save_fn *save_one)
{
    struct timespec pause = { .tv_sec = after_ns / NS_PER_S, .tv_nsec = after_ns % NS_PER_S };
    int             ends[2], status;
    pid_t           child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        save_for_ever(ends[1], done + 1, save_one);
    close(ends[1]);
    nanosleep(&pause, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], &done, sizeof done) == sizeof done)
        ;
    close(ends[0]);
    return done;
}

/* Each directory that looks complete is, and there are at most so many. */
static void load_all(size_t most)
{
    struct checkpoint_list list;
    struct error           err;
    size_t                 i;

    checkpoint_list_read(&list, saves);
    assert_in_range(list.count, 1, most);
    for (i = 0; i < list.count; i++)
        if (checkpoint_load(1, (int)list.item[i].step, &err) < 0)
            fail_msg("%s", err.text);
    checkpoint_list_clear(&list);
}

/* most: 0, or the largest number of checkpoints that a crash may leave. */
static void kill_often(save_fn *save_one, size_t most)
{
    unsigned      seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    const int64_t start_ns = clock_now_ns();
    int64_t       save_ns;
    struct error  err;
    bool          is_none;
    char         *tag;
    int           i, done = -1, step;

    print_message("# seed %u\n", seed);
    srand(seed);
    assert_int_equal(save_one(2, 1000, &err), 0);
    save_ns = clock_now_ns() - start_ns;
    checkpoint_remove_all();
    for (i = 0; i < KILLS; i++) {
        done = run_and_kill(done, (int64_t)((double)rand() / RAND_MAX * 3 * (double)save_ns),
                            save_one);
        if (done <= 0 && i % 10 == 9)
            save_ns *= 2; /* this machine has become slower since */
        tag = checkpoint_latest(saves, &is_none, &err);
        if (tag == NULL && is_none && done < 0)
            continue; /* killed before the first was there */
        if (tag == NULL || sscanf(tag, "global_step%d", &step) != 1)
            fail_msg("kill %d: %s", i, err.text);
        free(tag);
        assert_true(step >= done / 2);
        if (checkpoint_load(3, step, &err) < 0)
            fail_msg("kill %d: %s", i, err.text);
        if (most > 0)
            load_all(most);
        done = step * 2 > done ? step * 2 : done;
    }
    assert_true(done > 0);
    checkpoint_remove_all();
}

static void test_kill(void **state)
{
    (void)state;
    kill_often(checkpoint_save, 0);
}

static void test_kill_behind(void **state)
{
    (void)state;
    kill_often(checkpoint_save_behind, 0);
}

static int save_and_prune(int ranks, int step, struct error *err)
{
    return checkpoint_save(ranks, step, err) < 0 ? -1 : checkpoint_list_prune(saves, 1, err);
}

static void test_kill_pruning(void **state)
{
    (void)state;
    kill_often(save_and_prune, 2);
}

/* A failure of the thread is the one who waits told, by the file's name. */
static void test_behind(void **state)
{
    struct shard_info info = { .total = TOTAL, .model = MODEL, .ranks = 1, .note = "" };
    struct share      share = share_new(0, 1, 0, 1);
    struct error      err;
    struct writer    *writer = writer_new(saves, "never_begun", &info, share.piece, share.count,
                                          true, &err);

    (void)state;
    share_clear(&share);
    assert_int_equal(writer_write(writer, &err), 0);
    assert_int_equal(writer_wait(writer, &err), -1);
    assert_non_null(strstr(err.text, "never_begun.tmp/shard-00000"));
    writer_free(writer);
    assert_int_equal(checkpoint_save_behind(RANKS_BEHIND, 7, &err), 0);
    assert_int_equal(checkpoint_load(2, 7, &err), 0);
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
        cmocka_unit_test(test_crc32c),    cmocka_unit_test(test_worlds),
        cmocka_unit_test(test_latest),    cmocka_unit_test(test_names),
        cmocka_unit_test(test_leftovers), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_foreign),   cmocka_unit_test(test_cover),
        cmocka_unit_test(test_behind),    cmocka_unit_test(test_kill),
        cmocka_unit_test(test_kill_behind),
        cmocka_unit_test(test_kill_pruning),
    };

    if (mkdtemp(saves) == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, remove_dir);
}
