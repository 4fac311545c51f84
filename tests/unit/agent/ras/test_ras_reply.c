/* test_ras_reply.c - NCCL's answers, and what is none: any process may have the port
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

#include "buffer.h"
#include "ras/ras_reply.h"
#include "xalloc.h"

#define HEAD "NCCL version 2.26.2 compiled with CUDA 12.8\nCUDA runtime version 12080\n\n"
#define TABLE                                                                     \
    "Communicators... (0.00s)\n=============\n\n"                                 \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n" \
    "    #  in group  per comm  per node  per comm  in group\n"
#define ERRORS   "\nErrors\n======\n\n"
#define WARNINGS "Warnings\n========\n\n"

static struct ras_reply reply;
static struct error     err;

static int end(void **state)
{
    (void)state;
    ras_reply_clear(&reply);
    return 0;
}

static void must_read(int world_size, const char *text)
{
    ras_reply_clear(&reply);
    if (ras_reply_read(&reply, world_size, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

/* A communicator of `size` ranks, of which one has launched less. */
static char *comm_json(const char *hash, int size, int late)
{
    struct buffer text = { 0 };
    char          part[300];
    int           i;

    snprintf(part, sizeof part, "{\"hash\":\"%s\",\"secondary_hash\":\"0x1:0x2\",\"size\":%d,"
             "\"ranks\":[", hash, size);
    buffer_add_text(&text, part);
    for (i = 0; i < size; i++) {
        snprintf(part, sizeof part, "%s{\"rank\":%d,\"host\":\"10.0.0.1\",\"pid\":%d,"
                 "\"cuda_dev\":%d,\"collective_counts\":{\"AllReduce\":%d,\"Broadcast\":1,"
                 "\"Send\":%d}}", i > 0 ? "," : "", i, 100 + i, i % 8, i == late ? 119 : 120, i);
        buffer_add_text(&text, part);
    }
    buffer_add(&text, "]}", 3);
    return text.bytes;
}

static void must_read_comms(int world_size, const char *first, const char *second)
{
    char *all = xasprintf(" {\"nccl_version\":\"2.28.7\",\"communicators\":[%s%s%s]}\n", first,
                          second[0] != '\0' ? "," : "", second);

    must_read(world_size, all);
    free(all);
}

static void test_json(void **state)
{
    char *first = comm_json("0x1c2b", 16, 3), *second = comm_json("0x77", 4, -1);
    const struct ras_op *op;

    (void)state;
    must_read_comms(16, first, second);
    assert_int_equal(2, reply.comms);
    assert_int_equal(1, reply.wrong); /* sends differ by nature */
    assert_int_equal(1, reply.listed);
    assert_string_equal("0x1c2b", reply.comm[0].hash);
    assert_int_equal(16, reply.comm[0].size);
    op = &reply.comm[0].op[0];
    assert_string_equal("AllReduce", op->name);
    assert_int_equal(119, op->least);
    assert_int_equal(120, op->most);
    assert_int_equal(1, op->late.count);
    assert_int_equal(3, op->late.rank[0].rank);
    assert_int_equal(3, op->late.rank[0].world);
    assert_int_equal(103, op->late.rank[0].pid);
    assert_string_equal("10.0.0.1", op->late.rank[0].host);
    assert_int_equal(15, op->early.count);
    assert_int_equal(RAS_RANKS_MAX, op->early.named);
    free(second);
    free(first);
}

/* Another count, anywhere: another print. */
static void test_prints(void **state)
{
    char    *one = comm_json("0x77", 4, 1), *other = comm_json("0x77", 4, 2);
    uint64_t print;

    (void)state;
    must_read_comms(4, one, "");
    print = reply.print;
    must_read_comms(4, one, "");
    assert_true(print == reply.print);
    must_read_comms(4, other, "");
    assert_true(print != reply.print);
    free(other);
    free(one);
}

/* The communicator of all ranks says whose process that is. */
static void test_number_in_the_world(void **state)
{
    char *world = comm_json("0x1", 4, -1);

    (void)state;
    must_read_comms(4, "{\"hash\":\"0x2\",\"size\":2,\"ranks\":["
                       "{\"rank\":0,\"host\":\"10.0.0.1\",\"pid\":103,\"cuda_dev\":3,"
                       "\"collective_counts\":{\"AllGather\":1}},"
                       "{\"rank\":1,\"host\":\"10.0.0.9\",\"pid\":101,\"cuda_dev\":1,"
                       "\"collective_counts\":{\"AllGather\":2}}]}", world);
    assert_int_equal(1, reply.wrong);
    assert_int_equal(3, reply.comm[0].op[0].late.rank[0].world);
    assert_int_equal(-1, reply.comm[0].op[0].early.rank[0].world); /* of another host */
    free(world);
}

