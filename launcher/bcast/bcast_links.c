/* bcast_links.c - makes the connections between nodes that chain.h plans
 *
 * Before a node gets chunks from another one, muster tells the other one to expect it (LISTEN).
 * The other one answers with its address, and muster tells the node to connect there (LINK).
 * Both get a new key for each link. If a step fails, the node gets its chunks from us, as
 * without a chain.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/bcast.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <openssl/crypto.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "transport/nonce.h"
#include "xalloc.h"
#include "xevent.h"

#define CHAIN_NODES 3           /* fewer nodes get their copies from us */
#define CHAIN_BYTES (16u << 20) /* and so do all nodes, if one copy is not more than this, */
#define CHAIN_TOTAL (64u << 20) /* and all copies together are not more than this, */
#define CHAIN_LEAST (1u << 20)  /* or if one copy is not more than this */
/* A tree is faster than a chain if one copy is not more than TREE_BYTES per node. Seconds with
 * 16 nodes and lines of 200 Mbit/s, for a copy from us to each node, a chain, and a tree: 256
 * KiB 0.36, 0.28, 0.26; 1 MiB 1.07, 0.93, 0.62; 4 MiB 3.11, 1.42, 1.08; 8 MiB 5.92, 1.25, 1.50.
 * Where only the CPUs of one machine matter: 64 KiB 0.23, 0.27, 0.24; 1 MiB 0.39, 0.39, 0.31;
 * to 40 nodes 2 MiB 1.01, 0.99, 0.82. */
#define TREE_NODES  8
#define TREE_BYTES  (256u << 10)
#define TREE_TOTAL  (4u << 20) /* fewer bytes in all copies together come from us */
#define TICK_S      0.25

static uint64_t total_bytes(const struct trees *trees);
static bool     may_join(const struct run *run, size_t node);
static void     begin_ticks(struct run *run);
static void     tick_cb(evutil_socket_t fd, short what, void *arg);
static void     look_at(struct run *run, struct node *node);
static void     tell(const struct run *run, const struct chain_move *move);
static void     apply(struct run *run, struct node *node, int source);
static void     expect(struct run *run, struct node *node, int source);
static json_t  *addresses_of(const struct node *node);
static json_t  *link_body(const struct bcast *bcast, const struct copy_source *source);
static void     settle(struct run *run, struct node *node, json_t *link);
static void     detach(struct run *run, struct node *node, const char *why);
static struct node *find_caller(struct run *run, const struct node *from, json_int_t link);
static void     release(struct run *run);
static bool     is_awaited(const struct run *run);

int bcast_links_prepare(const struct run *run, struct bcast *bcast)
{
    chain_init(&bcast->chain, run->plan->nodes);
    return bcast_links_choose(run, bcast);
}

int bcast_links_choose(const struct run *run, struct bcast *bcast)
{
    uint64_t bytes = total_bytes(&bcast->trees);
    size_t   n, able = 0;

    for (n = 0; n < run->plan->nodes; n++)
        able += may_join(run, n);
    bcast->chain.is_tree = able >= TREE_NODES && bytes <= able * TREE_BYTES;
    bcast->has_chain = able + (bcast->origin != NULL) >= CHAIN_NODES &&
                       (bytes > CHAIN_BYTES ||
                        (bytes > CHAIN_LEAST && able * bytes > CHAIN_TOTAL) ||
                        (bcast->chain.is_tree && able * bytes >= TREE_TOTAL));
    if (!bcast->has_chain)
        return 0;
    if (nonce_make(bcast->run) == 0)
        return 0;
    log_error("OpenSSL could not generate random numbers");
    return EXIT_INTERNAL;
}

static uint64_t total_bytes(const struct trees *trees)
{
    uint64_t bytes = 0;
    size_t   t;

    for (t = 0; t < trees->count; t++)
        bytes += trees->tree[t].bytes;
    return bytes;
}

/* Nodes that are processes on this machine do not join: their copies from us are the
 * fastest. */
static bool may_join(const struct run *run, size_t node)
{
    return !run->options->no_ssh && !run->plan->node[node].is_local;
}

void bcast_links_clear(struct bcast *bcast)
{
    if (bcast->tick != NULL)
        event_free(bcast->tick);
    chain_clear(&bcast->chain);
}

void bcast_links_join(struct run *run, struct node *node)
{
    struct bcast *bcast = bcast_of(run);
    int           source;

    if (bcast->tick == NULL)
        begin_ticks(run);
    bcast->copy[node->index].source.is_settled = true;
    if (!bcast->has_chain || !may_join(run, node->index))
        return;
    source = chain_join(&bcast->chain, node->index, clock_now_ns());
    if (origin_is(bcast, node)) {
        chain_finish(&bcast->chain, node->index);
        return;
    }
    bcast->copy[node->index].source.is_settled = false;
    apply(run, node, source);
}

