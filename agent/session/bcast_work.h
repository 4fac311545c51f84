/* bcast_work.h - a bcast on this node: the state that bcast_frames.c and bcast_links.c share
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
    struct bcast_serve   *serve; /* NULL: no other node asks us for chunks */
    struct bcast_fetch   *fetch; /* NULL: we ask the launcher for chunks */
    uint32_t              link;  /* its number */
    bool                  is_link_lost; /* the launcher has not yet said what to do instead */
    uint64_t              node_bytes;   /* bytes that came from other nodes */
    struct bcast_counts   told;         /* the counts in the last HAVE */
    uint32_t              owed;         /* bytes of credit that were not given back yet */
    struct event         *give_back;
    struct event         *finish; /* pending after FINISH, until all is done */
    struct buffer         dangling; /* the answer */
};

/* bcast_frames.c: call it when chunks were announced, have arrived, or will not arrive from
 * where we asked. Asks for missing chunks, serves other nodes, and reports to the launcher. */
void bcast_continue(struct agent *agent);
void bcast_send_raw(struct agent *agent, enum frame_type type, const void *body, size_t size);
/* The sender broke the protocol: stops reading from it. */
void bcast_refuse(struct agent *agent, const struct error *why);

/* Returns agent->bcast, which the first call creates. */
struct bcast *bcast_open(struct agent *agent);

/* bcast_links.c */
void bcast_links_close(struct bcast *bcast);

#endif
