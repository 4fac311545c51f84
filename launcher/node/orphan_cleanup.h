/* orphan_cleanup.h - ends what a node still runs when its agent is gone or does not answer
 *
 * A signal that killed the agent may have killed the guard too. Without a PID namespace, the
 * processes that the ranks started are then orphans. If agent and guard are only stopped,
 * everything keeps running. If the machine still answers, muster starts one more agent there.
 * That agent finds orphans by run id, user and start time, kills them and a stopped agent, and
 * reports them.
 *
 * This happens while the other nodes stop, and delays the end of the run by at most
 * ORPHAN_CLEANUP_S. A node that muster cannot connect to again is not cleaned up.
 *
 * Only orphan_cleanup.c writes node->cleanup.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ORPHAN_CLEANUP_H
#define MUSTER_ORPHAN_CLEANUP_H

#define ORPHAN_CLEANUP_S 10.0

struct node;
struct orphan_cleanup;

/* The result; valid only while over runs. */
struct orphan_cleanup_result {
    int         ended, left; /* processes; -1: unknown */
    const char *text;        /* the same, for the user */
};

typedef void orphan_cleanup_over_cb(struct node *node, const struct orphan_cleanup_result *result,
                                    void *arg);

/* Cleans up a node that is NODE_FAILED after that run. run_id is copied, since the plan may
 * change before it is used. over is called once, from the event loop, unless
 * orphan_cleanup_end() is called first. */
void orphan_cleanup_start(struct node *node, const char *run_id, orphan_cleanup_over_cb *over,
                          void *arg);
/* Abandons the cleanup, if there is one. */
void orphan_cleanup_end(struct node *node);

#endif
