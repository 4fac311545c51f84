/* test_shards.c - what ranks say about shards, and what the run directory keeps of it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "log.h"
#include "shards/shards.h"
#include "shards/state.h"

#define OPEN "cmd=shard_open name=a size=100 shard=10"

struct fixture {
    char           path[64];
    int            dir_fd;
    struct shards *shards;
    char           answer[SHARDS_ANSWER_SIZE];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    snprintf(f->path, sizeof f->path, "/tmp/test_shards.XXXXXX");
    assert_non_null(mkdtemp(f->path));
    f->dir_fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->shards = shards_new(4);
    assert_int_equal(shards_keep(f->shards, f->dir_fd), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    shards_free(f->shards);
    unlinkat(f->dir_fd, SHARDS_FILE, 0);
    close(f->dir_fd);
    rmdir(f->path);
    free(f);
    return 0;
}

static const char *ask(struct fixture *f, int rank, const char *line)
{
    size_t size = shards_ask(f->shards, rank, line, strlen(line), 0, f->answer);

    assert_true(size < SHARDS_ANSWER_SIZE && f->answer[size - 1] == '\n');
    f->answer[size - 1] = '\0';
    return f->answer + strlen("cmd=shard_answer ");
}

/* The launcher has ended; another run goes on. */
static void resume(struct fixture *f)
{
    struct error err;

    shards_free(f->shards);
    f->shards = shards_new(4);
    assert_int_equal(shards_resume(f->shards, f->dir_fd, &err), 0);
    assert_int_equal(shards_keep(f->shards, f->dir_fd), 0);
}

