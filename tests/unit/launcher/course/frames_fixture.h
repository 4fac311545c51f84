/* frames_fixture.h - a run in which the test plays all parts but agent_frames.c
 *
 * The test notes the calls to the other parts. te1 and te2 run one rank each.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FRAMES_FIXTURE_H
#define MUSTER_FRAMES_FIXTURE_H

#include "run_fixture.h"

/* What the other parts return. */
extern double others_s; /* how long to wait for other ranks */
extern bool   awaits_others, is_checked, owes_answer, restarts_role;
extern bool   stayed[NODES]; /* phase.stayed */

/* For cmocka. */
int frames_fixture_begin(void **state);
int frames_fixture_end(void **state);

/* A watcher, and how often it was called. */
extern int starts_told;
void       note_start(void *arg);
/* The frame callback of a job that accepts only CLEANED. */
bool job_frame(struct run *of, struct node *which, const struct frame *frame,
               const json_t *body);

#endif
