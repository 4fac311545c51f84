/* run_status.h - the state of a run, for muster status: status.json in its directory
 *
 *     {"state": "running", "generation": 0, "max_restarts": 3,
 *      "ranks": [{"rank": 0, "node": "te1", "pid": 4711, "state": "running",
 *                 "started_ns": ..., "said_ns": ...}, ...],
 *      "world": (world.h)}
 *
 * said_ns is when the rank's last output came. Both times are from this machine's monotonic
 * clock, so that no rank looks silent after the system time is set; 0: not yet.
 *
 * The file is in a home directory that may be on a slow network, so muster writes it only when
 * needed: when muster status asks (SIGURG), when a rank, a node or the run has changed its
 * state, and once a minute while ranks write output. Except for SIGURG it waits for a
 * heartbeat.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_STATUS_H
#define MUSTER_RUN_STATUS_H

#include <stdint.h>

struct run;
struct run_status;

/* Call the first when the run has its directory, the second when it is over (NULL is fine). */
struct run_status *run_status_new(const struct run *run);
void               run_status_free(struct run_status *status);

/* Called when all ranks start again. */
void run_status_again(struct run *run);

/* Makes room for the ranks of a changed plan. */
void run_status_make_room(struct run *run);

/* Note that a rank has started, or has written output. */
void run_status_rank_started(struct run *run, uint32_t rank);
void run_status_rank_said(struct run *run, uint32_t rank);

/* Writes the file if the state has changed. Called with each heartbeat. */
void run_status_beat(struct run *run);
/* Writes the file now, since muster status asks for it. */
void run_status_ask(struct run *run);

#endif
