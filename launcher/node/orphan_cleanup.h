/* orphan_cleanup.h - what a node still runs when its agent is gone, or does not answer
 *
 * Who kills the agent may have killed the guard too, and where no PID namespace was to be
 * had, what the ranks had started is then nobody's. Who stops both leaves all of it running.
 * The machine still answers: one more agent is sent there, which finds by name of the run,
 * user and start what no agent looks after any more, ends it and an agent that is
 * stopped, and says so.
 *
 * It goes on beside the stopping of the other nodes, and holds the run up for ORPHAN_CLEANUP_S at
 * most. A node to which no other connection could be made either is not cleaned.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ORPHAN_CLEANUP_H
#define MUSTER_ORPHAN_CLEANUP_H

#include "node/node.h"

#define ORPHAN_CLEANUP_S 10.0

struct orphan_cleanup;

struct orphan_cleanup_ops {
    /* It is over, once; free it now. ended, left: processes, -1 where nothing could be
     * learned; text says it for people. */
    void (*over)(struct node *node, int ended, int left, const char *text, void *arg);
};

/* Sweep a node that is NODE_FAILED, of what that run has left there. */
struct orphan_cleanup *orphan_cleanup_start(struct node *node, const char *run_id, const struct orphan_cleanup_ops *ops,
                          void *arg);
void          orphan_cleanup_free(struct orphan_cleanup *cleanup);

#endif
