/* doctor.h - muster doctor: what is wrong with the nodes, before a run finds out
 *
 * Round 0 asks each node about itself (agent/doctor), round 1 lets all nodes call each other.
 * What they say is compared (judge.h), and printed as one table (findings.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DOCTOR_H
#define MUSTER_DOCTOR_H

#include "node/node_job.h"

extern const struct node_job doctor_job;

#endif
