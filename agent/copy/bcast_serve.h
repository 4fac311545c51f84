/* bcast_serve.h - serves chunks to other nodes of the run (bcast_stream.h)
 *
 * The socket listens on the address at which the launcher's own connection arrived, on a free
 * port, and only while an expected node has not connected yet. A caller without the address
 * and the key of an expected node is rejected.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_SERVE_H
#define MUSTER_AGENT_BCAST_SERVE_H

#include <stddef.h>

#include <event2/event.h>

#include "copy/chunk.h"
#include "copy/seal.h"
#include "err.h"
#include "strlist.h"

#define BCAST_SERVE_LINKS_MAX 64 /* expected nodes that have not connected yet */

struct bcast_serve_ops {
    /* Like bcast_receive_read(). */
    int (*read)(struct chunk chunk, void *bytes, size_t *size, void *arg);
};

struct bcast_serve;

/* address: where to listen; port 0: on any free port. */
struct bcast_serve *bcast_serve_new(struct event_base *base, const char *address, int port,
                                    const struct bcast_serve_ops *ops, void *arg);
void bcast_serve_free(struct bcast_serve *serve); /* NULL is fine */

/* A node with one of these addresses will connect, once. Returns the port, or -1 with err. */
int bcast_serve_expect(struct bcast_serve *serve, const struct seal_link *link,
                       const struct strlist *callers, struct error *err);

/* Counts the nodes that are connected or expected. */
size_t bcast_serve_callers(const struct bcast_serve *serve);

/* Call it when new chunks may have arrived. */
void bcast_serve_wake(struct bcast_serve *serve);

#endif
