/* ready_report.h - what READY tells: how ranks are contained on this node, and what may be
 * in their way
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_READY_REPORT_H
#define MUSTER_AGENT_READY_REPORT_H

#include <jansson.h>

struct agent;

/* The caller releases it. */
json_t *ready_report_body(const struct agent *agent);

#endif