static void begin_ticks(struct run *run)
{
    const struct timeval every = clock_interval(TICK_S);
    struct bcast        *bcast = bcast_of(run);

    bcast->tick = event_new(run->base, -1, EV_PERSIST, tick_cb, run);
    if (bcast->tick == NULL)
        xalloc_die();
    bcast->tick_ns = clock_now_ns();
    xevent_add(bcast->tick, &every);
}

void bcast_links_progress(struct run *run, struct node *node, bool has_got)
{
    struct bcast      *bcast = bcast_of(run);
    const struct copy *copy = &bcast->copy[node->index];
    int64_t            now_ns = clock_now_ns();

    if (!bcast->chain.node[node->index].is_member)
        return;
    if (has_got)
        chain_progress(&bcast->chain, node->index, now_ns);
    chain_wait(&bcast->chain, node->index,
               !copy->source.is_settled || copy->rows.settled < copy->rows.sent, now_ns);
}

/* The node stays while others need it. */
void bcast_links_done(struct run *run, struct node *node)
{
    chain_finish(&bcast_of(run)->chain, node->index);
    release(run);
}

static void release(struct run *run)
{
    struct bcast *bcast = bcast_of(run);
    size_t        n;

    for (n = 0; n < run->plan->nodes; n++) {
        struct node *node = run->node[n];

        if (node->state != NODE_PROBING || !bcast->copy[n].is_done ||
            chain_is_needed(&bcast->chain, n) || (origin_is(bcast, node) && is_awaited(run)))
            continue;
        chain_leave(&bcast->chain, n);
        node_enter(node, NODE_PROBED, 0);
    }
}

/* Does any node not have everything, or has not begun? */
static bool is_awaited(const struct run *run)
{
    size_t n;

    for (n = 0; n < run->plan->nodes; n++)
        if (run->node[n]->state <= NODE_PROBING && !bcast_of(run)->copy[n].is_done)
            return true;
    return false;
}

/* --- late nodes ------------------------------------------------------------ */

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run       *run = arg;
    struct bcast     *bcast = bcast_of(run);
    struct chain_move move;
    int64_t           now_ns = clock_now_ns();
    size_t            n;

    (void)fd, (void)what;
    if (now_ns - bcast->tick_ns > (int64_t)(4 * TICK_S * NS_PER_S))
        chain_forgive(&bcast->chain, now_ns);
    bcast_progress(run, (double)(now_ns - bcast->tick_ns) / NS_PER_S);
    bcast->tick_ns = now_ns;
    for (n = 0; n < run->plan->nodes; n++)
        look_at(run, run->node[n]);
    while (chain_next_move(&bcast->chain, now_ns, &move)) {
        tell(run, &move);
        apply(run, run->node[move.node], move.source);
    }
    release(run);
}

/* Pings a node of the chain, so that we hear from it. */
static void look_at(struct run *run, struct node *node)
{
    struct chain *chain = &bcast_of(run)->chain;

    if (!chain->node[node->index].is_member || chain->node[node->index].is_gone)
        return;
    chain_heard(chain, node->index, node->liveness.heard_ns);
    if (node_is_over(node) || node->failure != NULL || node->state != NODE_PROBING)
        chain_leave(chain, node->index);
    else if (node_takes_frames(node))
        node_ping(node);
}

static void tell(const struct run *run, const struct chain_move *move)
{
    const char *host = run->plan->node[move->node].host;
    const char *old = move->old >= 0 ? run->plan->node[move->old].host : "muster";
    const char *now = move->source >= 0 ? run->plan->node[move->source].host : "muster";

    if (move->why == CHAIN_PARKED)
        log_warn("%s: no progress for %g s and no answer: the other nodes continue without it",
                 host, CHAIN_STALL_S);
    else if (move->why == CHAIN_RETURNED)
        log_warn("%s: answers again, and gets its copy from %s", host, now);
    else if (move->why == CHAIN_BYPASSED)
        log_info("%s: gets its copy from %s instead of %s", host, now, old);
    else
        log_warn("%s: received nothing from %s for %g s: now gets its copy from %s", host, old,
                 CHAIN_STALL_S, now);
}

/* --- links ------------------------------------------------------------------ */

static void apply(struct run *run, struct node *node, int source)
{
    struct copy_source *now = &bcast_of(run)->copy[node->index].source;

    now->node = source;
    now->was_linked = false;
    if (source == CHAIN_NOBODY)
        return;
    if (source >= 0)
        expect(run, node, source);
    else
        settle(run, node, now->link != 0 ? json_object() : NULL);
    bcast_links_progress(run, node, false);
}

