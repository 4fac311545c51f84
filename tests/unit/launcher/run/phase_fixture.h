/* phase_fixture.h - a run, of which all but phase.c and its nodes is the test
 *
 * The test notes what the other parts are told. te1 and te2 have places and wait to be connected;
 * te3 is a spare.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PHASE_FIXTURE_H
#define MUSTER_PHASE_FIXTURE_H

#include "node/node_job.h"
#include "run_fixture.h"

/* What the other parts say. */
extern bool goes_on, asks_again, is_one_machine, pool_is_gone;
extern int  refused; /* the HELLO of that node; NOTHING, or one of the others */
extern int  looks;   /* how often it was asked whether this generation is over */
#define NOTHING        (-1)
#define PLAN_TOO_LARGE (-2)
#define NO_PLACE       (-3)

/* What is told when all of them are planned, and when their ranks start. */
#define PLANNED "plan te1 of 2: credit 100;plan te2 of 2: credit 101;"
#define GOING   "clocks;deadline;costs;status;notice;changed;"

/* With what each was last planned. */
extern struct terms {
    uint32_t generation;
    double   window_s, replace_s;
    bool     has_socket, is_shared, is_local, is_check, stays;
} terms[HOSTS];

/* For cmocka. */
int phase_fixture_begin(void **state);
int phase_fixture_end(void **state);

/* te3 has one, too. */
void three_places(void);

struct fake_conn *agent(size_t which);
/* Its HELLO comes. */
void answers(size_t which);
/* Every node has a plan, or GO; what was told and sent until then is forgotten. */
void prepared(void);
void running(void);
/* Its part of this generation is over. */
void stays(size_t which);
/* A generation has run and is over, and another one may follow. */
void all_stay(void);
/* The cleanup that was begun last is over. */
void cleaned(const char *text);

/* The name of the next frame to that node but PING; NULL: there is none. */
const char *sent(size_t which);
void        expect_sent(size_t which, enum frame_type type);

#endif
