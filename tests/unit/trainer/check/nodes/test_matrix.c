/* test_matrix.c - the verdict over nodes and links, without a network
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

#include "check/nodes/culprit.h"
#include "check/nodes/facts.h"
#include "comm/iface.h"
#include "check/nodes/matrix.h"
#include "xalloc.h"

/* ---- the circle method ---- */

static void test_everybody_meets_everybody_once(void **state)
{
    int  nodes, round, node, peer, met[40][40];
    bool paused;

    (void)state;
    for (nodes = 1; nodes <= 40; nodes++) {
        memset(met, 0, sizeof met);
        for (round = 0; round < matrix_rounds(nodes); round++) {
            for (node = 0, paused = false; node < nodes; node++) {
                peer = matrix_peer(nodes, round, node);
                if (peer < 0) {
                    assert_true(nodes % 2 == 1 && !paused);
                    paused = true;
                    continue;
                }
                assert_true(peer < nodes && peer != node);
                assert_int_equal(matrix_peer(nodes, round, peer), node);
                met[node][peer]++;
            }
        }
        for (node = 0; node < nodes; node++)
            for (peer = 0; peer < nodes; peer++)
                assert_int_equal(met[node][peer], node != peer);
    }
}

/* ---- what is slow ---- */

/* All pairs at 10, but those that touch node slow, or only slow to other. */
static void measure(struct matrix *matrix, int nodes, int slow, int other)
{
    int from, to;
    bool is_slow;

    matrix_make(matrix, nodes, false);
    for (from = 0; from < nodes; from++) {
        for (to = 0; to < nodes; to++) {
            is_slow = other >= 0 ? from == slow && to == other : from == slow || to == slow;
            if (from != to)
                matrix->bandwidth[from * nodes + to] = is_slow ? 4 : 10;
            matrix->latency_s[from * nodes + to] = from == to ? 0 : 1e-5;
        }
    }
    matrix_summarize(matrix);
}

/* Again alone: the same as before. */
static void judge(struct matrix *matrix, struct culprits *culprits)
{
    memcpy(matrix->alone, matrix->bandwidth,
           (size_t)(matrix->nodes * matrix->nodes) * sizeof(double));
    matrix_judge(matrix);
    culprits_find(culprits, matrix->slow, matrix->nodes);
}

static void test_a_slow_node_is_a_node(void **state)
{
    struct matrix   matrix;
    struct culprits culprits;
    int             nodes, node, i;

    (void)state;
    for (nodes = 3; nodes <= 9; nodes++) {
        measure(&matrix, nodes, nodes - 2, -1);
        assert_true(matrix.reference == 10);
        assert_true(matrix.lowest == 4 && matrix.highest == 10);
        judge(&matrix, &culprits);
        for (node = 0; node < nodes; node++)
            assert_int_equal(culprits.node[node], node == nodes - 2);
        for (i = 0; i < nodes * nodes; i++)
            assert_false(culprits.link[i]);
        culprits_clear(&culprits);
        matrix_clear(&matrix);
    }
}

static void test_a_slow_link_is_a_link(void **state)
{
    struct matrix   matrix;
    struct culprits culprits;
    int             nodes, i;

    (void)state;
    for (nodes = 2; nodes <= 9; nodes++) {
        measure(&matrix, nodes, 1, 0);
        judge(&matrix, &culprits);
        for (i = 0; i < nodes; i++)
            assert_false(culprits.node[i]);
        for (i = 0; i < nodes * nodes; i++)
            assert_int_equal(culprits.link[i], i == nodes);
        culprits_clear(&culprits);
        matrix_clear(&matrix);
    }
}

static void test_slow_only_in_company_is_not_slow(void **state)
{
    struct matrix matrix;
    int           i;

    (void)state;
    measure(&matrix, 5, 1, 3);
    assert_true(matrix_is_suspect(&matrix, 1, 3));
    assert_true(matrix_is_suspect(&matrix, 3, 1));
    assert_false(matrix_is_suspect(&matrix, 1, 2));
    matrix.alone[1 * 5 + 3] = 9;
    matrix_judge(&matrix);
    for (i = 0; i < 25; i++)
        assert_false(matrix.slow[i]);
    matrix_clear(&matrix);
}

/* The half that is well has as many bad pairs as good ones, and still is not to blame. */
static void test_half_of_the_nodes(void **state)
{
    bool            bad[64];
    struct culprits culprits;
    int             i;

    (void)state;
    for (i = 0; i < 64; i++)
        bad[i] = i / 8 != i % 8 && (i / 8 < 4 || i % 8 < 4);
    culprits_find(&culprits, bad, 8);
    for (i = 0; i < 8; i++)
        assert_int_equal(culprits.node[i], i < 4);
    culprits_clear(&culprits);
}