static void test_a_conversation(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(ask(f, 0, OPEN), "rc=0 all=10 given=0 doing=0 again=0 done=0 dropped=0 "
                                         "repeated=0 expired=0 twice=0 ms=50");
    ask(f, 1, OPEN " epochs=1 lease=10m"); /* the same */
    assert_string_equal(ask(f, 0, "cmd=shard_get name=a tag=7.1"),
                        "tag=7.1 rc=0 state=shard id=0 start=0 end=10 epoch=0 tries=0");
    assert_string_equal(ask(f, 0, "cmd=shard_renew name=a"), "rc=0");
    assert_string_equal(ask(f, 0, "cmd=shard_renew name=a id=0"), "rc=0");
    assert_string_equal(ask(f, 1, "cmd=shard_done name=a id=0"),
                        "rc=1 msg=this_rank_does_not_have_shard_0_any_more");
    assert_string_equal(ask(f, 0, "cmd=shard_fail name=a id=0"), "rc=0");
    assert_string_equal(ask(f, 1, "cmd=shard_get name=a"),
                        "rc=0 state=shard id=0 start=0 end=10 epoch=0 tries=1");
    assert_string_equal(ask(f, 1, "cmd=shard_done name=a id=0"), "rc=0");
    while (strstr(ask(f, 1, "cmd=shard_get name=a"), "state=shard") != NULL)
        ;
    assert_string_equal(f->answer, "cmd=shard_answer rc=0 state=wait ms=50");
    shards_rank_gone(f->shards, 1, false);
    assert_string_equal(ask(f, 0, "cmd=shard_state name=a"),
                        "rc=0 all=10 given=10 doing=0 again=9 done=1 dropped=0 repeated=1 "
                        "expired=0 twice=1 ms=50");
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *line, *why;
    } bad[] = {
        { "", "unknown_request_''" },
        { "cmd=shard_", "unknown_request_'cmd=shard_'" },
        { "name=a cmd=shard_get", "unknown_request_'name=a'" },
        { "cmd=shard_get", "name=_is_missing" },
        { "cmd=shard_get name=b", "dataset_b_is_not_open" },
        { "cmd=shard_get name=", "name_must_be_1_to_64_letters" },
        { "cmd=shard_get name=a/b", "name_must_be" },
        { "cmd=shard_get name=a name=a", "name=_is_given_twice" },
        { "cmd=shard_get name=a id=1", "id=_is_not_allowed_in_shard_get" },
        { "cmd=shard_get name=a x", "'x'_is_not_KEY=VALUE" },
        { "cmd=shard_get name=a tag=\x80", "tag_is_not_printable" },
        { "cmd=shard_done name=a", "id=_is_missing" },
        { "cmd=shard_done name=a id=-1", "id:_'-1'_is_not_a_number" },
        { "cmd=shard_done name=a id=1x", "id:_'1x'_is_not_a_number" },
        { "cmd=shard_done name=a id=99999999999999999999", "id:_'99999999999999999999'" },
        { "cmd=shard_done name=a id=3", "shard_3_of_a_was_given_to_no_rank" },
        { "cmd=shard_open name=c size=1", "shard=_is_missing" },
        { "cmd=shard_open name=c size=0 shard=1", "size:_'0'" },
        { "cmd=shard_open name=c size=1 shard=0", "shard:_'0'" },
        { "cmd=shard_open name=c size=1 shard=1 epochs=-1", "epochs:_'-1'" },
        { "cmd=shard_open name=c size=9 shard=1 epochs=4611686018427387903", "epochs_must_be" },
        { "cmd=shard_open name=c size=1 shard=1 shuffle=2", "shuffle:_'2'" },
        { "cmd=shard_open name=c size=1 shard=1 lease=0", "lease:_'0'" },
        { "cmd=shard_open name=c size=1 shard=1 lease=nan", "lease:_'nan'" },
        { "cmd=shard_open name=c size=1 shard=1 retries=1e3", "retries:_'1e3'" },
        { "cmd=shard_open name=a size=100 shard=11", "dataset_a_is_open_with_other_values" },
        { "cmd=shard_open name=a size=100 shard=10 lease=5", "dataset_a_is_open_with_other" },
    };
    struct fixture *f = *state;
    char            line[REQUEST_LINE_MAX + 2], tag[100];
    size_t          i;

    ask(f, 0, OPEN);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        ask(f, 0, bad[i].line);
        if (strstr(f->answer, " rc=-1 msg=") == NULL || strstr(f->answer, bad[i].why) == NULL)
            fail_msg("'%s' got '%s', without '%s'", bad[i].line, f->answer, bad[i].why);
    }
    assert_string_equal(ask(f, 0, "cmd=shard_later name=a tag=5.6 more"), /* of a newer client */
                        "tag=5.6 rc=-1 msg=unknown_request_'cmd=shard_later'");
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    assert_non_null(strstr(ask(f, 0, line), "longer_than_4096"));
    memset(tag, 't', 65);
    tag[65] = '\0';
    snprintf(line, sizeof line, "cmd=shard_get name=a tag=%s", tag);
    assert_non_null(strstr(ask(f, 0, line), "tag_is_longer"));
    f->answer[shards_ask(f->shards, 0, "cmd\0", 4, 0, f->answer)] = '\0';
    assert_non_null(strstr(f->answer, "NUL"));
}

static void test_a_run_has_a_limit_of_datasets(void **state)
{
    struct fixture *f = *state;
    char            line[100];
    int             i;

    for (i = 0; i < SHARDS_SETS_MAX; i++) {
        snprintf(line, sizeof line, "cmd=shard_open name=set%d size=9 shard=1", i);
        assert_non_null(strstr(ask(f, 0, line), "rc=0"));
    }
    assert_non_null(strstr(ask(f, 0, OPEN), "rc=-1 msg=this_run_has_16_datasets"));
    assert_int_equal(shards_sets(f->shards), SHARDS_SETS_MAX);
    assert_string_equal(shards_name(f->shards, 3), "set3");
}

