/* job.h - what muster-pmix must know of a run: its ranks, and on which nodes they are
 *
 * The agent sends it as JSON. Nodes are counted from 0, as in PMI_process_mapping.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PMIX_JOB_H
#define MUSTER_PMIX_JOB_H

#include <stddef.h>

#include <jansson.h>

#include "err.h"

#define JOB_NAMESPACE_MAX 128 /* characters; PMIx takes 255 */
#define JOB_RANKS_MAX     (1 << 20)

struct job {
    char *name;    /* the namespace, which only processes of this run know */
    int   size;    /* ranks of the run */
    int   nodes;
    int  *first;   /* by node: its first rank; and one more, which is size */
    int   node;    /* this one */
    int   ranks;   /* of this node */
};

/* {"namespace": "9f3c", "size": 8, "mapping": "(vector,(0,2,4))", "first": 4}: this node is the one
 * that begins with rank `first`. -1 with err; then job is empty. */
int  job_read(struct job *job, const json_t *body, struct error *err);
void job_clear(struct job *job);

/* Returns "4,5,6,7", the ranks of a node; the caller frees it. */
char *job_peers(const struct job *job, int node);

#endif
