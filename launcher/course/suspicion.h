/* suspicion.h - the nodes that have spoilt a generation: the next one does without them, and the
 * user's next runs know of them
 *
 * elastic/leave_out.h decides. The user learns what it decides, at once and by --json, and
 * history/suspects.h keeps it; a thread writes there, since a home directory may hang.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SUSPICION_H
#define MUSTER_SUSPICION_H

#include <stdbool.h>

#include "elastic/policy.h"

struct run;
struct suspicion;

/* Makes run->suspicion; frees it after all was written, or 5 s (NULL is fine). */
void suspicion_open(struct run *run);
void suspicion_close(struct suspicion *suspicion);

/* A generation is over. Takes the places of nodes that have spoilt it. If the evidence shows that
 * one of them is broken, event becomes that of a lost node, as which it does not count as a
 * restart. */
void suspicion_judge(struct run *run, struct policy_event *event);
/* Says which nodes these were. goes_on: another generation follows. */
void suspicion_tell(struct run *run, bool goes_on);

#endif
