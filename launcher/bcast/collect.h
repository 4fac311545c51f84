/* collect.h - `muster collect` while it is running: what collect.c and collect_report.c share, and
 * nobody else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECT_H
#define MUSTER_COLLECT_H

#include "bcast/collect_job.h"
#include "bcast/failures.h"
#include "bcast/pace.h"
#include "buffer.h"
#include "copy/arriving.h"
#include "copy/bcast_receive.h"
#include "run/run.h"

#define HASHES_MAX 256u /* asked of a node, and not answered */

/* The files of one node. */
struct gather {
    struct run           *run;
    struct node          *node;
    struct bcast_receive *receiver; /* NULL: not begun, or over */
    struct arriving       arriving;
    unsigned              lists; /* LIST that are not answered */
    bool                  is_listed;
    struct buffer         wanted; /* numbers of files, as bcast_receive_entries() adds them */
    size_t                next;   /* of them, and its chunk: to ask for the hash of */
    uint32_t              index;
    uint32_t              hash_size[HASHES_MAX]; /* a ring: chunks whose hash was asked for */
    uint64_t              asked, hashed;
    uint64_t              pending; /* bytes of those chunks */
    struct bcast_counts   counts;
    size_t                failures; /* rows of this node in the table */
    bool                  has_failed, is_full, is_done;
};

struct collect {
    struct gather  *gather; /* by node */
    size_t          window; /* bytes that one node may be asked for at a time */
    size_t          small_files;
    char           *to;    /* absolute; below it a folder for each node */
    struct buffer   paths; /* absolute, each ended by NUL */
    struct failures failed;
    struct pace    *pace; /* by node */
    struct event   *tick; /* NULL: no node has answered yet */
    int64_t         tick_ns;
};

/* collect_report.c */
int     collect_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *collect_json(const struct run *run, int status);

#endif
