/* plan_encode.h - what one agent is told: the plan of its node as frames
 *
 * BLOB frames for everything that must arrive byte for byte, then one PLAN
 * frame that names them (doc/PROTOCOL section 4). Equal blobs are sent once:
 * ranks that share an argv share its blob.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_ENCODE_H
#define MUSTER_PLAN_ENCODE_H

#include <stdint.h>

#include <event2/buffer.h>

#include "options/options.h"
#include "plan/plan.h"

#define PLAN_BLOBS_MAX (64u * 1024 * 1024) /* bytes for a node, as PROTOCOL says */

/* What this start of it adds to the plan. */
struct plan_terms {
    uint32_t    generation;
    uint32_t    credit;         /* OUTPUT bytes the agent may send at first */
    const char *socket, *token; /* where the agent lets us back in, by which secret; "": nowhere */
    double      window_s;       /* so long may we take to come back */
};

/* Append the frames for plan->node[node]. -1 when it is too large to send. */
int plan_encode(const struct plan *plan, size_t node, const struct options *options,
               const struct plan_terms *terms, struct evbuffer *out, struct error *err);

#endif
