/* done_report.h - what is said with DONE: what is left on this node, what output was lost
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DONE_REPORT_H
#define MUSTER_AGENT_DONE_REPORT_H

#include <jansson.h>

struct agent;

/* The caller releases it. */
json_t *done_report_body(const struct agent *agent);

#endif
