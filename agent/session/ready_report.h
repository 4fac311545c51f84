/* ready_report.h - the body of READY: how ranks are contained on this node, and
 * problems that they may meet
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_READY_REPORT_H
#define MUSTER_AGENT_READY_REPORT_H

#include <jansson.h>

struct agent;

/* The caller releases it. */
json_t *ready_report_body(const struct agent *agent);

#endif
