/* peers.c - see peers.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "peers.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "run.h"
#include "visible.h"
#include "xalloc.h"
#include "xevent.h"

#define LISTEN_S  2.0 /* for the ports */
#define CALL_MS   2000
#define CALL_S    3.0 /* for the answers to calls of CALL_MS; together PEERS_S */
#define LINES_MAX 16
#define WHY_MAX   100 /* bytes of what a node gives as its reason */

/* A node that is asked, in the order of the plan. */
struct peer {
    struct node *node;
    const char  *addr; /* from HELLO */
    int          port; /* 0: it does not listen */
    bool         owes; /* an answer */
};

/* from does not reach to. */
struct gap {
    const struct peer *from, *to;
    char              *why;  /* safe to print */
    bool               told; /* with its reverse */
};

struct peers {
    struct run    *run;
    struct event  *late;
    struct peer   *peer;
    size_t         count, awaited;
    bool           is_calling, is_known;
    struct gap    *gap;
    size_t         gaps;
    struct strlist lines;
    json_t        *json;
    void         (*done)(void *arg);
    void          *arg;
};

static void add_peer(struct peers *peers, struct node *node);
static const char *address_of(const struct run *run, const struct node *node);
static void await(struct peers *peers, struct peer *peer, json_t *body);
static void answered(struct peers *peers);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void call_all(struct peers *peers);
static bool calls(const struct peers *peers, size_t from, size_t to);
static int  take_port(struct peers *peers, struct peer *peer, const json_t *body);
static int  take_gaps(struct peers *peers, size_t from, const json_t *body);
static void finish(struct peers *peers);
static void tell_all(struct peers *peers);
static json_t *json_of_gap(const struct gap *gap);

struct peers *peers_begin(struct run *run, void (*done)(void *arg), void *arg)
{
    struct timeval limit = clock_interval(LISTEN_S);
    struct peers  *peers = xcalloc(1, sizeof *peers);
    size_t         i;

    *peers = (struct peers){ .run = run, .done = done, .arg = arg, .json = json_array() };
    peers->peer = xcalloc(run->plan->nodes, sizeof *peers->peer);
    peers->late = event_new(run->base, -1, 0, late_cb, peers);
    if (peers->late == NULL)
        xalloc_die();
    for (i = 0; i < run->plan->nodes; i++)
        add_peer(peers, &run->node[i]);
    for (i = 0; i < peers->count && peers->count > 1; i++)
        await(peers, &peers->peer[i],
              json_pack("{s:s, s:s, s:i}", "op", "listen", "token", run->token, "timeout_ms",
                        (int)(PEERS_S * 1000)));
    if (peers->awaited == 0)
        limit = (struct timeval){ 0 };
    xevent_add(peers->late, &limit);
    return peers;
}

void peers_free(struct peers *peers)
{
    size_t i;

    if (peers == NULL)
        return;
    for (i = 0; i < peers->gaps; i++)
        free(peers->gap[i].why);
    free(peers->gap);
    free(peers->peer);
    event_free(peers->late);
    strlist_clear(&peers->lines);
    json_decref(peers->json);
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
    return peers->json;
}

/* ---- asking ---- */

/* Nodes whose connection is cut cannot answer: that is known already. */
static void add_peer(struct peers *peers, struct node *node)
{
    const char *addr = address_of(peers->run, node);

    if (node->state == NODE_RUNNING && node->conn != NULL && node->ranks_left > 0 && addr != NULL)
        peers->peer[peers->count++] = (struct peer){ .node = node, .addr = addr };
}

static bool is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* The one that ranks use: of the interface by which the node reaches MASTER_ADDR, and of
 * the same family. */
