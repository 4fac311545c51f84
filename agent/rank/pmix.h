/* pmix.h - muster-pmix, by which the ranks of Open MPI find each other
 *
 * libpmix cannot be part of an agent that needs nothing on its node. So muster-pmix is a program of
 * its own, on nodes where it is installed. The guard starts it before the ranks, and it ends after
 * them. To the agent it is the ranks: it speaks PMI-1 on the connection of each (pmi.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PMIX_H
#define MUSTER_AGENT_PMIX_H

#include <event2/event.h>

#include "guard/guard.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "strlist.h"

#define PMIX_DEADLINE_S 20

struct pmix;

struct pmix_ops {
    /* The server is there. */
    void (*ready)(void *arg);
    /* It could not start, or has ended before the ranks: called once, perhaps at once. */
    void (*failed)(const struct failure *failure, void *arg);
};

/* Returns the path of muster-pmix, along PATH of env or else where it is installed; the caller
 * frees it. NULL: it is not on this node. */
char *pmix_find(const struct strlist *env);

/* generation: of the ranks. env: for muster-pmix. */
struct pmix *pmix_start(struct event_base *base, struct guard *guard,
                        const struct node_plan *plan, unsigned generation, const char *path,
                        const struct strlist *env, const struct pmix_ops *ops, void *arg);
void         pmix_free(struct pmix *pmix);

/* Adds what a rank needs to find the server, once that is ready. */
void pmix_env(const struct pmix *pmix, int local, struct strlist *env);
/* Gives it the connection of the next rank; the caller keeps fd. */
void pmix_give(struct pmix *pmix, int fd);

/* The ranks have ended: so shall the server. */
void pmix_end(struct pmix *pmix);
/* The guard has reported its end. */
void pmix_exited(struct pmix *pmix, const struct guard_message *message);

#endif
