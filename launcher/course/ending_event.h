/* ending_event.h - for the program of --on-event: how a generation ended, and the run; which nodes
 * have left or come
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENDING_EVENT_H
#define MUSTER_ENDING_EVENT_H

#include "elastic/policy.h"
#include "strlist.h"

struct plan;
struct run;

/* If the generation that is over has failed, tell "failed": another one follows, and why is from
 * generation_why_words(); or none follows. */
void ending_event_restart(struct run *run, enum policy_end end, const char *why);
void ending_event_last(struct run *run);
/* The same for one role, whose next generation follows. */
void ending_event_role(struct run *run, const struct plan *role, const char *why);

/* Returns the hosts of the present world. Caller clears. */
struct strlist ending_event_hosts(const struct run *run);
/* The world has changed: tells "node_left" and "node_came", if it has other hosts than before. */
void ending_event_nodes(struct run *run, const struct strlist *before);

/* Tells "ended". */
void ending_event_run(struct run *run, int status);

#endif
