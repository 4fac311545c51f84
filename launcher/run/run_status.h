/* run_status.h - the state of a run, for muster status: status.json in its directory
 *
 *     {"state": "running", "generation": 0, "max_restarts": 3,
 *      "ranks": [{"rank": 0, ["role": "train",] "node": "te1", "pid": 4711, "state": "running",
 *                 "started_ns": ..., "said_ns": ...}, ...],
 *      ["metrics": "http://127.0.0.1:9464/metrics",]
 *      "world": (run_status_world), "page": (page/page_view.h)}
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

#include <jansson.h>

struct plan;
struct run;
struct run_status;

/* Call the first when the run has its directory, the second when it is over (NULL is fine). page:
 * returns what muster status --html shows, a new object that becomes "page" in the file. */
struct run_status *run_status_new(const struct run *run, json_t *(*page)(const struct run *run));
void               run_status_free(struct run_status *status);

/* Called when the ranks of that world (the plan, or a role) start again. */
void run_status_again(struct run *run, const struct plan *world);

/* Makes room for the ranks of a changed plan. */
void run_status_make_room(struct run *run);

/* Note that a rank has started, or has written output. */
void run_status_rank_started(struct run *run, uint32_t rank);
void run_status_rank_said(struct run *run, uint32_t rank);

/* Writes the file if the state has changed. Called with each heartbeat. */
void run_status_beat(struct run *run);
/* Writes the file now, since muster status asks for it. */
void run_status_ask(struct run *run);

/* Returns the world for a later muster resume; status.json and result.json keep it:
 *
 *     {"nodes": [{"host": "te1", "ranks": 8, "is_here": true}, ...], "target": 3,
 *      "batch": [256, 4, 2]}
 *
 * nodes are in the order of their node ranks; is_here is false for a node that was lost or will
 * leave. target is the number that muster scale or --num_nodes has asked for (0: none). batch
 * is that of the first world of the run: total, micro batch, steps. NULL: this run cannot lose
 * nodes. Caller frees. */
json_t *run_status_world(const struct run *run);

#endif
