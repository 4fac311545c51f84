/* run_status.h - how a run stands, for muster status: status.json of its directory
 *
 *     {"state": "running", "generation": 0, "max_restarts": 3,
 *      "ranks": [{"rank": 0, "node": "te1", "pid": 4711, "state": "running",
 *                 "started_ns": ..., "said_ns": ...}, ...],
 *      "world": (world.h)}
 *
 * said_ns is when the rank's last byte came. Both times are of this machine's monotonic clock,
 * so that setting the time makes no rank look silent, and 0 when it has not happened.
 *
 * The file is in a home that may be far away, so it is not written more than needed: when
 * muster status asks (SIGURG), when a rank, a node or the run has changed its state, and once a
 * minute while ranks write output; always at a heartbeat, except when asked.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_STATUS_H
#define MUSTER_RUN_STATUS_H

#include <stdint.h>

struct run;
struct run_status;

/* The run has its directory; it is over, and NULL is fine. */
struct run_status *run_status_new(const struct run *run);
void               run_status_free(struct run_status *status);

/* All ranks start again. */
void run_status_again(struct run *run);

/* There are so many ranks now. */
void run_status_make_room(struct run *run);

/* A rank has started, or written something. */
void run_status_rank_started(struct run *run, uint32_t rank);
void run_status_rank_said(struct run *run, uint32_t rank);

/* With each heartbeat: write what has changed. */
void run_status_beat(struct run *run);
/* Somebody wants to know how it stands now. */
void run_status_ask(struct run *run);

#endif
