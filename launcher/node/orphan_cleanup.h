/* orphan_cleanup.h - end what a node still runs when its agent is gone or does not answer
 *
 * Whoever kills the agent may have killed the guard too. Without a PID namespace, nobody then
 * looks after what the ranks have started. Whoever stops both leaves all of it running. If the
 * machine still answers, one more agent is sent there. By the name of the run, user and start
 * it finds processes that no agent looks after any more, ends them and an agent that is
 * stopped, and says so.
 *
 * This happens while the other nodes stop, and delays the end of the run by ORPHAN_CLEANUP_S
 * at most. A node to which no other connection can be made is not cleaned.
 *
 * Only orphan_cleanup.c writes node->cleanup.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ORPHAN_CLEANUP_H
#define MUSTER_ORPHAN_CLEANUP_H

#define ORPHAN_CLEANUP_S 10.0

struct node;
struct orphan_cleanup;

/* What was found; valid during the call of over. */
struct orphan_cleanup_result {
    int         ended, left; /* processes; -1: not known */
    const char *text;        /* the same for people */
};

typedef void orphan_cleanup_over_cb(struct node *node, const struct orphan_cleanup_result *result,
                                    void *arg);

/* Clean up a node that is NODE_FAILED after that run (copied: the plan may change meanwhile). over
 * comes once, from the event loop,
 * unless orphan_cleanup_end() comes first. */
void orphan_cleanup_start(struct node *node, const char *run_id, orphan_cleanup_over_cb *over,
                          void *arg);
/* Give up a cleanup that is under way, if there is one. */
void orphan_cleanup_end(struct node *node);

#endif