static void expect(struct run *run, struct node *node, int source)
{
    struct bcast  *bcast = bcast_of(run);
    struct copy_source *now = &bcast->copy[node->index].source;
    json_t        *body;

    now->link = ++bcast->links;
    if (nonce_make(now->key) < 0 || nonce_make(now->key + LINK_KEY_HEX / 2) < 0) {
        detach(run, node, "OpenSSL could not generate random numbers");
        return;
    }
    body = link_body(bcast, now);
    json_object_set_new(body, "callers", addresses_of(node));
    node_send(run->node[source], FRAME_LISTEN, body);
}

/* Returns all addresses of node: we do not know from which one it will connect. */
static json_t *addresses_of(const struct node *node)
{
    const json_t *list = json_object_get(node->hello, "addresses"), *one;
    json_t       *addresses = json_array();
    size_t        i;

    json_array_foreach(list, i, one)
        if (json_is_string(json_object_get(one, "addr")) && json_array_size(addresses) < 64)
            json_array_append(addresses, json_object_get(one, "addr"));
    return addresses;
}

static json_t *link_body(const struct bcast *bcast, const struct copy_source *source)
{
    return json_pack("{s:I, s:s, s:s}", "link", (json_int_t)source->link, "run", bcast->run, "key",
                     source->key);
}

/* From now on the node knows its source. link NULL: it already did. */
static void settle(struct run *run, struct node *node, json_t *link)
{
    struct copy_source *now = &bcast_of(run)->copy[node->index].source;

    now->is_settled = true;
    if (link != NULL)
        node_send(node, FRAME_LINK, link);
    if (node->state == NODE_PROBING && node->stop_ns == 0)
        bcast_pump(run, node);
}

bool bcast_take_listen(struct run *run, struct node *node, const json_t *body)
{
    struct bcast *bcast = bcast_of(run);
    const char   *address = json_string_value(json_object_get(body, "addr"));
    const char   *error = json_string_value(json_object_get(body, "error"));
    json_int_t    port = json_integer_value(json_object_get(body, "port"));
    struct node  *caller = find_caller(run, node,
                                       json_integer_value(json_object_get(body, "link")));
    json_t       *link;

    if ((address == NULL || port < 1 || port > 65535) && error == NULL)
        return false;
    if (caller == NULL)
        return true; /* the node has another source by now */
    if (error != NULL) {
        detach(run, caller, error);
        return true;
    }
    link = link_body(bcast, &bcast->copy[caller->index].source);
    json_object_set_new(link, "addr", json_string(address));
    json_object_set_new(link, "port", json_integer(port));
    settle(run, caller, link);
    return true;
}

/* Returns the node that connects to from over that link, or NULL. */
static struct node *find_caller(struct run *run, const struct node *from, json_int_t link)
{
    struct bcast *bcast = bcast_of(run);
    size_t        n;

    for (n = 0; n < run->plan->nodes; n++)
        if (bcast->copy[n].source.link == link && bcast->copy[n].source.node == (int)from->index &&
            run->node[n]->state == NODE_PROBING)
            return run->node[n];
    return NULL;
}

/* A link that worked may break because its other end is about to be lost; then the chain soon
 * gives the node another source. */
bool bcast_take_linked(struct run *run, struct node *node, const json_t *body)
{
    struct copy        *copy = &bcast_of(run)->copy[node->index];
    struct copy_source *now = &copy->source;
    const json_t *link = json_object_get(body, "link"), *error = json_object_get(body, "error");

    if (!json_is_integer(link) || (error != NULL && !json_is_string(error)))
        return false;
    if (json_integer_value(link) != now->link || now->node < 0 || copy->is_done)
        return true; /* the node has another source by now, or needs none */
    if (error != NULL) {
        detach(run, node, json_string_value(error));
        return true;
    }
    now->was_linked = true;
    chain_linked(&bcast_of(run)->chain, node->index, clock_now_ns());
    log_info("%s: gets its copy from %s", node->plan->host, run->plan->node[now->node].host);
    return true;
}

/* From now on the node gets everything from us. */
static void detach(struct run *run, struct node *node, const char *why)
{
    struct bcast  *bcast = bcast_of(run);
    struct copy_source *now = &bcast->copy[node->index].source;
    struct error   text;

    err_set(&text, "%s", why);
    log_warn("%s: %s %s (%s): gets its copy from muster", node->plan->host,
             now->was_linked ? "lost its connection to" : "cannot connect to",
             run->plan->node[now->node].host, text.text);
    chain_detach(&bcast->chain, node->index, clock_now_ns());
    apply(run, node, CHAIN_LAUNCHER);
}
