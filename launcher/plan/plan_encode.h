/* plan_encode.h - the plan of one node as frames for its agent
 *
 * BLOB frames for everything that must arrive byte for byte, then one PLAN frame that names
 * them (doc/PROTOCOL section 4). Equal blobs are sent once: ranks that share an argv share its
 * blob.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_ENCODE_H
#define MUSTER_PLAN_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>

#include "options/options.h"
#include "plan/plan.h"

#define PLAN_BLOBS_MAX (64u * 1024 * 1024) /* bytes for a node, as PROTOCOL says */

/* What belongs to this start and is not in the plan. */
struct plan_terms {
    bool        is_shared;      /* another node of the run is the same machine */
    uint32_t    generation;
    uint32_t    credit;         /* OUTPUT bytes that the agent may send at first */
    const char *socket, *token; /* reconnect socket of the agent, and its secret; "": none */
    double      window_s;       /* how long the agent waits for a reconnection */
    bool        is_local;       /* it is a child of ours */
    bool        is_check;       /* nothing is to be written: the ranks will not start */
    bool        stays;          /* when all is over there: for another generation */
    double      replace_s;      /* for another run of this name to end; 0: it must not run */
};

/* Append the frames for plan->node[node]. -1 when it is too large to send. */
int plan_encode(const struct plan *plan, size_t node, const struct options *options,
               const struct plan_terms *terms, struct evbuffer *out, struct error *err);

#endif
