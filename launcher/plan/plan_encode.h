/* plan_encode.h - the plan of one node as frames for its agent
 *
 * BLOB frames carry everything that must arrive byte for byte; then one PLAN frame refers to
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

#define PLAN_BLOBS_MAX (64u * 1024 * 1024) /* bytes per node, see PROTOCOL */

/* Parameters of this start that are not in the plan. */
struct plan_terms {
    bool        is_shared;      /* another node of the run is the same machine */
    uint32_t    generation;
    uint32_t    credit;         /* OUTPUT bytes that the agent may send at first */
    const char *socket, *token; /* reconnect socket of the agent, and its secret; "": none */
    double      window_s;       /* how long the agent waits for a reconnection */
    bool        is_local;       /* the agent is our child */
    bool        is_check;       /* the ranks will not start, so the agent must write no files */
    int         rows, columns;  /* of the user's terminal */
    bool        stays;          /* after its ranks the agent waits for another generation */
    double      replace_s;      /* time for a run of the same name to end; 0: none may run */
};

/* Appends the frames for plan->node[node]. Returns -1 if they are too large to send. */
int plan_encode(const struct plan *plan, size_t node, const struct options *options,
               const struct plan_terms *terms, struct evbuffer *out, struct error *err);

#endif
