/* swarm_peers.c - see swarm_peers.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "warm/swarm_peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "copy/bcast_fetch.h"
#include "copy/bcast_serve.h"
#include "xalloc.h"

#define ASKED_MAX 64 /* chunks requested from one node that have not arrived */
#define AGAIN_S 0.2  /* until the next connection attempt */

struct swarm_peer {
    struct swarm_peers *peers;
    int                 node, port;
    char               *name, *address;
    struct seal_link    link;
    struct bcast_fetch *fetch;
    size_t             *want; /* numbers of chunks, in order */
    size_t              wanted, asked, settled;
    bool                is_linked, is_over, is_cut; /* is_cut: the connection is lost */
    int64_t             begun_ns, progress_ns, called_ns;
    struct error        why;
};

static int  read_peer(struct swarm_peer *peer, const json_t *item, struct error *err);
static void call(struct swarm_peer *peer);
static void ask(struct swarm_peer *peer);
static void linked_cb(void *arg);
static void chunk_cb(struct chunk chunk, const void *bytes, size_t size, void *arg);
static void lost_cb(const char *why, void *arg);
static void tick(struct swarm_peer *peer, int64_t now_ns);
static void give_up(struct swarm_peer *peer, const char *why);

int swarm_peers_read(struct swarm_peers *peers, const json_t *list, const unsigned char *run,
                     struct error *err)
{
    const json_t *item;
    size_t        i;

    peers->peer = xcalloc(json_array_size(list) + 1, sizeof *peers->peer);
    if (json_array_size(list) > BCAST_SERVE_LINKS_MAX)
        return err_set(err, "swarm: more than %d nodes", BCAST_SERVE_LINKS_MAX);
    json_array_foreach(list, i, item)
    {
        struct swarm_peer *peer = &peers->peer[peers->count++];

        peer->peers = peers;
        memcpy(peer->link.run, run, sizeof peer->link.run);
        if (read_peer(peer, item, err) < 0)
            return -1;
    }
    return 0;
}

static int read_peer(struct swarm_peer *peer, const json_t *item, struct error *err)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *address = json_string_value(json_object_get(item, "address"));
    json_int_t  port = json_integer_value(json_object_get(item, "port"));
    json_int_t  link = json_integer_value(json_object_get(item, "ask_link"));

    peer->node = (int)json_integer_value(json_object_get(item, "number"));
    peer->name = xstrdup(name != NULL ? name : "");
    peer->address = xstrdup(address != NULL ? address : "");
    peer->port = (int)port;
    peer->link.number = (uint32_t)link;
    if (name == NULL || address == NULL || port < 1 || port > 65535 || link < 1 ||
        link > UINT32_MAX ||
        !seal_read_hex(json_string_value(json_object_get(item, "ask")), peer->link.key,
                       sizeof peer->link.key))
        return err_set(err, "swarm: \"name\", \"address\", \"port\", \"ask_link\" or \"ask\" "
                            "of a node is invalid");
    return 0;
}

void swarm_peers_clear(struct swarm_peers *peers)
{
    size_t i;

    for (i = 0; i < peers->count; i++) {
        bcast_fetch_free(peers->peer[i].fetch);
        OPENSSL_cleanse(peers->peer[i].link.key, sizeof peers->peer[i].link.key);
        free(peers->peer[i].name);
        free(peers->peer[i].address);
        free(peers->peer[i].want);
    }
    free(peers->peer);
    peers->peer = NULL;
    peers->count = 0;
}

bool swarm_peers_want(struct swarm_peers *peers, int node, size_t chunk)
{
    struct swarm_peer *peer = peers->peer;

    while (peer < peers->peer + peers->count && peer->node != node)
        peer++;
    if (peer == peers->peer + peers->count)
        return false;
    if ((peer->wanted & (peer->wanted - 1)) == 0)
        peer->want = xreallocarray(peer->want, peer->wanted > 0 ? 2 * peer->wanted : 1,
                                   sizeof *peer->want);
    peer->want[peer->wanted++] = chunk;
    return true;
}

/* --- requests --------------------------------------------------------------- */