static void test_the_longest_answer_fits(void **state)
{
    struct fixture *f = *state;
    char            name[REQUEST_NAME_MAX + 1], tag[REQUEST_TAG_MAX + 1], line[1024];

    memset(name, 'n', sizeof name - 1);
    memset(tag, 't', sizeof tag - 1);
    name[sizeof name - 1] = tag[sizeof tag - 1] = '\0';
    snprintf(line, sizeof line, "cmd=shard_open name=%s tag=%s size=4611686018427387903 shard=1 "
                                "retries=1000000", name, tag);
    assert_non_null(strstr(ask(f, 0, line), "all=4611686018427387903"));
    snprintf(line, sizeof line, "cmd=shard_open name=%s tag=%s size=1 shard=1", name, tag);
    assert_non_null(strstr(ask(f, 0, line), "rc=-1"));
    assert_true(strlen(f->answer) < SHARDS_ANSWER_SIZE - 150); /* what counts may still grow */
}

static void test_the_next_run_goes_on(void **state)
{
    struct fixture *f = *state;
    int             i;

    ask(f, 0, OPEN " epochs=2 seed=9 shuffle=1 retries=1");
    for (i = 0; i < 6; i++)
        ask(f, 0, "cmd=shard_get name=a");
    ask(f, 0, "cmd=shard_done name=a id=4");
    ask(f, 0, "cmd=shard_done name=a id=1");
    ask(f, 0, "cmd=shard_fail name=a id=2");
    ask(f, 1, "cmd=shard_get name=a"); /* 2 again */
    ask(f, 1, "cmd=shard_fail name=a id=2");
    ask(f, 0, "cmd=shard_fail name=a id=3");
    resume(f);

    assert_non_null(strstr(ask(f, 0, "cmd=shard_get name=a"), "dataset_a_is_not_open"));
    assert_non_null(strstr(ask(f, 0, OPEN), "had_another_size,_shard,_seed_or_shuffle"));
    /* 5 was given out, but no line says so: that nobody has done it is the same to the next run. */
    assert_non_null(strstr(ask(f, 0, OPEN " epochs=3 seed=9 shuffle=1 lease=5 retries=1"),
                           "all=30 given=5 doing=0 again=2 done=2 dropped=1 "));
    assert_non_null(strstr(ask(f, 0, "cmd=shard_get name=a"), "id=0 "));
    assert_non_null(strstr(ask(f, 0, "cmd=shard_get name=a"), "id=3 "));
    assert_non_null(strstr(f->answer, "tries=1"));
    assert_non_null(strstr(ask(f, 0, "cmd=shard_get name=a"), "id=5 "));
    ask(f, 0, "cmd=shard_done name=a id=5");
    resume(f); /* what was written at once is read as well as what came line by line */
    assert_non_null(strstr(ask(f, 0, OPEN " epochs=3 seed=9 shuffle=1"),
                           "all=30 given=6 doing=0 again=2 done=3 dropped=1 "));
}

/* Else what the second run keeps would be refused by the third as damaged. */
static void test_epochs_that_have_begun_stay(void **state)
{
    struct fixture *f = *state;
    char            line[80];
    int             i;

    ask(f, 0, OPEN " epochs=3");
    for (i = 0; i < 13; i++) {
        ask(f, 0, "cmd=shard_get name=a");
        snprintf(line, sizeof line, "cmd=shard_done name=a id=%d", i);
        assert_string_equal(ask(f, 0, line), "rc=0");
    }
    resume(f);
    assert_non_null(strstr(ask(f, 0, OPEN " epochs=1"),
                           "rc=-1 msg=dataset_a_has_reached_epoch_2_in_"));
    assert_non_null(strstr(ask(f, 0, OPEN " epochs=2"), "rc=0 all=20 given=13 "));
    resume(f);
    assert_non_null(strstr(ask(f, 0, OPEN " epochs=0"), "rc=0 all=0 given=13 "));
}

