/* test_pmi.c - the node's side of PMI-1, line by line
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

#include "rank/pmi.h"

#define RANKS 3

struct fixture {
    struct pmi      *pmi;
    struct evbuffer *in[RANKS], *out[RANKS];
    json_t          *puts;  /* what went up, all parts */
    int              parts;
    bool             is_complete;
    int              aborted, abort_code;
    int              asked; /* about shards */
    char             question[100];
    char             stepped[100];
    struct error     err;
};

static void barrier_cb(json_t *puts, bool more, void *arg)
{
    struct fixture *f = arg;
    char           *text = json_dumps(puts, JSON_COMPACT);

    assert_true(strlen(text) < 1 << 20); /* it must fit a frame */
    free(text);
    json_object_update(f->puts, puts);
    json_decref(puts);
    f->parts++;
    f->is_complete = !more;
}

static void abort_cb(int local, int code, void *arg)
{
    struct fixture *f = arg;

    f->aborted = local;
    f->abort_code = code;
}

static void shard_cb(int local, const char *line, void *arg)
{
    struct fixture *f = arg;

    (void)local;
    f->asked++;
    snprintf(f->question, sizeof f->question, "%s", line);
}

static void step_cb(int local, int64_t step, int64_t last, void *arg)
{
    struct fixture *f = arg;

    snprintf(f->stepped, sizeof f->stepped, "%d: %lld of %lld", local, (long long)step,
             (long long)last);
}

static int setup(void **state)
{
    static const struct pmi_ops ops = { barrier_cb, abort_cb, shard_cb, step_cb };
    struct fixture *f = calloc(1, sizeof *f);
    int             i;

    f->pmi = pmi_new("kvs_1", "(vector,(0,2,3))", 6, RANKS, &ops, f);
    for (i = 0; i < RANKS; i++) {
        f->in[i] = evbuffer_new();
        f->out[i] = evbuffer_new();
    }
    f->puts = json_object();
    f->aborted = -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int             i;

    pmi_free(f->pmi);
    for (i = 0; i < RANKS; i++) {
        evbuffer_free(f->in[i]);
        evbuffer_free(f->out[i]);
    }
    json_decref(f->puts);
    free(f);
    return 0;
}

static int say(struct fixture *f, int rank, const char *bytes)
{
    evbuffer_add(f->in[rank], bytes, strlen(bytes));
    return pmi_input(f->pmi, rank, f->in[rank], f->out[rank], &f->err);
}

/* Everything that was answered since the last time; "" for nothing. */
static const char *heard(struct fixture *f, int rank)
{
    static char text[8192];
    int         size = evbuffer_remove(f->out[rank], text, sizeof text - 1);

    text[size > 0 ? size : 0] = '\0';
    return text;
}

static void expect(struct fixture *f, int rank, const char *request, const char *answer)
{
    assert_int_equal(say(f, rank, request), 0);
    assert_string_equal(heard(f, rank), answer);
}

static void release_all(struct fixture *f, json_t *puts)
{
    json_t *body = json_pack("{s:o}", "put", puts);
    int     i;

    assert_int_equal(pmi_union(f->pmi, body, &f->err), 1);
    json_decref(body);
    for (i = 0; i < RANKS; i++)
        pmi_release(f->pmi, i, f->out[i]);
}

