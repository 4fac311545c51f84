/* step_report.h - the body of STEPS: which steps the ranks of this node have reported
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STEP_REPORT_H
#define MUSTER_AGENT_STEP_REPORT_H

#include <jansson.h>

struct ranks;

/* Returns a new object about the ranks that have reported a step since the last call; NULL: no
 * rank has. */
json_t *step_report(struct ranks *ranks);

#endif
