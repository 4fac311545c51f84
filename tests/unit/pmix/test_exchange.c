/* test_exchange.c - nodes that give each other bytes, over the PMI-1 of real agents' pmi.c
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

#include "pmix/exchange.h"
#include "rank/pmi.h"
#include "xalloc.h"

#define NODES_MAX 100
#define RANKS     2 /* per node */

struct node {
    struct world    *world;
    struct pmi      *pmi; /* of the agent */
    struct exchange *exchange;
    struct evbuffer *out[RANKS], *in[RANKS]; /* from muster-pmix, and to it */
    int              aborted, code;
    char            *all; /* what an exchange has brought; NULL: it is not over */
    size_t           all_size;
};

struct world {
    struct node node[NODES_MAX];
    int         nodes;
    json_t     *puts; /* of this barrier */
    int         inside; /* nodes in it */
};

/* --- the launcher, which makes a union of what the agents send --- */

static void barrier_cb(json_t *puts, bool more, void *arg)
{
    struct node *node = arg;

    json_object_update(node->world->puts, puts);
    json_decref(puts);
    if (!more)
        node->world->inside++;
}

static void abort_cb(int local, int code, void *arg)
{
    struct node *node = arg;

    node->aborted = local;
    node->code = code;
}

static void shard_cb(int local, const char *line, void *arg)
{
    (void)local, (void)line, (void)arg;
    fail();
}

static void step_cb(int local, int64_t step, int64_t last, void *arg)
{
    (void)local, (void)step, (void)last, (void)arg;
}

static void end_barrier(struct world *world)
{
    json_t      *body = json_pack("{s:O}", "put", world->puts);
    struct error err;
    int          i, local;

    for (i = 0; i < world->nodes; i++) {
        assert_int_equal(pmi_union(world->node[i].pmi, body, &err), 1);
        for (local = 0; local < RANKS; local++)
            pmi_release(world->node[i].pmi, local, world->node[i].in[local]);
    }
    json_decref(body);
    json_object_clear(world->puts);
    world->inside = 0;
}

/* --- the world --- */

static struct world *world_new(int nodes)
{
    static const struct pmi_ops ops = { barrier_cb, abort_cb, shard_cb, step_cb };
    struct world               *world = xcalloc(1, sizeof *world);
    int                         i, local;

    world->nodes = nodes;
    world->puts = json_object();
    for (i = 0; i < nodes; i++) {
        struct node *node = &world->node[i];

        node->world = world;
        node->aborted = -1;
        node->pmi = pmi_new("kvs", NULL, nodes * RANKS, RANKS, &ops, node);
        for (local = 0; local < RANKS; local++) {
            node->out[local] = evbuffer_new();
            node->in[local] = evbuffer_new();
        }
        node->exchange = exchange_new(nodes, i, RANKS, node->out);
    }
    return world;
}

static void world_free(struct world *world)
{
    int i, local;

    for (i = 0; i < world->nodes; i++) {
        exchange_free(world->node[i].exchange);
        pmi_free(world->node[i].pmi);
        free(world->node[i].all);
        for (local = 0; local < RANKS; local++) {
            evbuffer_free(world->node[i].out[local]);
            evbuffer_free(world->node[i].in[local]);
        }
    }
    json_decref(world->puts);
    free(world);
}

/* Passes on lines until there are none. */
static void talk(struct world *world)
{
    struct error err;
    bool         goes_on = true;
    int          i, local, rc;

    while (goes_on) {
        goes_on = false;
        for (i = 0; i < world->nodes; i++)
            for (local = 0; local < RANKS; local++) {
                struct node *node = &world->node[i];

                assert_int_equal(pmi_input(node->pmi, local, node->out[local],
                                           node->in[local], &err), 0);
                goes_on = goes_on || evbuffer_get_length(node->in[local]) > 0;
                rc = exchange_input(node->exchange, local, node->in[local], &err);
                assert_true(rc >= 0);
                if (rc == 1)
                    node->all = exchange_take(node->exchange, &node->all_size);
            }
        if (world->inside == world->nodes) {
            end_barrier(world);
            goes_on = true;
        }
    }
}

