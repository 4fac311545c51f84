/* test_job.c - what the agent tells muster-pmix about a run
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pmix/job.h"

static int read_text(struct job *job, const char *text, struct error *err)
{
    json_t *body = json_loads(text, 0, NULL);
    int     rc;

    assert_non_null(body);
    rc = job_read(job, body, err);
    json_decref(body);
    return rc;
}

static void assert_peers(const struct job *job, int node, const char *expected)
{
    char *peers = job_peers(job, node);

    assert_string_equal(peers, expected);
    free(peers);
}

static void test_nodes_alike(void **state)
{
    struct job   job;
    struct error err;

    (void)state;
    assert_int_equal(read_text(&job, "{\"namespace\":\"9f3cg2\",\"size\":8,"
                                     "\"mapping\":\"(vector,(0,2,4))\",\"first\":4}", &err), 0);
    assert_string_equal(job.name, "9f3cg2");
    assert_int_equal(job.size, 8);
    assert_int_equal(job.nodes, 2);
    assert_int_equal(job.node, 1);
    assert_int_equal(job.ranks, 4);
    assert_peers(&job, 0, "0,1,2,3");
    assert_peers(&job, 1, "4,5,6,7");
    job_clear(&job);
}

static void test_nodes_that_differ(void **state)
{
    struct job   job;
    struct error err;

    (void)state;
    assert_int_equal(read_text(&job, "{\"namespace\":\"a\",\"size\":7,\"mapping\":"
                                     "\"(vector,(0,2,1),(2,1,3),(3,1,2))\",\"first\":2}",
                               &err), 0);
    assert_int_equal(job.nodes, 4);
    assert_int_equal(job.node, 2);
    assert_int_equal(job.ranks, 3);
    assert_peers(&job, 1, "1");
    assert_peers(&job, 2, "2,3,4");
    assert_peers(&job, 3, "5,6");
    job_clear(&job);
}

#define MAPPED(text) "{\"namespace\":\"a\",\"size\":4,\"mapping\":\"" text "\",\"first\":0}"

static void test_what_is_refused(void **state)
{
    static const char not_node_by_node[] = "does not number 4 ranks node by node";
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "{}", "namespace, size, mapping and first are needed" },
        { "[]", "are needed" },
        { "{\"namespace\":1,\"size\":4,\"mapping\":\"(vector)\",\"first\":0}", "are needed" },
        { "{\"namespace\":\"\",\"size\":4,\"mapping\":\"(vector,(0,1,4))\",\"first\":0}",
          "the namespace is not 1 to 128" },
        { "{\"namespace\":\"a/b\",\"size\":4,\"mapping\":\"(vector,(0,1,4))\",\"first\":0}",
          "letters and digits" },
        { "{\"namespace\":\"a\",\"size\":0,\"mapping\":\"(vector)\",\"first\":0}", "0 ranks" },
        { "{\"namespace\":\"a\",\"size\":2000000,\"mapping\":\"(vector)\",\"first\":0}",
          "2000000 ranks; 1 to 1048576 are possible" },
        { "{\"namespace\":\"a\",\"size\":4,\"mapping\":\"(vector,(0,2,2))\",\"first\":1}",
          "no node begins with rank 1" },
        { "{\"namespace\":\"a\",\"size\":4,\"mapping\":\"(vector,(0,2,2))\",\"first\":4}",
          "no node begins with rank 4" },
        { MAPPED(""), "does not begin with '(vector'" },
        { MAPPED("(vectors"), not_node_by_node },
        { MAPPED("(vector)"), not_node_by_node },
        { MAPPED("(vector,(0,2,2)"), not_node_by_node },
        { MAPPED("(vector,(0,2,2))x"), not_node_by_node },
        { MAPPED("(vector,(0,2,2),)"), not_node_by_node },
        { MAPPED("(vector,(0,2))"), not_node_by_node },
        { MAPPED("(vector,(0,2,-2))"), not_node_by_node },
        { MAPPED("(vector,(0, 2,2))"), not_node_by_node },
        { MAPPED("(vector,(1,2,2))"), not_node_by_node },
        { MAPPED("(vector,(0,1,2),(0,1,2))"), not_node_by_node },
        { MAPPED("(vector,(0,2,0),(2,1,4))"), not_node_by_node },
        { MAPPED("(vector,(0,3,2))"), not_node_by_node },
        { MAPPED("(vector,(0,1,3))"), not_node_by_node },
        { MAPPED("(vector,(0,1,99999999999999999999))"), not_node_by_node },
        { MAPPED("(vector,(0,1000000,1))"), not_node_by_node },
    };
    struct job   job;
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_text(&job, bad[i].text, &err), -1);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s: %s", bad[i].text, err.text);
        assert_null(job.name);
        assert_null(job.first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_alike),
        cmocka_unit_test(test_nodes_that_differ),
        cmocka_unit_test(test_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