static void test_missing_in_json(void **state)
{
    (void)state;
    must_read(3, "{\"communicators\":[{\"hash\":\"0x2\",\"size\":3,\"ranks\":[],\"missing_ranks\":"
                 "[{\"rank\":1,\"host\":\"unknown\",\"pid\":-1,\"cuda_dev\":0,\"status\":"
                 "{\"unresponsive\":true,\"considered_dead\":false}},"
                 "{\"rank\":2,\"status\":{}}]}]}");
    assert_int_equal(2, reply.comm[0].missing.count);
    assert_true(reply.comm[0].missing.rank[0].is_silent);
    assert_int_equal(-1, reply.comm[0].missing.rank[0].pid);
    assert_string_equal("", reply.comm[0].missing.rank[0].host);
    assert_false(reply.comm[0].missing.rank[1].is_silent);
}

static const char text_of_2_26[] = HEAD TABLE
    "    0         1         2         8        16        16   RUNNING  INCOMPLETE,MISMATCH\n"
    "    1         3         1       2-4         4         4   RUNNING  OK\n" ERRORS
    "INCOMPLETE\n  Missing communicator data from 1 job process\n"
    "  Process 7 on node 10.0.0.2 managing GPU 1\n\n"
    "#0-0 (00000000000a1c2b) INCOMPLETE\n"
    "  Missing communicator data from 1 rank\n"
    "  Rank 9 -- GPU 1 managed by process 7 on node 10.0.0.2\n\n" WARNINGS
    "#0-0 (00000000000a1c2b) MISMATCH\n"
    "  Communicator ranks have different AllReduce operation counts\n"
    "  12 ranks have launched up to operation 120\n"
    "  2 ranks have launched up to operation 119\n"
    "  Rank 3 -- GPU 3 managed by process 103 on node 10.0.0.1\n"
    "  Rank 5 -- [process information not found]\n"
    "  Rank 4 has not launched any operations -- GPU 4 (NVML 7) managed by process 104 on node "
    "10.0.0.1\n\n"
    "  Communicator ranks have different Broadcast operation counts\n"
    "  14 ranks have not launched any operations\n"
    "  Rank 3 has launched up to operation 1 -- GPU 3 managed by process 103 on node 10.0.0.1\n\n";

static void test_text(void **state)
{
    const struct ras_comm *comm;

    (void)state;
    must_read(16, text_of_2_26);
    assert_int_equal(4, reply.comms);
    assert_int_equal(1, reply.wrong);
    comm = &reply.comm[0];
    assert_string_equal("0xa1c2b", comm->hash);
    assert_int_equal(16, comm->size);
    assert_int_equal(2, comm->ops);
    assert_string_equal("AllReduce", comm->op[0].name);
    assert_int_equal(0, comm->op[0].least);
    assert_int_equal(120, comm->op[0].most);
    assert_int_equal(15, comm->op[0].ranks);
    assert_int_equal(1, comm->op[0].late.count);
    assert_int_equal(4, comm->op[0].late.rank[0].world);
    assert_int_equal(104, comm->op[0].late.rank[0].pid);
    assert_int_equal(1, comm->op[1].most);
    assert_int_equal(3, comm->op[1].early.rank[0].rank);
    assert_int_equal(1, comm->missing.count);
    assert_true(comm->missing.rank[0].is_silent);
    assert_int_equal(9, comm->missing.rank[0].rank);
}

static void test_text_of_2_24(void **state)
{
    (void)state;
    must_read(4, HEAD TABLE
              "    0         1         1         4         4         4   RUNNING  MISMATCH\n" ERRORS
              "#0-0 (1c2b) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
              "  The missing ranks: 0,2\n\n" WARNINGS "#0-0 (1c2b) MISMATCH\n"
              "  Communicator ranks have different status\n"
              "  3 ranks have status RUNNING\n"
              "  Rank 1 has status NOCOMM -- GPU 1 managed by process 5 on node 10.0.0.1\n"
              "  Communicator ranks have different collective operation counts\n"
              "  2 ranks have launched up to operation 12\n"
              "  Rank 3 has launched up to operation 11 -- GPU 3 managed by process 9 on node "
              "10.0.0.1\n\n");
    assert_string_equal("", reply.comm[0].op[0].name);
    assert_int_equal(3, reply.comm[0].op[0].late.rank[0].rank);
    assert_int_equal(3, reply.comm[0].missing.count);
    assert_int_equal(3, reply.comm[0].missing.named);
    assert_false(reply.comm[0].missing.rank[2].is_silent);
}

