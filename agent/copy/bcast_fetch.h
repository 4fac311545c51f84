/* bcast_fetch.h - requests chunks from another node (bcast_stream.h)
 *
 * The answers are not trusted: the owner compares hashes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_FETCH_H
#define MUSTER_AGENT_BCAST_FETCH_H

#include <stddef.h>

#include <event2/event.h>

#include "copy/chunk.h"
#include "copy/seal.h"

struct bcast_fetch_ops {
    void (*linked)(void *arg); /* the other node has proved that it knows the link's key */
    /* bytes NULL: the other node will never have this chunk. */
    void (*chunk)(struct chunk chunk, const void *bytes, size_t size, void *arg);
    /* The connection could not be made, or is lost. The last callback;
     * free fetch later, not in it. */
    void (*lost)(const char *why, void *arg);
};

struct bcast_fetch;

/* Connects; never calls ops before it returns. */
struct bcast_fetch *bcast_fetch_new(struct event_base *base, const char *address, int port,
                                    const struct seal_link *link,
                                    const struct bcast_fetch_ops *ops, void *arg);
void bcast_fetch_free(struct bcast_fetch *fetch); /* NULL is fine */

/* Requests these chunks, now or as soon as the connection is linked. */
void bcast_fetch_ask(struct bcast_fetch *fetch, const struct chunk *ids, size_t count);

#endif
