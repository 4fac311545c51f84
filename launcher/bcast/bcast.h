/* bcast.h - the state of a running `muster bcast`, private to bcast.c, bcast_files.c,
 * bcast_links.c, bcast_report.c, origin.c and push.c
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_H
#define MUSTER_BCAST_H

#include "bcast/bcast_job.h"
#include "bcast/bcast_progress.h"
#include "bcast/chain.h"
#include "bcast/failures.h"
#include "bcast/origin.h"
#include "copy/bcast_sums.h"
#include "copy/bcast_tree.h"
#include "copy/chunk.h"
#include "run/run.h"

#define ROWS_MAX     1024u      /* hashes sent to a node and not settled */
#define ROWS_BYTES   (16u << 20) /* the same limit, in bytes of contents */
#define LINK_KEY_HEX 64
#define LINK_RUN_HEX 32

/* The rows sent to a node. The node settles them in almost the same order. So when it settles n
 * rows, we subtract the sizes of the n oldest. */
struct rows {
    uint32_t size[ROWS_MAX]; /* a ring */
    uint64_t sent, settled;
    uint64_t bytes; /* of the rows that are not settled */
};

/* Chunks that a node requested from us. */
struct needs {
    struct chunk   *chunk;
    size_t          count, next, room; /* chunk[next] and later ones are not yet sent */
    uint64_t        taken; /* number of requests so far */
    struct sum_file file;
    uint64_t        at, left; /* rest of the chunk now, which is being sent */
    struct chunk    now;
};

/* The source of a node's chunks. */
struct copy_source {
    uint32_t link;      /* 0: it never had one */
    bool     is_settled; /* the node knows its source; until then we send it no hashes */
    bool     was_linked; /* the node has been connected to this source */
    int      node;      /* index of the source, CHAIN_LAUNCHER or CHAIN_NOBODY */
    char     key[LINK_KEY_HEX + 1];
};

/* The copy on one node: what the node has, and what it gets now. */
struct copy {
    size_t    tree;       /* the tree that is being sent */
    bool      has_root;   /* TREE was sent for this tree */
    size_t    item;       /* the next item to send in ENTRIES */
    size_t    unanswered; /* ENTRIES without an answer */
    uint32_t *wanted;     /* numbers of files; from wanted_next on, not all hashes are sent */
    size_t    wanted_count, wanted_next;
    uint32_t  chunk;      /* next chunk of wanted[wanted_next] */
    int64_t   highest;    /* the highest number in any WANTED */
    size_t    credit;
    struct rows   rows;
    struct needs  needs;
    struct copy_source source;
    uint64_t  files, bytes, node_bytes; /* received so far; node_bytes: from other nodes */
    size_t    skipped;    /* trees whose source is this node */
    size_t    failures, danglings; /* rows of this node in the tables */
    bool      has_failed; /* something could not be written there */
    bool      is_finishing; /* FINISH was sent */
    bool      is_done;
};

struct bcast {
    struct trees    trees;
    struct strlist  ignored; /* by git: not sent */
    struct origin  *origin; /* NULL: the files are on this machine */
    bool            origin_is_lost;
    struct copy    *copy; /* by node */
    struct bcast_progress *progress;
    size_t          window;
    struct sum_file hashed;
    struct failures failed;
    struct failures dangling; /* links that lead to something here, and to nothing there */

    bool            has_chain;
    struct chain    chain;
    struct event   *tick; /* NULL: no node has answered yet */
    int64_t         tick_ns;
    uint32_t        links; /* number of links made */
    char            run[LINK_RUN_HEX + 1];
};

static inline struct bcast *bcast_of(const struct run *run)
{
    return run->job_data;
}

/* bcast.c: send what can be sent now, to one node or to all; begin with all nodes, once all
 * entries of origin are known. */
void bcast_pump(struct run *run, struct node *node);
void bcast_pump_all(struct run *run);
void bcast_begin_all(struct run *run, struct node *origin);

/* bcast_files.c: do one step; false: an answer must come first, or nothing is left. */
bool bcast_send_needed(struct run *run, struct node *node, struct copy *copy);
bool bcast_send_rows(struct run *run, struct node *node, struct copy *copy);
bool bcast_send_entries(struct run *run, struct node *node, struct copy *copy);
/* Handle a frame; false: it violates the protocol. */
bool bcast_take_wanted(struct bcast *bcast, struct copy *copy, const struct frame *frame);
bool bcast_take_need(struct bcast *bcast, struct copy *copy, const struct frame *frame);
bool bcast_take_have(struct copy *copy, const struct frame *frame);
void bcast_files_clear(struct copy *copy);

/* bcast_links.c. A node joins the chain, if it may; it has received something, or waits; it has
 * everything and leaves once no other node needs it. */
int  bcast_links_prepare(const struct run *run, struct bcast *bcast);
int  bcast_links_choose(const struct run *run, struct bcast *bcast); /* needs the trees */
void bcast_links_clear(struct bcast *bcast);
void bcast_links_join(struct run *run, struct node *node);
void bcast_links_progress(struct run *run, struct node *node, bool has_got);
void bcast_links_done(struct run *run, struct node *node);
bool bcast_take_listen(struct run *run, struct node *node, const json_t *body);
bool bcast_take_linked(struct run *run, struct node *node, const json_t *body);

/* bcast_report.c: adds to the table of bcast_report() that node does not get this item, because
 * of why. what: as in "cannot write". */
void    bcast_failed(struct run *run, const struct node *node, size_t tree, size_t item,
                     const char *what, const char *why);
/* The same for a link that leads to nothing on node. */
void    bcast_dangling(struct run *run, const struct node *node, size_t tree, size_t item);
/* Shows on a terminal how far the slowest node is. seconds: since the last call. */
void    bcast_progress(struct run *run, double seconds);
/* out NULL: reports only the files that were not copied. */
int     bcast_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *bcast_json(const struct run *run, int status);

#endif