static void test_without_communicators(void **state)
{
    (void)state;
    must_read(4, HEAD "Communicators... (0.00s)\n\nNo communicator data collected!\n" ERRORS
              WARNINGS);
    assert_int_equal(0, reply.comms);
    must_read(4, "{\"communicators\":[]}");
    assert_int_equal(0, reply.comms);
}

static void refuse(const char *bytes, size_t size, const char *why)
{
    if (ras_reply_read(&reply, 4, bytes, size, &err) == 0)
        fail_msg("accepted: %.80s", bytes);
    if (strstr(err.text, why) == NULL)
        fail_msg("%.80s: %s", bytes, err.text);
    assert_null(reply.comm);
}

#define COMM(REST) "{\"communicators\":[{\"hash\":\"0x1\"," REST "}]}"

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } row[] = {
        { "", "without an answer" },
        { " \n\t", "without an answer" },
        { "220 mail.example.com ESMTP\n", "not NCCL's" },
        { "NCCL version 2.26.2", "cut short" },
        { HEAD TABLE, "cut short" },
        { HEAD TABLE ERRORS WARNINGS "#0-0 (1c2b) MISM", "cut short" },
        { "{", "not JSON" },
        { "{}", "no list of communicators" },
        { "{\"communicators\":{}}", "no list of communicators" },
        { "{\"communicators\":[1]}", "no hash" },
        { "{\"communicators\":[{\"hash\":1,\"ranks\":[]}]}", "no hash" },
        { COMM("\"size\":1"), "no ranks" },
        { COMM("\"size\":-1,\"ranks\":[]"), "not a number" },
        { COMM("\"size\":1e3,\"ranks\":[]"), "not a number" },
        { COMM("\"size\":4294967296,\"ranks\":[]"), "not a number" },
        { COMM("\"size\":1,\"ranks\":[{}]"), "has no number" },
        { COMM("\"size\":1,\"ranks\":[{\"rank\":0,\"collective_counts\":{\"A\":-1}}]"), "a count" },
        { COMM("\"size\":1,\"ranks\":[{\"rank\":0,\"collective_counts\":{\"A\":"
               "99999999999999999999}}]"), "not JSON" },
        { COMM("\"size\":1,\"ranks\":[],\"missing_ranks\":[3]"), "has no number" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        refuse(row[i].text, strlen(row[i].text), row[i].why);
}

/* An answer that ends anywhere: none is taken for a whole one but that which has its end. */
static void test_cut(void **state)
{
    char  *comm = comm_json("0x1c2b", 4, 3);
    char  *all = xasprintf("{\"communicators\":[%s]}", comm);
    size_t size;

    (void)state;
    for (size = 0; size < strlen(all); size++)
        refuse(all, size, "");
    for (size = 0; size < strlen(text_of_2_26); size++)
        if (ras_reply_read(&reply, 4, text_of_2_26, size, &err) == 0) {
            assert_int_equal('\n', text_of_2_26[size - 1]);
            ras_reply_clear(&reply);
        }
    free(all);
    free(comm);
}

/* What a text may have between its lines, and names that are none. */
static void test_odd_text(void **state)
{
    (void)state;
    must_read(4, HEAD TABLE "    0  99999999999999999999  1  1  1\n  junk\n    0  1\n" ERRORS
              WARNINGS "#x-y (1)\n#0-0 1c2b\n  Rank 3 has launched up to operation 1\n"
              "#0-0 (\x1b[31m\xff) MISMATCH\n"
              "  Communicator ranks have different \x1b[2J operation counts\n"
              "  Rank 99999999999 has launched up to operation 1\n"
              "  Rank 1 has launched up to operation 99999999999999999999\n"
              "  Rank 1 has launched up to operation 3 -- GPU x managed by process y on node z\n"
              "  Rank 2 has launched up to operation 4 -- GPU 1 managed by process 2 on node \x07"
              "0123456789012345678901234567890123456789012345678901234567890123456789\n"
              "  2 ranks have\n  0 ranks have launched up to operation 9\n  Communicator\n");
    assert_int_equal(1, reply.listed);
    assert_string_equal("0x?[31m?", reply.comm[0].hash);
    assert_string_equal("?[2J", reply.comm[0].op[0].name);
    assert_int_equal(-1, reply.comm[0].op[0].late.rank[0].pid);
    json_decref(ras_reply_json(&reply));
}

static char *filled(size_t size, const char *begin, int fill)
{
    char *bytes = xmalloc(size);

    memset(bytes, fill, size);
    memcpy(bytes, begin, strlen(begin));
    return bytes;
}

static void test_large(void **state)
{
    const size_t size = 10u << 20;
    char        *bytes = filled(RAS_REPLY_MAX + 1, "{", ' ');

    (void)state;
    refuse(bytes, RAS_REPLY_MAX + 1, "longer than 16 MiB");
    free(bytes);
    bytes = filled(size, "{", '[');
    refuse(bytes, size, "more than 1048576 values");
    memset(bytes + 1000000, ' ', size - 1000000); /* deep, but not of too many values */
    memcpy(bytes, "{\"a\":", 5);
    refuse(bytes, size, "not JSON");
    free(bytes);
    bytes = filled(size, "NCCL version ", 'x'); /* one line */
    refuse(bytes, size, "cut short");
    free(bytes);
    bytes = filled(size, "{\"communicators\":[]}", ' ');
    assert_int_equal(0, ras_reply_read(&reply, 4, bytes, size, &err));
    free(bytes);
}

static void add_wide_rank(struct buffer *text)
{
    char name[60];
    int  op;

    buffer_add_text(text, "{\"rank\":2000000000,\"pid\":2000000000,\"cuda_dev\":2000000000,"
                          "\"host\":\"01234567890123456789012345678901234567890123456789\","
                          "\"collective_counts\":{");
    for (op = 0; op < RAS_OPS_MAX + 4; op++) {
        snprintf(name, sizeof name, "%s\"%02d23456789012345678901234\":%zu", op > 0 ? "," : "", op,
                 text->size % 2);
        buffer_add_text(text, name);
    }
    buffer_add_text(text, "}}");
}

/* More than are described; a frame has room for all that is. */
static void test_bounds(void **state)
{
    struct buffer text = { 0 };
    char         *body;
    json_t       *json;
    int           comm, rank;

    (void)state;
    buffer_add_text(&text, "{\"communicators\":[");
    for (comm = 0; comm < RAS_COMMS_MAX + 8; comm++) {
        buffer_add_text(&text, comm > 0 ? "," : "");
        buffer_add_text(&text, "{\"hash\":\"0x12345678901234567890\",\"size\":40,\"ranks\":[");
        for (rank = 0; rank < 40; rank++) {
            buffer_add_text(&text, rank > 0 ? "," : "");
            add_wide_rank(&text);
            buffer_add_text(&text, rank % 3 == 0 ? " " : "");
        }
        buffer_add_text(&text, "]}");
    }
    buffer_add_text(&text, "]}");
    if (ras_reply_read(&reply, 40, text.bytes, text.size, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(RAS_COMMS_MAX + 8, reply.wrong);
    assert_int_equal(RAS_COMMS_MAX, reply.listed);
    json = ras_reply_json(&reply);
    body = json_dumps(json, JSON_COMPACT);
    assert_non_null(body);
    assert_in_range(strlen(body), 1, 1u << 20); /* FRAME_BODY_MAX */
    free(body);
    json_decref(json);
    buffer_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_json, end),
        cmocka_unit_test_teardown(test_prints, end),
        cmocka_unit_test_teardown(test_number_in_the_world, end),
        cmocka_unit_test_teardown(test_missing_in_json, end),
        cmocka_unit_test_teardown(test_text, end),
        cmocka_unit_test_teardown(test_text_of_2_24, end),
        cmocka_unit_test_teardown(test_without_communicators, end),
        cmocka_unit_test_teardown(test_refused, end),
        cmocka_unit_test_teardown(test_cut, end),
        cmocka_unit_test_teardown(test_odd_text, end),
        cmocka_unit_test_teardown(test_large, end),
        cmocka_unit_test_teardown(test_bounds, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
