/* run_status.h - how a run stands, for muster status: status.json of its directory
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_STATUS_H
#define MUSTER_RUN_STATUS_H

#include <stdint.h>

struct run;
struct run_status;

/* The run has its directory. */
void run_status_begin(struct run *run);
void run_status_end(struct run *run);

/* A rank has started, or said something. */
void run_status_rank_started(struct run *run, uint32_t rank);
void run_status_rank_said(struct run *run, uint32_t rank);

/* With each heartbeat; at once. */
void run_status_beat(struct run *run);
void run_status_write(struct run *run);

#endif
