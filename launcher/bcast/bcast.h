/* bcast.h - `muster bcast` while it is running: what bcast.c, bcast_files.c, bcast_links.c and
 * bcast_report.c share, and nobody else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_H
#define MUSTER_BCAST_H

#include "bcast/bcast_job.h"
#include "copy/bcast_sums.h"
#include "copy/bcast_tree.h"
#include "bcast/chain.h"
#include "bcast/failures.h"
#include "bcast/origin.h"
#include "bcast/pace.h"
#include "copy/chunk.h"
#include "run/run.h"

#define ROWS_MAX     1024u      /* announced to a node, and not settled */
#define ROWS_BYTES   (16u << 20) /* the same, as bytes of contents */
#define LINK_KEY_HEX 64
#define LINK_RUN_HEX 32

/* The rows that a node was sent. They are settled in almost the same order, so the sizes of the
 * oldest stand for those that have been. */
struct rows {
    uint32_t size[ROWS_MAX]; /* a ring */
    uint64_t sent, settled;
    uint64_t bytes; /* of those that are not settled */
};

/* Chunks that a node asks us for; ids as chunk.h packs them. */
struct needs {
    struct chunk   *chunk;
    size_t          count, next, room; /* from next on */
    uint64_t        taken; /* in all */
    struct sum_file file;
    uint64_t        at, left; /* of the chunk that is sent now */
    struct chunk    now;
};

/* Where a node gets its chunks. */
struct copy_source {
    uint32_t link;      /* 0: none was ever made */
    bool     is_settled; /* it knows; until then nothing is announced */
    bool     was_linked; /* it is connected to this source */
    int      node;      /* or CHAIN_LAUNCHER, CHAIN_NOBODY */
    char     key[LINK_KEY_HEX + 1];
};

/* What one node has, and what it gets now. */
struct copy {
    size_t    tree;       /* the one that is sent now */
    bool      has_root;   /* TREE was sent for it */
    size_t    item;       /* of which ENTRIES are next */
    size_t    unanswered; /* ENTRIES */
    uint32_t *wanted;     /* numbers; those from next on were not announced yet */
    size_t    wanted_count, wanted_next;
    uint32_t  chunk;      /* of the next one of them */
    int64_t   highest;    /* number in any WANTED */
    size_t    credit;
    struct rows   rows;
    struct needs  needs;
    struct copy_source source;
    uint64_t  files, bytes, node_bytes; /* that came; the last from other nodes */
    size_t    skipped;    /* trees that this node is the source of */
    size_t    failures;   /* rows of this node in the table */
    bool      has_failed; /* something could not be written there */
    bool      is_done;
};

struct bcast {
    struct trees    trees;
    struct origin  *origin; /* NULL: they are on this machine */
    bool            origin_is_lost;
    struct copy    *copy; /* by node */
    struct pace    *pace;
    size_t          window;
    struct sum_file hashed;
    struct failures failed;

    bool            has_chain;
    struct chain    chain;
    struct event   *tick; /* NULL: no node has answered yet */
    int64_t         tick_ns;
    uint32_t        links; /* that were made */
    char            run[LINK_RUN_HEX + 1];
};

static inline struct bcast *bcast_of(const struct run *run)
{
    return run->job_data;
}

/* bcast.c: send what can be sent now; to all nodes; all entries of this node are known. */
void bcast_pump(struct run *run, struct node *node);
void bcast_pump_all(struct run *run);
void bcast_begin_all(struct run *run, struct node *origin);

/* bcast_files.c: one step each; false: something must come first, or nothing is left. */
bool bcast_send_needed(struct run *run, struct node *node, struct copy *copy);
bool bcast_send_rows(struct run *run, struct node *node, struct copy *copy);
bool bcast_send_entries(struct run *run, struct node *node, struct copy *copy);
/* What came; false: it breaks the rules. */
bool bcast_take_wanted(struct bcast *bcast, struct copy *copy, const struct frame *frame);
bool bcast_take_need(struct bcast *bcast, struct copy *copy, const struct frame *frame);
bool bcast_take_have(struct copy *copy, const struct frame *frame);
void bcast_files_clear(struct copy *copy);

/* bcast_links.c. Whoever may be in the chain joins it; it has got something, or waits; it has
 * everything; it can be let go. */
int  bcast_links_prepare(const struct run *run, struct bcast *bcast);
int  bcast_links_choose(const struct run *run, struct bcast *bcast); /* when the trees are known */
void bcast_links_clear(struct bcast *bcast);
void bcast_links_join(struct run *run, struct node *node);
void bcast_links_progress(struct run *run, struct node *node, bool has_got);
void bcast_links_done(struct run *run, struct node *node);
bool bcast_take_listen(struct run *run, struct node *node, const json_t *body);
bool bcast_take_linked(struct run *run, struct node *node, const json_t *body);

/* bcast_report.c: node does not get this item, for that reason; what is as in "cannot write". For
 * the table of bcast_report(). */
void    bcast_failed(struct run *run, const struct node *node, size_t tree, size_t item,
                     const char *what, const char *why);
/* On a terminal: how far the slowest node is. seconds: since the last time. */
void    bcast_progress(struct run *run, double seconds);
/* out NULL: only what was not copied is said. */
int     bcast_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *bcast_json(const struct run *run, int status);

#endif
