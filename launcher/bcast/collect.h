/* collect.h - the state of a running `muster collect`, private to collect.c and
 * collect_report.c
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECT_H
#define MUSTER_COLLECT_H

#include "bcast/bcast_progress.h"
#include "bcast/collect_job.h"
#include "bcast/failures.h"
#include "buffer.h"
#include "copy/arriving.h"
#include "copy/bcast_receive.h"
#include "run/run.h"

#define HASHES_MAX 256u /* requests to a node without an answer */

/* What we collect from one node. */
struct gather {
    struct run           *run;
    struct node          *node;
    struct bcast_receive *receiver; /* NULL: not begun, or finished */
    struct arriving       arriving;
    unsigned              lists; /* LIST frames without an answer */
    bool                  is_listed;
    struct buffer         wanted; /* numbers of files, added by bcast_receive_entries() */
    size_t                next;   /* the file in wanted, and its chunk, whose hash to request
                                     next */
    uint32_t              index;
    uint32_t              hash_size[HASHES_MAX]; /* a ring: sizes of the chunks whose hashes
                                                    were requested */
    uint64_t              asked, hashed;
    uint64_t              pending; /* bytes of the chunks whose hashes are pending */
    struct event         *finish; /* NULL: something may still come */
    struct bcast_counts   counts;
    size_t                failures; /* rows of this node in the table */
    bool                  has_failed, is_full, is_done;
};

struct collect {
    struct gather  *gather; /* by node */
    size_t          window; /* bytes that may be requested from one node at a time */
    size_t          small_files;
    char           *to;    /* absolute; contains a folder for each node */
    struct buffer   paths; /* absolute, each terminated by NUL */
    struct failures failed;
    struct bcast_progress *progress; /* by node */
    struct event   *tick; /* NULL: no node has answered yet */
    int64_t         tick_ns;
};

/* collect_report.c */
int     collect_report(const struct run *run, int status, FILE *out, FILE *err);
json_t *collect_json(const struct run *run, int status);

#endif
