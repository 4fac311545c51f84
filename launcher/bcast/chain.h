/* chain.h - which node gets a copy from which: a plan that follows what happens
 *
 * The first node that answers gets its chunks from the launcher, each further one from the one that
 * came before it. So all of them get a copy at the speed of one, if they can reach each other. What
 * is small does not fill a long chain: then it is a tree, in which two nodes get their chunks from
 * each.
 *
 * A node that makes no progress although its source has what it needs is judged after
 * CHAIN_STALL_S: if it does not answer, it is parked, and those that have it as their source get
 * that node's own source; once it is heard again, it comes to the end of the chain. If it does
 * answer, the connection is dead, and it gets its source's source.
 *
 * Nothing is sent from here, and no clock is read: the plan is a function of what it is told.
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
#define CHAIN_MOVES    4 /* of one node because of dead connections; then the launcher feeds it */

struct chain_node {
    bool    is_member, is_done, is_gone; /* done: it has everything */
    bool    is_waiting; /* for chunks that it was told of, or for its connection */
    bool    is_linked;  /* connected to its source; until then it has a deadline of its own */
    int     source;
    int     former;     /* of a parked node: the source it had */
    int64_t progress_ns; /* when it last got something, or began to wait */
    int64_t ahead_ns;    /* its source got something for the first time after that */
    int64_t heard_ns;
    int64_t parked_ns;
    size_t  joined; /* its place in the chain */
    int     moves;
};

struct chain {
    struct chain_node *node; /* those of the run */
    size_t             count, joins;
    bool               is_tree;
};

enum chain_why {
    CHAIN_PARKED,   /* it does not answer */
    CHAIN_RETURNED, /* it does again */
    CHAIN_BYPASSED, /* its source is parked or gone */
    CHAIN_DEAD,     /* nothing comes from its source */
};

struct chain_move {
    size_t         node;
    int            source; /* its new one */
    int            old;
    enum chain_why why;
};

void chain_init(struct chain *chain, size_t nodes);
void chain_clear(struct chain *chain);

/* A node is ready. Returns its source. */
int chain_join(struct chain *chain, size_t node, int64_t now_ns);
/* It is connected to its source. */
void chain_linked(struct chain *chain, size_t node, int64_t now_ns);
/* It cannot reach its source: the launcher feeds it from now on. */
void chain_detach(struct chain *chain, size_t node, int64_t now_ns);
/* It has everything, and may still be needed. */
void chain_finish(struct chain *chain, size_t node);
/* It has ended, or is being ended. */
void chain_leave(struct chain *chain, size_t node);

/* It got something. */
void chain_progress(struct chain *chain, size_t node, int64_t now_ns);
/* Whether it waits for anything. */
void chain_wait(struct chain *chain, size_t node, bool is_waiting, int64_t now_ns);
void chain_heard(struct chain *chain, size_t node, int64_t heard_ns);
/* The launcher itself did not run: nobody is late. A node that is parked stays so. */
void chain_forgive(struct chain *chain, int64_t now_ns);

/* Another node still gets its chunks from it. */
bool chain_is_needed(const struct chain *chain, size_t node);

/* Decide one move, if any is due, and take it. Call it until it is false. */
bool chain_next_move(struct chain *chain, int64_t now_ns, struct chain_move *move);

#endif
