/* generation_fixture.h - a run, of which all but generation.c is the test
 *
 * The test notes what the other parts are told. te1 and te2 have places, te3 is a spare.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATION_FIXTURE_H
#define MUSTER_GENERATION_FIXTURE_H

#include "run_fixture.h"

extern struct member_rules rules; /* what the options say of members */
/* What the other parts say. */
extern bool is_interrupted, is_late, has_hung, was_noticed;
extern bool is_refused; /* there can be no such world */
extern int  forgotten;  /* how many have forgotten the last generation */
#define FORGETTING 7    /* so many keep something of it */

/* For cmocka. After it, the options may be changed; then begin(). */
int generation_fixture_begin(void **state);
int generation_fixture_end(void **state);

/* The world may have another size. */
void elastic(void);
/* The first generation runs. */
void begin(void);

void rank_ends(int rank, int code);
void node_is_lost(size_t which);
/* The other nodes stay, and this generation is over: that is what is done then, and before. */
void over_then(const char *what);
/* What follows runs. */
void runs(void);

#endif
