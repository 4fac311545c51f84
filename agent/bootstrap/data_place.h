/* data_place.h - what belongs on the data disk does not come onto the system's
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DATA_PLACE_H
#define MUSTER_AGENT_DATA_PLACE_H

#include "bootstrap/bootstrap.h"

/* If directory is at or below [data] mount, that must be mounted; if it is not, but an earlier step
 * of a plan would change something, the finding is_later. -1 with err: it is not mounted. */
int data_place_check(struct bootstrap *b, struct finding *finding, const char *directory,
                     struct error *err);

#endif
