/* done_report.h - the body of DONE: remaining processes of this node, lost output
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DONE_REPORT_H
#define MUSTER_AGENT_DONE_REPORT_H

#include <jansson.h>

struct agent;

/* The caller releases it. */
json_t *done_report_body(const struct agent *agent);

#endif