/* Whatever moment the launcher dies at, each shard is done in one of its runs, and in no two. */
static void test_each_shard_is_done_in_one_run(void **state)
{
    struct fixture *f = *state;
    unsigned char   done[1000] = { 0 };
    long long       held[8];
    int             holds = 0, runs = 0, i;

    srand(4);
    for (;;) {
        ask(f, 0, "cmd=shard_open name=a size=9999 shard=10 shuffle=1");
        if (strstr(ask(f, 0, "cmd=shard_get name=a"), "state=shard") != NULL)
            held[holds++] = atoll(strstr(f->answer, " id=") + 4);
        else if (strstr(f->answer, "state=end") != NULL)
            break;
        if (holds == 8 || strstr(f->answer, "state=wait") != NULL) {
            char line[80];

            i = rand() % holds;
            snprintf(line, sizeof line, "cmd=shard_done name=a id=%lld", held[i]);
            assert_string_equal(ask(f, 0, line), "rc=0");
            done[held[i]]++;
            held[i] = held[--holds];
        }
        if (rand() % 50 == 0) {
            resume(f);
            holds = 0;
            runs++;
        }
    }
    for (i = 0; i < 1000; i++)
        assert_int_equal(done[i], 1);
    assert_true(runs > 10);
}

/* A file of many lines is replaced by a short one. */
static void test_the_file_stays_small(void **state)
{
    struct fixture *f = *state;
    struct stat     about;
    char            line[80];
    int             i;

    ask(f, 0, "cmd=shard_open name=a size=1000000 shard=1 epochs=0");
    for (i = 0; i < 700000; i++) {
        ask(f, 0, "cmd=shard_get name=a");
        snprintf(line, sizeof line, "cmd=shard_done name=a id=%d", i);
        ask(f, 0, line);
    }
    resume(f);
    assert_int_equal(fstatat(f->dir_fd, SHARDS_FILE, &about, 0), 0);
    assert_true(about.st_size < 6 << 20);
    assert_non_null(strstr(ask(f, 0, "cmd=shard_open name=a size=1000000 shard=1 epochs=0"),
                           "done=700000 "));
}

static void test_damaged_files(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "1: not 'muster shards 1'" },
        { "muster shards 2\n", "1: not 'muster shards 1'" },
        { "done 0 1\n", "2: not a line that muster writes" }, /* no dataset */
        { "open name=a size=9\n", "2: shard= is missing" },
        { "open name=a size=9 shard=1\nopen name=a size=9 shard=1\n",
          "3: dataset a is opened twice" },
        { "open name=a size=9 shard=1\ndone 0 9\n", "3: there is no shard 9" },
        { "open name=a size=9 shard=1\nnext 0 10\n", "3: there is no shard 9" },
        { "open name=a size=9 shard=1\nnext 0 9\nnext 0 8\n", "4: there is no shard 7" },
        { "open name=a size=9 shard=1\ndone 1 1\n", "3: not a line" },
        { "open name=a size=9 shard=1\ndone 0 -1\n", "3: not a line" },
        { "open name=a size=9 shard=1\nback 0 1 x\n", "3: not a line" },
        { "open name=a size=9 shard=1\nback 0 1 2147483647\n", "3: not a line" },
        { "open name=a size=9 shard=1\nlost 0 1\n", "3: 'lost' is not a line" },
        { "open name=a size=9 shard=1\n\n", "3: not a line" },
        { "open name=a size=99999999999 shard=1\ndone 0 9999999999\n", "3: more than 1048576" },
    };
    const char  good[] = "muster shards 1\nopen name=a size=9 shard=1\nnext 0 3\ndone 0 4\ndo";
    const char *head = "muster shards 1\n";
    char        text[300];
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct shards *shards = shards_new(1);

        snprintf(text, sizeof text, "%s%s", i < 2 ? "" : head, bad[i].text);
        assert_int_equal(state_parse(shards, text, strlen(text), &err), -1);
        if (strncmp(err.text, bad[i].why, strlen(bad[i].why)) != 0)
            fail_msg("row %zu: '%s', not '%s'", i, err.text, bad[i].why);
        shards_free(shards);
    }
    {
        struct shards *shards = shards_new(1);

        assert_int_equal(state_parse(shards, good, strlen(good), &err), 0);
        assert_int_equal(shards_counts(shards, 0).done, 4);
        assert_int_equal(shards_counts(shards, 0).again, 1);
        shards_free(shards);
    }
}

