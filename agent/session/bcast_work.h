/* bcast_work.h - a bcast on this node: what bcast_frames.c and bcast_links.c share, and nobody
 * else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_WORK_H
#define MUSTER_AGENT_BCAST_WORK_H

#include "copy/arriving.h"
#include "copy/bcast_fetch.h"
#include "copy/bcast_receive.h"
#include "copy/bcast_serve.h"
#include "session/agent.h"

struct bcast {
    struct bcast_receive *receiver;
    struct arriving       arriving;
    struct bcast_serve   *serve; /* NULL: no other node asks us */
    struct bcast_fetch   *fetch; /* NULL: we ask the launcher */
    uint32_t              link;  /* its number */
    bool                  is_link_lost; /* and the launcher has not said yet what to do */
    uint64_t              node_bytes;   /* that came from other nodes */
    struct bcast_counts   told;         /* in the last HAVE */
    uint32_t              owed;         /* bytes of credit that were not given back yet */
    struct event         *give_back;
};

/* bcast_frames.c: chunks were announced, have come or will not come from where we asked: ask for
 * what is missing, serve others, and tell the launcher. */
void bcast_continue(struct agent *agent);
void bcast_send_raw(struct agent *agent, enum frame_type type, const void *body, size_t size);
/* The sender broke the rules: read no more from it. */
void bcast_refuse(struct agent *agent, const struct error *why);

/* agent->bcast, made at the first call. */
struct bcast *bcast_open(struct agent *agent);

/* bcast_links.c */
void bcast_links_close(struct bcast *bcast);

#endif
