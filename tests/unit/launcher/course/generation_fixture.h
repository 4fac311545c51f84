/* generation_fixture.h - a run in which the test plays all parts but generation.c
 *
 * The test notes the calls to the other parts. te1 and te2 have places, te3 is a spare.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATION_FIXTURE_H
#define MUSTER_GENERATION_FIXTURE_H

#include "run_fixture.h"

extern struct member_rules rules; /* the options' rules for members */
/* What the other parts return. */
extern bool        is_interrupted, is_late, has_hung, was_noticed;
extern bool        is_ending;  /* the pool's nodes leave */
extern bool        is_refused; /* world_change() fails */
extern const char *change_due; /* the reason for another world; NULL: that is not due */
extern bool        knows_progress; /* steps were seen, but not in this generation */
extern int         forgotten;  /* how many parts have forgotten the last generation */
#define FORGETTING 13          /* how many keep state of it */
/* spare_connect() calls it; NULL: nothing. */
extern void (*on_connect)(void);

/* For cmocka. The test may change the options, then calls begin(). */
int generation_fixture_begin(void **state);
int generation_fixture_end(void **state);

/* Allows the world to change its size. */
void elastic(void);
/* Starts the first generation. */
void begin(void);
/* The same; then rank 0 fails, and the run waits until restart_is_due(). */
void begin_restart(void);
/* Expects the calls that follow. */
void restart_is_due(const char *what);

void rank_ends(int rank, int code);
void node_is_lost(size_t which);
/* Lets the other nodes stay, which ends this generation. Expects the calls up to then. */
void over_then(const char *what);
/* Lets the next generation run. */
void runs(void);

/* Something has changed. Expects the calls that follow at once. */
void look_then(const char *what);
/* The same when another world is due. */
void change_then(const char *reason, const char *what);
/* The cloud takes the host away in left_s seconds (reason: spot). */
void departs(size_t which, double left_s);

#endif