/* muster may be killed as soon as a rank has started: what an earlier run left is there by then. */
static void test_what_is_left_is_kept_at_once(void **state)
{
    struct fixture *f = *state;
    char            other[] = "/tmp/test_shards.XXXXXX";
    struct shards  *shards = shards_new(1), *third = shards_new(1);
    struct error    err;
    int             dir_fd;

    ask(f, 0, OPEN);
    ask(f, 0, "cmd=shard_get name=a");
    ask(f, 0, "cmd=shard_done name=a id=0");
    resume(f);
    assert_non_null(mkdtemp(other));
    dir_fd = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(shards_resume(shards, f->dir_fd, &err), 0);
    assert_int_equal(shards_keep(shards, dir_fd), 0);
    assert_int_equal(shards_resume(third, dir_fd, &err), 0);
    assert_int_equal(shards_counts(third, 0).done, 1);
    shards_free(third);
    shards_free(shards);
    unlinkat(dir_fd, SHARDS_FILE, 0);
    close(dir_fd);
    rmdir(other);
}

/* The run goes on without it. */
static void test_a_directory_that_is_gone(void **state)
{
    struct fixture *f = *state;
    struct shards  *shards = shards_new(1);
    char            gone[] = "/tmp/test_shards.XXXXXX", line[80];
    int             dir_fd, i;

    assert_non_null(mkdtemp(gone));
    dir_fd = open(gone, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(rmdir(gone), 0);
    shards_free(f->shards);
    f->shards = shards;
    assert_int_equal(shards_keep(shards, dir_fd), 0);
    close(dir_fd);
    assert_non_null(strstr(ask(f, 0, OPEN), "rc=0"));
    for (i = 0; i < 10; i++) {
        assert_non_null(strstr(ask(f, 0, "cmd=shard_get name=a"), "rc=0 state=shard"));
        snprintf(line, sizeof line, "cmd=shard_done name=a id=%d", i);
        assert_string_equal(ask(f, 0, line), "rc=0");
    }
    assert_string_equal(ask(f, 0, "cmd=shard_get name=a"), "rc=0 state=end");
}

static void test_nothing_to_resume(void **state)
{
    struct fixture *f = *state;
    struct shards  *shards = shards_new(1);
    struct error    err;

    assert_int_equal(shards_resume(shards, f->dir_fd, &err), -1);
    assert_non_null(strstr(err.text, "it has read no shards"));
    f->answer[shards_ask(shards, 0, "cmd=shard_get name=a tag=8", 26, 0, f->answer)] = '\0';
    assert_string_equal(f->answer,
                        "cmd=shard_answer tag=8 rc=-1 msg=it_has_read_no_shards\n");
    assert_int_equal(symlinkat("/etc/passwd", f->dir_fd, SHARDS_FILE), 0);
    assert_int_equal(shards_resume(shards, f->dir_fd, &err), -1);
    shards_free(shards);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_conversation),
        TEST(test_what_is_refused),
        TEST(test_a_run_has_a_limit_of_datasets),
        TEST(test_the_longest_answer_fits),
        TEST(test_the_next_run_goes_on),
        TEST(test_epochs_that_have_begun_stay),
        TEST(test_each_shard_is_done_in_one_run),
        TEST(test_the_file_stays_small),
        TEST(test_damaged_files),
        TEST(test_what_is_left_is_kept_at_once),
        TEST(test_a_directory_that_is_gone),
        TEST(test_nothing_to_resume),
    };

    log_init("test_shards", LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
