/* ending.h - how a generation ended, as elastic/policy.h asks for it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENDING_H
#define MUSTER_ENDING_H

#include <stdbool.h>

#include "elastic/policy.h"

struct run;

/* Returns the event POLICY_EVENT_OVER of this generation. is_change: muster ended it because
 * the world must change. */
struct policy_event ending_describe(const struct run *run, bool is_change);

/* Must the run end, whatever failed first? */
bool ending_is_wanted(const struct run *run);

#endif