/* Connects to all peers, also to those that have nothing for us: they wait for that. */
void swarm_peers_begin(struct swarm_peers *peers)
{
    size_t i;

    for (i = 0; i < peers->count; i++) {
        peers->peer[i].begun_ns = peers->peer[i].progress_ns = clock_now_ns();
        call(&peers->peer[i]);
    }
}

static void call(struct swarm_peer *peer)
{
    static const struct bcast_fetch_ops ops = { linked_cb, chunk_cb, lost_cb };

    bcast_fetch_free(peer->fetch);
    peer->is_cut = false;
    peer->called_ns = clock_now_ns();
    peer->fetch =
        bcast_fetch_new(peer->peers->base, peer->address, peer->port, &peer->link, &ops, peer);
}

static void linked_cb(void *arg)
{
    struct swarm_peer *peer = arg;

    peer->is_linked = true;
    peer->progress_ns = clock_now_ns();
    ask(peer);
}

static void ask(struct swarm_peer *peer)
{
    const struct swarm_peers *peers = peer->peers;
    struct chunk              ids[ASKED_MAX];
    size_t                    count = 0;

    while (peer->asked < peer->wanted && peer->asked - peer->settled < ASKED_MAX)
        ids[count++] = peers->ops->chunk(peer->want[peer->asked++], peers->arg);
    if (count > 0)
        bcast_fetch_ask(peer->fetch, ids, count);
}

/* Chunks arrive in the order in which they were requested. */
static void chunk_cb(struct chunk chunk, const void *bytes, size_t size, void *arg)
{
    struct swarm_peer        *peer = arg;
    const struct swarm_peers *peers = peer->peers;
    size_t                    number;

    if (peer->is_over || peer->settled >= peer->asked)
        return;
    number = peer->want[peer->settled];
    if (peers->ops->number(chunk, peers->arg) != (int64_t)number) {
        give_up(peer, "it sent a chunk that was not requested");
        return;
    }
    peer->settled++;
    peer->progress_ns = clock_now_ns();
    if (bytes != NULL)
        peers->ops->got(number, bytes, size, peers->arg);
    else
        peers->ops->missing(number, peers->arg);
    if (peer->asked - peer->settled <= ASKED_MAX / 2)
        ask(peer);
}

static void lost_cb(const char *why, void *arg)
{
    struct swarm_peer *peer = arg;

    err_set(&peer->why, "%s", why);
    peer->is_cut = true;
}

/* --- the end ---------------------------------------------------------------- */

bool swarm_peers_tick(struct swarm_peers *peers)
{
    bool   is_over = true;
    size_t i;

    for (i = 0; i < peers->count; i++) {
        tick(&peers->peer[i], clock_now_ns());
        is_over = is_over && peers->peer[i].is_over;
    }
    return is_over;
}

static void tick(struct swarm_peer *peer, int64_t now_ns)
{
    int64_t calling_ns = now_ns - peer->begun_ns;

    if (peer->is_over || (peer->is_linked && peer->settled == peer->wanted)) {
        peer->is_over = true;
    } else if (peer->is_cut && (peer->is_linked || calling_ns > SWARM_CONNECT_S * NS_PER_S)) {
        give_up(peer, peer->why.text);
    } else if (peer->is_cut && now_ns - peer->called_ns > (int64_t)(AGAIN_S * NS_PER_S)) {
        call(peer);
    } else if (peer->is_linked && now_ns - peer->progress_ns > SWARM_STALL_S * NS_PER_S) {
        give_up(peer, "it has sent nothing for 30 s");
    }
    if (peer->is_over) {
        bcast_fetch_free(peer->fetch);
        peer->fetch = NULL;
    }
}

/* The next tick closes the peer's connection. */
static void give_up(struct swarm_peer *peer, const char *why)
{
    struct swarm_peers *peers = peer->peers;

    peer->is_over = true;
    peers->lost++;
    snprintf(peers->why, sizeof peers->why, "%s: %s", peer->name, why);
    for (; peer->settled < peer->wanted; peer->settled++)
        peers->ops->missing(peer->want[peer->settled], peers->arg);
}
