/* peers.c - see peers.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/peers.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"
#include "rendezvous/unreachable_pairs.h"
#include "sanitize.h"
#include "xalloc.h"
#include "xevent.h"

#define LISTEN_S 2.0 /* wait for the ports */
#define CALL_MS  2000
#define CALL_S   3.0 /* wait for the answers; LISTEN_S + CALL_S = PEERS_S */

/* A node that is asked. */
struct peer {
    struct node *node;
    int          port; /* 0: it does not listen */
    bool         owes; /* we wait for its answer */
};

struct peers {
    const char              *token, *master_addr;
    struct event            *late;
    struct peer             *peer;
    struct reach_node       *who; /* who[i] belongs to peer[i] */
    size_t                   count, awaited;
    bool                     is_calling, is_known;
    struct unreachable_pairs pairs;
    struct strlist           lines;
    void (*done)(void *arg);
    void *arg;
};

static void        add_peer(struct peers *peers, struct node *node);
static const char *address_of(const struct node *node, const char *master);
static bool        is_address(const char *text);
static void        late_cb(evutil_socket_t fd, short what, void *arg);
static int         take_port(struct peers *peers, struct peer *peer, const json_t *body);
static void        answered(struct peers *peers);
static void        call_all(struct peers *peers);
static void        await(struct peers *peers, struct peer *peer, json_t *body);
static json_t     *calls_of(const struct peers *peers, size_t from);
static int         take_pairs(struct peers *peers, size_t from, const json_t *body);
static void        finish(struct peers *peers);

struct peers *peers_begin(struct event_base *base, const struct peers_question *question,
                          void (*done)(void *arg), void *arg)
{
    struct timeval limit = clock_interval(LISTEN_S);
    struct peers  *peers = xcalloc(1, sizeof *peers);
    size_t         i;

    *peers = (struct peers){ .token = question->token, .master_addr = question->master_addr,
                             .done = done, .arg = arg };
    peers->peer = xcalloc(question->nodes, sizeof *peers->peer);
    peers->who = xcalloc(question->nodes, sizeof *peers->who);
    peers->late = xevent_new(base, -1, late_cb, peers);
    for (i = 0; i < question->nodes; i++)
        add_peer(peers, question->node[i]);
    peers->pairs = (struct unreachable_pairs){ .node = peers->who, .nodes = peers->count };
    for (i = 0; i < peers->count && peers->count > 1; i++)
        await(peers, &peers->peer[i],
              json_pack("{s:s, s:s, s:b, s:i}", "op", "listen", "token", peers->token, "load", true,
                        "timeout_ms", (int)(PEERS_S * 1000)));
    if (peers->awaited == 0)
        limit = (struct timeval){ 0 };
    xevent_add(peers->late, &limit);
    return peers;
}

void peers_free(struct peers *peers)
{
    if (peers == NULL)
        return;
    unreachable_pairs_clear(&peers->pairs);
    strlist_clear(&peers->lines);
    event_free(peers->late);
    free(peers->peer);
    free(peers->who);
    free(peers);
}

bool peers_are_known(const struct peers *peers)
{
    return peers->is_known;
}

const struct strlist *peers_lines(const struct peers *peers)
{
    return &peers->lines;
}

json_t *peers_json(const struct peers *peers)
{
    return unreachable_pairs_json(&peers->pairs);
}

/* ---- asking ---- */

/* A node whose connection is lost cannot answer, and the user already knows that it is lost. */
static void add_peer(struct peers *peers, struct node *node)
{
    const char *addr = address_of(node, peers->master_addr);

    if (node->conn == NULL || addr == NULL)
        return;
    peers->who[peers->count] = (struct reach_node){ .host = node->plan->host, .addr = addr };
    peers->peer[peers->count++] = (struct peer){ .node = node };
}

/* Returns the address that the ranks use: on the interface by which the node reaches
 * MASTER_ADDR, and of the same family as MASTER_ADDR. */
static const char *address_of(const struct node *node, const char *master)
{
    const char   *best = NULL;
    const json_t *entry;
    int           best_cost = INT_MAX, cost;
    size_t        i;

    json_array_foreach(json_object_get(node->hello, "addresses"), i, entry) {
        const char *iface = json_string_value(json_object_get(entry, "if"));
        const char *addr = json_string_value(json_object_get(entry, "addr"));

        if (iface == NULL || addr == NULL || !is_address(addr))
            continue;
        cost = node->plan->iface != NULL && strcmp(iface, node->plan->iface) != 0 ? 4 : 0;
        cost += json_is_true(json_object_get(entry, "loopback")) ? 2 : 0;
        cost += (strchr(addr, ':') != NULL) != (master != NULL && strchr(master, ':') != NULL);
        if (cost < best_cost) {
            best = addr;
            best_cost = cost;
        }
    }
    return best;
}

