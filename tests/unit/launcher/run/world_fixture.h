/* world_fixture.h - a run between two generations, of which all but world.c is the test
 *
 * The test notes what the other parts are told. te1 and te2 have places, with two ranks each, and
 * stay; te3 is a spare.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WORLD_FIXTURE_H
#define MUSTER_WORLD_FIXTURE_H

#include "run_fixture.h"

extern struct host         host[HOSTS];
extern struct selected     selected[HOSTS];
extern struct selection    hosts; /* all three */
extern struct member_rules rules; /* the world may not have another size */
extern struct node        *spare; /* the pool's; NULL: it has a place */

/* What those are told that keep something by node, if there are two nodes. */
#define ROOM "phase;flow 2;deadline 2;hang;kvs 2;labels;status;"

/* For cmocka. */
int world_fixture_begin(void **state);
int world_fixture_end(void **state);

/* Another agent on that host, which waits for a place. */
struct node *waiting(size_t which);
void         no_spare(void);
/* The world may have another size. */
void elastic(void);
/* That is the world now; what was told before is forgotten. */
void change(size_t first, size_t second, size_t places);

#endif