/* Each node gives `size` bytes and as many more as its number; all must have all of them. */
static void share(struct world *world, size_t size)
{
    size_t total = 0, j, each;
    char  *bytes = xmalloc(size + NODES_MAX), *expected = xmalloc((size + NODES_MAX) * NODES_MAX);
    int    i;

    for (i = 0; i < world->nodes; i++) {
        each = size + (size_t)i;
        for (j = 0; j < each; j++)
            bytes[j] = (char)(j * 7 + (size_t)i);
        memcpy(expected + total, bytes, each);
        total += each;
        exchange_begin(world->node[i].exchange, bytes, each);
    }
    talk(world);
    for (i = 0; i < world->nodes; i++) {
        assert_non_null(world->node[i].all);
        assert_int_equal(world->node[i].all_size, total);
        assert_memory_equal(world->node[i].all, expected, total);
        free(world->node[i].all);
        world->node[i].all = NULL;
    }
    free(bytes);
    free(expected);
}

static void test_all_get_all(void **state)
{
    static const size_t sizes[] = { 0, 1, 2, 3, 749, 750, 751, 1500, 100000 };
    struct world       *world = world_new(3);
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        share(world, sizes[i]);
    world_free(world);
    world = world_new(1);
    share(world, 1000);
    world_free(world);
}

/* More than may wait for an answer at a time. */
static void test_many_nodes(void **state)
{
    struct world *world = world_new(NODES_MAX);

    (void)state;
    share(world, 1400);
    world_free(world);
}

static void test_ranks(void **state)
{
    struct world *world = world_new(2);

    (void)state;
    exchange_rank_begins(world->node[0].exchange, 1);
    talk(world);
    assert_true(pmi_was_asked(world->node[0].pmi));
    assert_false(pmi_is_unfinished(world->node[0].pmi, 0));
    assert_true(pmi_is_unfinished(world->node[0].pmi, 1));
    share(world, 10); /* the others' answers do not disturb */
    exchange_rank_finishes(world->node[0].exchange, 1);
    talk(world);
    assert_false(pmi_is_unfinished(world->node[0].pmi, 1));
    exchange_rank_aborts(world->node[1].exchange, 1, -7);
    talk(world);
    assert_int_equal(world->node[1].aborted, 1);
    assert_int_equal(world->node[1].code, -7);
    world_free(world);
}

/* The answers of an agent to a node that is alone: to its put, its barrier and its get. */
static void test_what_is_refused(void **state)
{
    static const char put[] = "cmd=put_result rc=0 msg=success\n", out[] = "cmd=barrier_out\n";
    static const struct {
        const char *get, *says;
    } bad[] = {
        { "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
          "value 0 of node 0 is missing" },
        { "cmd=get_result rc=0 msg=success\n", "is missing" },
        { "cmd=get_result rc=0 msg=success value=\n", "does not begin with a number and a colon" },
        { "cmd=get_result rc=0 msg=success value=12345678901234567:\n", "a number and a colon" },
        { "cmd=get_result rc=0 msg=success value=0:\n", "value 0 of node 0: " },
        { "cmd=get_result rc=0 msg=success value=x:\n", "value 0 of node 0: " },
        { "cmd=get_result rc=0 msg=success value=1:abc\n", "it is not base64" },
        { "cmd=get_result rc=0 msg=success value=1:ab*c\n", "it is not base64" },
        { "cmd=get_result rc=0 msg=success value=1:YQ==\n"
          "cmd=get_result rc=0 msg=success value=1:\n", "answered a request that was not sent" },
        { "cmd=barrier_out\n", "a barrier in which no rank is" },
    };
    struct evbuffer *lines = evbuffer_new(), *from[1] = { evbuffer_new() };
    struct exchange *exchange;
    struct error     err;
    size_t           i;
    int              rc;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        exchange = exchange_new(1, 0, 1, from);
        exchange_begin(exchange, "a", 1);
        evbuffer_add_printf(lines, "%s%s%s", put, out, bad[i].get);
        while ((rc = exchange_input(exchange, 0, lines, &err)) == 1)
            ;
        assert_int_equal(rc, -1);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s: %s", bad[i].get, err.text);
        evbuffer_drain(lines, evbuffer_get_length(lines));
        exchange_free(exchange);
    }
    exchange = exchange_new(1, 0, 1, from);
    exchange_begin(exchange, "a", 1);
    evbuffer_add_printf(lines, "cmd=put_result rc=-1 msg=store_is_full\n%s", out);
    assert_int_equal(exchange_input(exchange, 0, lines, &err), -1);
    assert_non_null(strstr(err.text, "takes no more keys"));
    evbuffer_add_printf(lines, "%5000s", "");
    assert_int_equal(exchange_input(exchange, 0, lines, &err), -1);
    assert_non_null(strstr(err.text, "longer than 4096 bytes"));
    exchange_free(exchange);
    evbuffer_free(from[0]);
    evbuffer_free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_get_all),
        cmocka_unit_test(test_many_nodes),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
