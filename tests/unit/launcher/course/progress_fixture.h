/* progress_fixture.h - a run in which the test plays all parts but the nodes, phase.c and
 * progress.c
 *
 * The test notes the calls to the other parts. te1 and te2 have places and are not connected
 * yet; te3 is a spare.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROGRESS_FIXTURE_H
#define MUSTER_PROGRESS_FIXTURE_H

#include "node/node_job.h"
#include "run_fixture.h"

/* What the other parts return. */
extern bool goes_on, may_restart, asks_again, is_one_machine, pool_is_gone;
extern int  refused;  /* the node whose HELLO is refused, or one of the constants below */
extern int  looks;    /* how often run_changed() was called */
extern int  compared; /* how many nodes shared_machine_find() got last */
extern bool has_left[HOSTS]; /* stacks.c was told that the node has left */
#define NOTHING (-1)
#define PLAN_TOO_LARGE (-2)
#define NO_PLACE (-3)

/* The calls when all nodes get their plans, and when their ranks start. */
#define PLANNED "plan te1 of 2: credit 100;plan te2 of 2: credit 101;"
#define GOING "clocks;deadline;costs;status;"

/* The terms of each node's last plan. */
extern struct terms {
    uint32_t generation;
    double   window_s, replace_s;
    bool     has_socket, is_shared, is_local, is_check, stays;
} terms[HOSTS];
extern const struct plan *world; /* of which nodes are expected to stop: the plan */

/* For cmocka. */
int progress_fixture_begin(void **state);
int progress_fixture_end(void **state);

/* Gives te3 a place, too. */
void three_places(void);

struct fake_conn *agent(size_t which);
/* Delivers the node's HELLO. */
void answers(size_t which);
/* Every node has a plan, or GO; forgets all calls and frames until then. */
void prepared(void);
void running(void);
/* The node's part of this generation is over. */
void stays(size_t which);
/* A generation has run and is over; another one may follow. */
void all_stay(void);
/* Ends the cleanup that was begun last. */
void cleaned(const char *text);

/* Returns the name of the next frame to that node other than PING; NULL: none. */
const char *sent(size_t which);
void        expect_sent(size_t which, enum frame_type type);

#endif