static const char *address_of(const struct run *run, const struct node *node)
{
    const char   *master = run->plan->master_addr, *best = NULL;
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

static void await(struct peers *peers, struct peer *peer, json_t *body)
{
    peer->owes = true;
    peers->awaited++;
    node_send(peer->node, FRAME_PROBE, body);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct peers *peers = arg;
    size_t        i;

    (void)fd, (void)what;
    for (i = 0; i < peers->count; i++) {
        if (peers->peer[i].owes)
            strlist_addf(&peers->lines, "%s did not answer whether it reaches the others",
                         peers->peer[i].node->plan->host);
        peers->peer[i].owes = false;
    }
    peers->awaited = 0;
    answered(peers);
}

static void answered(struct peers *peers)
{
    if (peers->is_calling || peers->count < 2)
        finish(peers);
    else
        call_all(peers);
}

/* All listen that can. */
static void call_all(struct peers *peers)
{
    struct timeval limit = clock_interval(CALL_S);
    size_t         from, to;

    peers->is_calling = true;
    xevent_add(peers->late, &limit);
    for (from = 0; from < peers->count; from++)
        if (peers->peer[from].node->conn == NULL)
            peers->peer[from].port = 0; /* it was lost meanwhile */
    for (from = 0; from < peers->count; from++) {
        json_t *list = json_array();

        for (to = 0; to < peers->count; to++)
            if (calls(peers, from, to))
                json_array_append_new(list, json_pack("{s:i, s:s, s:i}", "node", (int)to, "addr",
                                                      peers->peer[to].addr, "port",
                                                      peers->peer[to].port));
        if (json_array_size(list) > 0)
            await(peers, &peers->peer[from],
                  json_pack("{s:s, s:s, s:i, s:o}", "op", "peers", "token", peers->run->token,
                            "timeout_ms", CALL_MS, "peers", list));
        else
            json_decref(list);
    }
    if (peers->awaited == 0)
        finish(peers);
}

static bool calls(const struct peers *peers, size_t from, size_t to)
{
    size_t last = peers->count - 1;

    if (from == to || peers->peer[from].port == 0 || peers->peer[to].port == 0)
        return false;
    return peers->count <= PEERS_ALL || to == 0 || to == (from < last ? from + 1 : 0) ||
           from == (to < last ? to + 1 : 0);
}

/* ---- answers ---- */

/* Late ones are not waited for any more. */
void peers_take(struct peers *peers, struct node *node, const json_t *body)
{
    size_t i;

    for (i = 0; i < peers->count && peers->peer[i].node != node; i++)
        ;
    if (i == peers->count || !peers->peer[i].owes)
        return;
    peers->peer[i].owes = false;
    peers->awaited--;
    if ((peers->is_calling ? take_gaps(peers, i, body) : take_port(peers, &peers->peer[i], body)) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "PROBED frame: not what was asked for");
    if (peers->awaited == 0)
        answered(peers);
}

static int take_port(struct peers *peers, struct peer *peer, const json_t *body)
{
    const char *why = json_string_value(json_object_get(body, "error"));
    json_int_t  port = json_integer_value(json_object_get(body, "port"));
    char       *text;

    if (why != NULL) {
        text = visible_text(why, strnlen(why, WHY_MAX));
        strlist_addf(&peers->lines, "%s cannot be tried: %s", peer->node->plan->host, text);
        free(text);
        return 0;
    }
    if (port < 1 || port > UINT16_MAX)
        return -1;
    peer->port = (int)port;
    return 0;
}

static bool has_gap(const struct peers *peers, size_t from, size_t to)
{
    size_t i;

    for (i = 0; i < peers->gaps; i++)
        if (peers->gap[i].from == &peers->peer[from] && peers->gap[i].to == &peers->peer[to])
            return true;
    return false;
}

static int take_gaps(struct peers *peers, size_t from, const json_t *body)
{
    const json_t *list = json_object_get(body, "unreached"), *entry;
    size_t        i;

    if (!json_is_array(list))
        return -1;
    json_array_foreach(list, i, entry) {
        const char *why = json_string_value(json_object_get(entry, "why"));
        json_int_t  to = json_integer_value(json_object_get(entry, "node"));

        if (why == NULL || to < 0 || (size_t)to >= peers->count ||
            !calls(peers, from, (size_t)to) || has_gap(peers, from, (size_t)to))
            return -1;
        peers->gap = xreallocarray(peers->gap, peers->gaps + 1, sizeof *peers->gap);
        peers->gap[peers->gaps++] = (struct gap){ .from = &peers->peer[from],
                                                  .to = &peers->peer[to],
                                                  .why = visible_text(why, strnlen(why, WHY_MAX)) };
    }
    return 0;
}

/* ---- the result ---- */

/* In the order of the plan. */
static int by_nodes(const void *one, const void *other)
{
    const struct gap *a = one, *b = other;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static void finish(struct peers *peers)
{
    size_t i;

    event_del(peers->late);
    peers->is_known = true;
    if (peers->gaps > 1)
        qsort(peers->gap, peers->gaps, sizeof *peers->gap, by_nodes);
    for (i = 0; i < peers->gaps; i++)
        json_array_append_new(peers->json, json_of_gap(&peers->gap[i]));
    if (peers->count > 1)
        tell_all(peers);
    peers->done(peers->arg); /* last: it may free peers */
}

static json_t *json_of_gap(const struct gap *gap)
{
    const char *from = gap->from->node->plan->host, *to = gap->to->node->plan->host;

    return json_pack("{s:o, s:o, s:s, s:s, s:o}", "from", json_text(from, strlen(from)), "to",
                     json_text(to, strlen(to)), "from_addr", gap->from->addr, "to_addr",
                     gap->to->addr, "why", json_text(gap->why, strlen(gap->why)));
}

static struct gap *reverse_of(struct peers *peers, const struct gap *gap)
{
    size_t i;

    for (i = 0; i < peers->gaps; i++)
        if (peers->gap[i].from == gap->to && peers->gap[i].to == gap->from)
            return &peers->gap[i];
    return NULL;
}

/* Of a pair one is told of, and which way it tried. */
static void tell(struct peers *peers, const struct gap *gap, bool both)
{
    const char *from = gap->from->node->plan->host, *to = gap->to->node->plan->host;
    const char *here = gap->from->addr, *there = gap->to->addr;

    if (both)
        strlist_addf(&peers->lines, "%s and %s do not reach each other (%s -> %s: %s)", from, to,
                     here, there, gap->why);
    else
        strlist_addf(&peers->lines, "%s does not reach %s (%s -> %s: %s)", from, to, here, there,
                     gap->why);
}

static void tell_all(struct peers *peers)
{
    size_t i, more = 0;

    for (i = 0; i < peers->gaps; i++) {
        struct gap *gap = &peers->gap[i], *back = reverse_of(peers, gap);

        if (gap->told)
            continue;
        if (back != NULL)
            back->told = true;
        if (peers->lines.count < LINES_MAX)
            tell(peers, gap, back != NULL);
        else
            more++;
    }
    if (more > 0)
        strlist_addf(&peers->lines, "and %zu more pairs of nodes (--json has all)", more);
    if (peers->lines.count == 0)
        strlist_addf(&peers->lines, "the %zu nodes reach each other", peers->count);
    if (peers->count > PEERS_ALL)
        strlist_addf(&peers->lines, "not all pairs were tried: each node its neighbours and %s",
                     peers->peer[0].node->plan->host);
}
