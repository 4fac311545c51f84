/* doctor.h - muster doctor: finds problems of the nodes before a run does
 *
 * Round 0 asks each node about itself (agent/doctor), round 1 makes all nodes connect to each
 * other. judge.h compares the answers, and findings.h prints one table.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DOCTOR_H
#define MUSTER_DOCTOR_H

#include "node/node_job.h"

extern const struct node_job doctor_job;

#endif
