/* frames_fixture.h - a run, of which all but agent_frames.c is the test
 *
 * The test notes what the other parts are told. te1 and te2 run a rank each.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FRAMES_FIXTURE_H
#define MUSTER_FRAMES_FIXTURE_H

#include "run_fixture.h"

/* What the other parts say. */
extern double others_s; /* how long others are waited for */
extern bool   awaits_others, is_checked, owes_answer;
extern bool   stayed[NODES]; /* phase.stayed */

/* For cmocka. */
int frames_fixture_begin(void **state);
int frames_fixture_end(void **state);

/* Of a watcher: how often it was told. */
extern int starts_told;
void       note_start(void *arg);
/* Of a job that awaits CLEANED only. */
bool job_frame(struct run *of, struct node *which, const struct frame *frame, const json_t *body);

#endif
