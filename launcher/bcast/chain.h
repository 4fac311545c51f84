/* chain.h - plans which node gets its copy from which other node
 *
 * The first node that answers gets its chunks from the launcher, each later node from the one
 * before it. So all nodes get their copies in about the time of one copy, if they can reach
 * each other. Few bytes do not fill a long chain: for them the nodes form a tree, in which each
 * node serves two others.
 *
 * If a node makes no progress for CHAIN_STALL_S although its source has what it needs, the
 * chain changes. If the node does not answer, it is parked: the nodes that it serves get its
 * source instead. When it is heard again, it joins the end of the chain. If it does answer, its
 * connection is dead, and it gets the source of its source.
 *
 * Nothing here does I/O or reads a clock: the plan depends only on the calls below.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHAIN_H
#define MUSTER_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_LAUNCHER (-1)
#define CHAIN_NOBODY   (-2) /* parked */
#define CHAIN_STALL_S  2.0
#define CHAIN_MOVES    4 /* dead connections of one node; then the launcher serves it */

struct chain_node {
    bool    is_member, is_done, is_gone; /* is_done: it has everything */
    bool    is_waiting; /* it waits for announced chunks, or for its connection */
    bool    is_linked;  /* it is connected to its source; until then the connection has its own
                           deadline */
    int     source;
    int     former;     /* of a parked node: its last source */
    int64_t progress_ns; /* when it last received something, or began to wait */
    int64_t ahead_ns;    /* when its source first received something after progress_ns */
    int64_t heard_ns;
    int64_t parked_ns;
    size_t  joined; /* order of joining */
    int     moves;
};

struct chain {
    struct chain_node *node; /* all nodes of the run */
    size_t             count, joins;
    bool               is_tree;
};

enum chain_why {
    CHAIN_PARKED,   /* it does not answer */
    CHAIN_RETURNED, /* it answers again */
    CHAIN_BYPASSED, /* its source is parked or gone */
    CHAIN_DEAD,     /* nothing comes from its source */
};

struct chain_move {
    size_t         node;
    int            source; /* its new source */
    int            old;
    enum chain_why why;
};

void chain_init(struct chain *chain, size_t nodes);
void chain_clear(struct chain *chain);

/* Adds a node that is ready. Returns its source. */
int chain_join(struct chain *chain, size_t node, int64_t now_ns);
/* The node is connected to its source. */
void chain_linked(struct chain *chain, size_t node, int64_t now_ns);
/* The node cannot reach its source: from now on the launcher serves it. */
void chain_detach(struct chain *chain, size_t node, int64_t now_ns);
/* The node has everything, but others may still need it. */
void chain_finish(struct chain *chain, size_t node);
/* The node has ended or is about to. */
void chain_leave(struct chain *chain, size_t node);

/* The node has received something. */
void chain_progress(struct chain *chain, size_t node, int64_t now_ns);
/* Notes whether the node waits for anything. */
void chain_wait(struct chain *chain, size_t node, bool is_waiting, int64_t now_ns);
void chain_heard(struct chain *chain, size_t node, int64_t heard_ns);
/* The launcher itself did not run for a while: no node counts as late. Parked nodes stay
 * parked. */
void chain_forgive(struct chain *chain, int64_t now_ns);

/* Does another node still get its chunks from this one? */
bool chain_is_needed(const struct chain *chain, size_t node);

/* Decides and makes one move, if one is due. Call it until it returns false. */
bool chain_next_move(struct chain *chain, int64_t now_ns, struct chain_move *move);

#endif
