/* bcast_fetch.h - ask another node for chunks (bcast_stream.h)
 *
 * What it answers is not trusted: the owner compares hashes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_FETCH_H
#define MUSTER_AGENT_BCAST_FETCH_H

#include <stddef.h>

#include <event2/event.h>

#include "copy/chunk.h"
#include "copy/seal.h"

struct bcast_fetch_ops {
    void (*linked)(void *arg); /* it has proved that it knows the link's key */
    /* bytes NULL: it will never have it. */
    void (*chunk)(struct chunk chunk, const void *bytes, size_t size, void *arg);
    /* The connection could not be made, or is lost. The last call; free it later, not in here. */
    void (*lost)(const char *why, void *arg);
};

struct bcast_fetch;

/* Connect; ops are never called before this returns. */
struct bcast_fetch *bcast_fetch_new(struct event_base *base, const char *address, int port,
                                    const struct seal_link *link,
                                    const struct bcast_fetch_ops *ops, void *arg);
void bcast_fetch_free(struct bcast_fetch *fetch); /* NULL is fine */

/* Ask for these, now or as soon as it is linked. */
void bcast_fetch_ask(struct bcast_fetch *fetch, const struct chunk *ids, size_t count);

#endif