static void test_the_exchange_of_mpich(void **state)
{
    struct fixture *f = *state;

    expect(f, 0, "cmd=init pmi_version=1 pmi_subversion=1\n",
           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    expect(f, 0, "cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    expect(f, 0, "cmd=get_appnum\n", "cmd=appnum appnum=0\n");
    expect(f, 0, "cmd=get_universe_size\n", "cmd=universe_size size=6\n");
    expect(f, 0, "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n");
    expect(f, 0, "cmd=get kvsname=kvs_1 key=PMI_process_mapping\n",
           "cmd=get_result rc=0 msg=success value=(vector,(0,2,3))\n");
    expect(f, 0, "cmd=finalize\n", "cmd=finalize_ack\n");
}

static void test_lines_in_pieces_and_together(void **state)
{
    struct fixture *f = *state;

    expect(f, 0, "cmd=get_ap", "");
    expect(f, 0, "pnum", "");
    expect(f, 0, "\ncmd=get_appnum\ncmd=get_", "cmd=appnum appnum=0\ncmd=appnum appnum=0\n");
    expect(f, 0, "appnum\n", "cmd=appnum appnum=0\n");
}

static void test_values_keep_their_equals_signs(void **state)
{
    struct fixture *f = *state;

    expect(f, 0, "cmd=put kvsname=kvs_1 key=a value=b=c==d\n", "cmd=put_result rc=0 msg=success\n");
    expect(f, 1, "cmd=get kvsname=kvs_1 key=a\n", "cmd=get_result rc=0 msg=success value=b=c==d\n");
    expect(f, 1, "cmd=get kvsname=kvs_1 key=b\n",
           "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static void test_the_barrier_waits_for_all_and_brings_the_union(void **state)
{
    struct fixture *f = *state;

    expect(f, 0, "cmd=put kvsname=kvs_1 key=mine value=1\n", "cmd=put_result rc=0 msg=success\n");
    expect(f, 0, "cmd=barrier_in\n", "");
    expect(f, 2, "cmd=barrier_in\n", "");
    assert_int_equal(f->parts, 0);
    expect(f, 1, "cmd=barrier_in\n", "");
    assert_int_equal(f->parts, 1);
    assert_true(f->is_complete);
    assert_int_equal(json_object_size(f->puts), 1); /* not the mapping: all nodes have it */
    assert_string_equal(json_string_value(json_object_get(f->puts, "mine")), "1");

    release_all(f, json_pack("{s:s}", "theirs", "2"));
    assert_string_equal(heard(f, 0), "cmd=barrier_out\n");
    assert_string_equal(heard(f, 1), "cmd=barrier_out\n");
    assert_string_equal(heard(f, 2), "cmd=barrier_out\n");
    expect(f, 2, "cmd=get kvsname=kvs_1 key=theirs\n",
           "cmd=get_result rc=0 msg=success value=2\n");
}

static void test_a_second_barrier_sends_only_new_puts(void **state)
{
    struct fixture *f = *state;
    int             round, i;

    for (round = 0; round < 2; round++) {
        json_object_clear(f->puts);
        expect(f, 0, round == 0 ? "cmd=put kvsname=kvs_1 key=a value=1\n"
                                : "cmd=put kvsname=kvs_1 key=b value=2\n",
               "cmd=put_result rc=0 msg=success\n");
        for (i = 0; i < RANKS; i++)
            expect(f, i, "cmd=barrier_in\n", "");
        assert_int_equal(json_object_size(f->puts), 1);
        assert_non_null(json_object_get(f->puts, round == 0 ? "a" : "b"));
        release_all(f, json_object());
        for (i = 0; i < RANKS; i++)
            assert_string_equal(heard(f, i), "cmd=barrier_out\n");
    }
}

static void test_large_barriers_go_in_parts(void **state)
{
    struct fixture *f = *state;
    char            value[PMI_VALUE_MAX + 1], line[2048];
    int             i;

    memset(value, '"', PMI_VALUE_MAX); /* which JSON doubles */
    value[PMI_VALUE_MAX] = '\0';
    for (i = 0; i < 2000; i++) {
        snprintf(line, sizeof line, "cmd=put kvsname=kvs_1 key=k%d value=%s\n", i, value);
        expect(f, i % RANKS, line, "cmd=put_result rc=0 msg=success\n");
    }
    for (i = 0; i < RANKS; i++)
        expect(f, i, "cmd=barrier_in\n", "");
    assert_true(f->parts > 1 && f->is_complete);
    assert_int_equal(json_object_size(f->puts), 2000);
}

static void test_a_union_may_come_in_parts(void **state)
{
    struct fixture *f = *state;
    json_t         *part = json_pack("{s:{s:s}, s:b}", "put", "a", "1", "more", 1);

    expect(f, 0, "cmd=barrier_in\n", "");
    assert_int_equal(pmi_union(f->pmi, part, &f->err), 0);
    json_decref(part);
    release_all(f, json_pack("{s:s}", "b", "2"));
    assert_string_equal(heard(f, 0), "cmd=barrier_out\n");
    expect(f, 0, "cmd=get kvsname=kvs_1 key=a\n", "cmd=get_result rc=0 msg=success value=1\n");
}

static void test_abort_is_passed_on(void **state)
{
    struct fixture *f = *state;

    expect(f, 2, "cmd=abort exitcode=13\n", "");
    assert_int_equal(f->aborted, 2);
    assert_int_equal(f->abort_code, 13);
    f->aborted = -1;
    expect(f, 2, "cmd=abort exitcode=14\ncmd=abort exitcode=15\n", "");
    assert_int_equal(f->aborted, -1);
    expect(f, 1, "cmd=abort exitcode=14\n", "");
    assert_int_equal(f->aborted, 1);
}

static void test_requests_about_shards_go_to_the_launcher(void **state)
{
    struct fixture *f = *state;
    int             i;

    expect(f, 1, "cmd=shard_get name=a tag=1\ncmd=get_appnum\n", "cmd=appnum appnum=0\n");
    assert_string_equal(f->question, "cmd=shard_get name=a tag=1");
    pmi_shard_answer(f->pmi, 0, "no\n", 3, f->out[0]); /* it has not asked */
    assert_string_equal(heard(f, 0), "");
    pmi_shard_answer(f->pmi, 1, "yes\n", 4, f->out[1]);
    assert_string_equal(heard(f, 1), "yes\n");
    assert_false(pmi_is_unfinished(f->pmi, 1));
    assert_false(pmi_was_asked(f->pmi));

    /* With many that wait, the next ones stay where they are until there is an answer. */
    for (i = 0; i < 100; i++)
        assert_int_equal(say(f, 1, "cmd=shard_get name=a\n"), 0);
    assert_int_equal(f->asked, 1 + PMI_SHARDS_WAITING_MAX);
    pmi_shard_answer(f->pmi, 1, "yes\n", 4, f->out[1]);
    expect(f, 1, "", "yes\n");
    assert_int_equal(f->asked, 2 + PMI_SHARDS_WAITING_MAX);
}

/* They have no answer, and make no MPI program of a rank. */
static void test_steps(void **state)
{
    struct fixture *f = *state;

    expect(f, 1, "cmd=step step=12 last=100\ncmd=get_appnum\n", "cmd=appnum appnum=0\n");
    assert_string_equal(f->stepped, "1: 12 of 100");
    expect(f, 0, "cmd=step step=9223372036854775807\n", "");
    assert_string_equal(f->stepped, "0: 9223372036854775807 of -1");
    assert_false(pmi_was_asked(f->pmi));
    assert_int_equal(say(f, 0, "cmd=step\n"), -1);
    assert_int_equal(say(f, 0, "cmd=step step=-1\n"), -1);
    assert_int_equal(say(f, 0, "cmd=step step=1 last=x\n"), -1);
    assert_int_equal(say(f, 0, "cmd=step step=9223372036854775808\n"), -1);
    assert_string_equal(f->stepped, "0: 9223372036854775807 of -1");
}

static void test_unfinished(void **state)
{
    struct fixture *f = *state;

    assert_false(pmi_is_unfinished(f->pmi, 0)); /* never spoke: owes nothing */
    say(f, 0, "cmd=init pmi_version=1 pmi_subversion=1\n");
    assert_true(pmi_is_unfinished(f->pmi, 0));
    say(f, 0, "cmd=finalize\n");
    assert_false(pmi_is_unfinished(f->pmi, 0));
}

static void test_spawn_and_names_are_refused(void **state)
{
    struct fixture *f = *state;

    expect(f, 0, "mcmd=spawn\nnprocs=1\nexecname=cmd=abort\nendcmd\n", "cmd=spawn_result rc=-1\n");
    assert_int_equal(f->aborted, -1);
    expect(f, 0, "cmd=publish_name service=a port=b\n",
           "cmd=publish_result rc=-1 msg=not_offered\n");
    expect(f, 0, "cmd=lookup_name service=a\n", "cmd=lookup_result rc=-1 msg=not_offered\n");
    expect(f, 0, "cmd=unpublish_name service=a\n", "cmd=unpublish_result rc=-1 msg=not_offered\n");
}

static void test_version_2_is_refused(void **state)
{
    expect(*state, 0, "cmd=init pmi_version=2 pmi_subversion=0\n",
           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
}

static void test_bounds(void **state)
{
    struct fixture *f = *state;
    char            line[2 * PMI_LINE_MAX];
    char            value[PMI_VALUE_MAX + 2];

    memset(value, 'v', sizeof value);
    value[PMI_VALUE_MAX] = '\0';
    snprintf(line, sizeof line, "cmd=put kvsname=kvs_1 key=a value=%s\n", value);
    expect(f, 0, line, "cmd=put_result rc=0 msg=success\n");
    value[PMI_VALUE_MAX] = 'v';
    value[PMI_VALUE_MAX + 1] = '\0';
    snprintf(line, sizeof line, "cmd=put kvsname=kvs_1 key=a value=%s\n", value);
    expect(f, 0, line, "cmd=put_result rc=-1 msg=key_or_value_too_long_or_not_ascii\n");
    expect(f, 0, "cmd=put kvsname=kvs_1 key=a value=\xff\n",
           "cmd=put_result rc=-1 msg=key_or_value_too_long_or_not_ascii\n");
    expect(f, 0, "cmd=put kvsname=other key=a value=b\n",
           "cmd=put_result rc=-1 msg=unknown_kvsname\n");

    memset(line, 'x', sizeof line - 1); /* never an end of line */
    line[sizeof line - 1] = '\0';
    assert_int_equal(say(f, 1, line), -1);
    assert_non_null(strstr(f->err.text, "longer than 4096"));
}

static void test_a_full_store_says_so(void **state)
{
    struct fixture *f = *state;
    char            value[PMI_VALUE_MAX + 1], line[2048];
    int             i, refused = 0;

    memset(value, 'v', PMI_VALUE_MAX);
    value[PMI_VALUE_MAX] = '\0';
    for (i = 0; i < 70000 && !refused; i++) {
        snprintf(line, sizeof line, "cmd=put kvsname=kvs_1 key=k%d value=%s\n", i, value);
        assert_int_equal(say(f, 0, line), 0);
        refused = strstr(heard(f, 0), "rc=-1 msg=store_is_full") != NULL;
    }
    assert_true(refused);
    assert_in_range(i, 50000, 66000);
}

static void test_what_is_not_pmi(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(say(f, 0, "hello\n"), -1);
    assert_int_equal(say(f, 1, "cmd=put kvsname=kvs_1 key=a\n"), -1);
    assert_int_equal(say(f, 2, "cmd=barrier_in\ncmd=barrier_in\n"), -1);
}

static void test_a_bad_union(void **state)
{
    struct fixture *f = *state;
    const char     *bad[] = { "{}", "{\"put\":[]}", "{\"put\":{\"a\":1}}",
                              "{\"put\":{\"a b\":\"c\"}}", "{\"put\":{\"a\":\"b\\n\"}}" };
    size_t          i;

    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *body = json_loads(bad[i], 0, NULL);

        assert_int_equal(pmi_union(f->pmi, body, &f->err), -1);
        json_decref(body);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_exchange_of_mpich),
        TEST(test_lines_in_pieces_and_together),
        TEST(test_values_keep_their_equals_signs),
        TEST(test_the_barrier_waits_for_all_and_brings_the_union),
        TEST(test_a_second_barrier_sends_only_new_puts),
        TEST(test_large_barriers_go_in_parts),
        TEST(test_a_union_may_come_in_parts),
        TEST(test_abort_is_passed_on),
        TEST(test_requests_about_shards_go_to_the_launcher),
        TEST(test_steps),
        TEST(test_unfinished),
        TEST(test_spawn_and_names_are_refused),
        TEST(test_version_2_is_refused),
        TEST(test_bounds),
        TEST(test_a_full_store_says_so),
        TEST(test_what_is_not_pmi),
        TEST(test_a_bad_union),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
