/* lease.h - which of several controllers acts: a Lease in the cluster, as Kubernetes' own have one
 *
 * The holder renews it. Another one takes it when it has not changed for its duration, by the clock
 * of the one who waits, so clocks need not agree. Two who act at once do no harm (life/plan.h): the
 * Lease saves them the work.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEASE_H
#define MUSTER_LEASE_H

#include "commands/place.h"

#define LEASE_S       15
#define LEASE_RENEW_S 5
#define LEASE_LOOK_S  2 /* of who does not have it */

struct lease {
    const struct place *place;
    const char         *name;
    char                identity[200];
    bool                is_held;
    char                holder[200];     /* when last seen */
    char                version[64];     /* its resourceVersion then */
    int64_t             changed_ns;      /* since when it is that version */
    int64_t             next_ns;         /* when to look, or to renew */
};

/* identity: of this controller; NULL: host and process. Both borrowed. */
void lease_begin(struct lease *lease, const struct place *place, const char *name,
                 const char *identity);

/* In each round. 1: it is ours, so act; 0: another has it; -1. */
int lease_step(struct lease *lease, struct error *err);

/* Let another one have it at once. */
void lease_end(struct lease *lease);

/* What a Lease's document says, seen now: may we write ourselves into it? */
bool lease_may_take(struct lease *lease, const json_t *document, int64_t now_ns);

#endif
