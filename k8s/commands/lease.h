/* lease.h - decides which of several controllers acts, by a Lease in the cluster
 *
 * Kubernetes' own controllers do the same. The holder renews the Lease. Another controller
 * takes it when it has not changed for its duration, by the clock of the controller that waits,
 * so clocks need not agree. Two controllers that act at once do no harm (life/plan.h); the
 * Lease saves work.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEASE_H
#define MUSTER_LEASE_H

#include "commands/place.h"

#define LEASE_S       15
#define LEASE_RENEW_S 5
#define LEASE_LOOK_S  2 /* for a controller that does not hold it */

struct lease {
    const struct place *place;
    const char         *name;
    char                identity[200];
    bool                is_held;
    char                holder[200];     /* when last seen */
    char                version[64];     /* resourceVersion when last seen */
    int64_t             changed_ns;      /* when that version was first seen */
    int64_t             next_ns;         /* when to look, or to renew */
};

/* identity: of this controller, copied; NULL: host and process. place and name are borrowed. */
void lease_begin(struct lease *lease, const struct place *place, const char *name,
                 const char *identity);

/* Call it in each round. 1: we hold the Lease, so act; 0: another controller does; -1. */
int lease_step(struct lease *lease, struct error *err);

/* Releases the Lease, so that another controller can take it at once. */
void lease_end(struct lease *lease);

/* Reads a Lease's document, seen at now_ns: may we make ourselves its holder? */
bool lease_may_take(struct lease *lease, const json_t *document, int64_t now_ns);

#endif
