/* world_fixture.h - a run between two generations in which the test plays all parts but world.c
 *
 * The test notes the calls to the other parts. te1 and te2 have places, with two ranks each,
 * and stay; te3 is a spare.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WORLD_FIXTURE_H
#define MUSTER_WORLD_FIXTURE_H

#include "run_fixture.h"

extern struct host      host[HOSTS];
extern struct selected  selected[HOSTS];
extern struct selection hosts; /* all three */
extern struct node     *spare; /* in the pool; NULL: it has a place */

extern struct member_rules *const rules; /* of the run; the world may not change its size */

/* The calls to the parts that keep state per node, if there are two nodes. */
#define ROOM "phase;flow 2;deadline 2;hang;stacks;keys;labels;status;steps;"

/* For cmocka. */
int world_fixture_begin(void **state);
int world_fixture_end(void **state);

/* Makes another agent on that host, which waits for a place. */
struct node *waiting(size_t which);
void         no_spare(void);
/* Allows the world to change its size. */
void elastic(void);
/* Changes the world to these hosts; forgets the calls before. */
void change(size_t first, size_t second, size_t places);

#endif