/* ---- what differs ---- */

static void test_only_differences_are_told(void **state)
{
    static const int         node[] = { 0, 0, 1, 2, 3 };
    static const char *const host[] = { "te1", "te1", "te2", "te3", "te4" };
    struct strlist           facts[5] = { { 0 } }, lines = { 0 };
    int                      rank;

    (void)state;
    for (rank = 0; rank < 5; rank++) {
        strlist_add(&facts[rank], "libgloo\tlibgloo.so.0");
        strlist_addf(&facts[rank], "kernel\t%s", rank == 3 ? "6.12" : "6.1");
        if (rank == 2)
            strlist_add(&facts[rank], "NCCL_DEBUG\tINFO");
        if (rank > 2)
            strlist_add(&facts[rank], "!\tno /dev/shm");
    }
    facts_compare(&lines, facts, node, host, 5);
    assert_int_equal(lines.count, 3);
    assert_string_equal(lines.item[0], "kernel: 6.1 on te1, te2, te4; 6.12 on te3");
    assert_string_equal(lines.item[1], "NCCL_DEBUG: not set on te1, te3, te4; INFO on te2");
    assert_string_equal(lines.item[2], "te3, te4: no /dev/shm");
    strlist_clear(&lines);
    for (rank = 0; rank < 5; rank++)
        strlist_clear(&facts[rank]);
}

static void test_facts_of_this_machine(void **state)
{
    struct comm_device device = { .library_version = 22809 };
    struct strlist     facts = { 0 };

    (void)state;
    setenv("NCCL_DEBUG", "INFO", 1);
    facts_gather(&facts, &device, &(struct iface){ .name = "lo" });
    unsetenv("NCCL_DEBUG");
    assert_true(strlist_has(&facts, "NCCL\t2.28.9"));
    assert_true(strlist_has(&facts, "NCCL_DEBUG\tINFO"));
    assert_true(strlist_has(&facts, "GPU\tnone"));
    assert_true(strlist_has(&facts, "interface\tlo"));
    strlist_clear(&facts);
}

/* ---- which interface ---- */

static void test_nccl_reads_names_its_way(void **state)
{
    static const struct {
        const char *asked, *name; /* NULL: there is none */
    } cases[] = { { "lo", "lo" },   { "=lo", "lo" },       { "l", "lo" },
                  { "=l", NULL },   { "nope,lo", "lo" },   { "=nope,lo", "lo" },
                  { "nope", NULL }, { "=nope,lo0", NULL } };
    struct iface iface;
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("NCCL_SOCKET_IFNAME", cases[i].asked, 1);
        if (cases[i].name == NULL) {
            assert_int_equal(iface_choose("nccl", &iface, &err), -1);
            assert_non_null(strstr(err.text, cases[i].asked));
            continue;
        }
        assert_int_equal(iface_choose("nccl", &iface, &err), 0);
        assert_string_equal(iface.name, cases[i].name);
    }
    setenv("NCCL_SOCKET_IFNAME", "^lo", 1);
    if (iface_choose("nccl", &iface, &err) == 0)
        assert_string_not_equal(iface.name, "lo");
    unsetenv("NCCL_SOCKET_IFNAME");
}

static void test_gloo_takes_names_whole(void **state)
{
    struct iface iface;
    struct error err;

    (void)state;
    setenv("GLOO_SOCKET_IFNAME", "lo", 1);
    assert_int_equal(iface_choose("gloo", &iface, &err), 0);
    assert_string_equal(iface.name, "lo");
    setenv("GLOO_SOCKET_IFNAME", "l", 1);
    assert_int_equal(iface_choose("gloo", &iface, &err), -1);
    assert_non_null(strstr(err.text, "GLOO_SOCKET_IFNAME=l: no such interface"));
    unsetenv("GLOO_SOCKET_IFNAME");
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    assert_int_equal(iface_choose("gloo", &iface, &err), 0);
    assert_string_equal(iface.name, "lo");
    assert_string_equal(iface.address, "127.0.0.1");
    unsetenv("MASTER_ADDR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_meets_everybody_once),
        cmocka_unit_test(test_a_slow_node_is_a_node),
        cmocka_unit_test(test_a_slow_link_is_a_link),
        cmocka_unit_test(test_slow_only_in_company_is_not_slow),
        cmocka_unit_test(test_half_of_the_nodes),
        cmocka_unit_test(test_only_differences_are_told),
        cmocka_unit_test(test_facts_of_this_machine),
        cmocka_unit_test(test_nccl_reads_names_its_way),
        cmocka_unit_test(test_gloo_takes_names_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