static bool is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct peers *peers = arg;
    size_t        i;

    (void)fd, (void)what;
    for (i = 0; i < peers->count; i++) {
        if (peers->peer[i].owes)
            strlist_addf(&peers->lines, "%s did not say whether it can reach the others",
                         peers->peer[i].node->plan->host);
        peers->peer[i].owes = false;
    }
    peers->awaited = 0;
    answered(peers);
}

/* ---- answers ---- */

/* An answer that comes too late is ignored. */
void peers_take(struct peers *peers, struct node *node, const json_t *body)
{
    size_t i;
    int    rc;

    for (i = 0; i < peers->count && peers->peer[i].node != node; i++)
        ;
    if (i == peers->count || !peers->peer[i].owes)
        return;
    peers->peer[i].owes = false;
    peers->awaited--;
    rc = peers->is_calling ? take_pairs(peers, i, body) : take_port(peers, &peers->peer[i], body);
    if (rc < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL,
                  "PROBED frame does not answer the request");
    if (peers->awaited == 0)
        answered(peers); /* last: see finish */
}

static int take_port(struct peers *peers, struct peer *peer, const json_t *body)
{
    const char *why = json_string_value(json_object_get(body, "error"));
    json_int_t  port = json_integer_value(json_object_get(body, "port"));
    char       *text;

    if (why != NULL) {
        text = sanitize_text(why, strnlen(why, PAIR_WHY_MAX));
        strlist_addf(&peers->lines, "%s could not be tested: %s", peer->node->plan->host, text);
        free(text);
        return 0;
    }
    if (port < 1 || port > UINT16_MAX)
        return -1;
    peer->port = (int)port;
    return 0;
}

static void answered(struct peers *peers)
{
    if (peers->is_calling || peers->count < 2)
        finish(peers);
    else
        call_all(peers);
}

/* All nodes that can listen do so now. */
static void call_all(struct peers *peers)
{
    struct timeval limit = clock_interval(CALL_S);
    size_t         i;

    peers->is_calling = true;
    xevent_add(peers->late, &limit);
    for (i = 0; i < peers->count; i++)
        if (peers->peer[i].node->conn == NULL)
            peers->peer[i].port = 0; /* the node was lost after it answered */
    for (i = 0; i < peers->count; i++)
        if (peers->peer[i].port > 0)
            await(peers, &peers->peer[i],
                  json_pack("{s:s, s:s, s:b, s:i, s:o}", "op", "peers", "token", peers->token,
                            "load", true, "timeout_ms", CALL_MS, "peers", calls_of(peers, i)));
    if (peers->awaited == 0)
        finish(peers);
}

static void await(struct peers *peers, struct peer *peer, json_t *body)
{
    peer->owes = true;
    peers->awaited++;
    node_send(peer->node, FRAME_PROBE, body);
}

static json_t *calls_of(const struct peers *peers, size_t from)
{
    json_t *list = json_array();
    size_t  to;

    for (to = 0; to < peers->count; to++)
        if (peers->peer[to].port > 0 && unreachable_pairs_tries(&peers->pairs, from, to))
            json_array_append_new(list, json_pack("{s:i, s:s, s:i}", "node", (int)to, "addr",
                                                  peers->who[to].addr, "port",
                                                  peers->peer[to].port));
    return list;
}

static int take_pairs(struct peers *peers, size_t from, const json_t *body)
{
    const json_t *list = json_object_get(body, "unreached"), *entry;
    size_t        i;

    if (!json_is_array(list))
        return -1;
    json_array_foreach(list, i, entry) {
        const char *why = json_string_value(json_object_get(entry, "why"));
        json_int_t  to = json_integer_value(json_object_get(entry, "node"));

        if (why == NULL || to < 0 ||
            unreachable_pairs_add(&peers->pairs, from, (size_t)to, why) < 0)
            return -1;
    }
    return 0;
}

static void finish(struct peers *peers)
{
    event_del(peers->late);
    peers->is_known = true;
    if (peers->count > 1)
        unreachable_pairs_tell(&peers->pairs, &peers->lines);
    peers->done(peers->arg); /* last: it may free peers */
}
