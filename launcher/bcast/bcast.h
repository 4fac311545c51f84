/* bcast.h - `muster bcast` while it is running: what bcast.c and bcast_report.c share, and
 * nobody else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_H
#define MUSTER_BCAST_H

#include "bcast/bcast_tree.h"
#include "outcome/group.h"
#include "run/run.h"

/* What one node has, and what it gets now. */
struct copy {
    size_t    tree;       /* the one that is sent now */
    bool      has_root;   /* TREE was sent for it */
    size_t    item;       /* of which ENTRIES are next */
    size_t    unanswered; /* ENTRIES */
    uint32_t *wanted;     /* numbers; those from next on were not sent yet */
    size_t    wanted_count, wanted_next;
    int64_t   highest; /* number in any WANTED */
    int64_t   number;  /* of the file that is sent now, or was last */
    int       fd;      /* the file that is sent now; -1: none is */
    uint64_t  left;    /* of it */
    size_t    credit;
    uint64_t  files, bytes; /* that were sent */
    size_t    skipped;      /* trees that this node is the source of */
    size_t    rows;         /* of this node in the table */
    bool      has_failed;   /* something could not be written there */
    bool      is_done;
};

struct bcast {
    struct trees  trees;
    struct copy  *copy; /* by node */
    size_t        window;
    struct groups failed; /* nodes by "what\npath\nwhy", safe to print */
    bool          is_cut; /* there were more of them */
};

static inline struct bcast *bcast_of(const struct run *run)
{
    return run->job_data;
}

/* bcast_report.c: node does not get this item of its tree, for that reason; what is as in
 * "cannot write". For the table of bcast_report(). */
void    bcast_failed(struct run *run, const struct node *node, size_t item, const char *what,
                     const char *why);
int     bcast_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *bcast_json(const struct run *run, int status);

#endif
