/* session_fixture.h - an agent in the middle of a run, for tests: the launcher and the guard are
 * descriptors that the test reads and writes
 *
 * Nothing is forked and nothing is named in the environment; what the guard would report the test
 * hands to ranks_exited() and ending_empty() itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_SESSION_FIXTURE_H
#define MUSTER_TEST_SESSION_FIXTURE_H

#include <stdbool.h>

#include <jansson.h>

#include "session/agent.h"

#define RANKS_MAX  4
#define FIRST_RANK 6 /* the number of the first one here in the whole run */
#define TOKEN      "00112233445566778899aabbccddeeff"

struct world {
    struct agent     agent;
    int              launcher, guard; /* their ends; guard -1: there is none */
    struct evbuffer *heard;           /* by the launcher, and not looked at */
    int              writer[RANKS_MAX]; /* the end of stdout that the rank has; -1: closed */
    int              losses;          /* of the link */
    struct error     why;             /* of the last one */
};

/* Ranks that run, each with a pipe as its stdout; 0: PLAN has not come, and there is no guard. */
struct world *world_new(int ranks);
void          world_free(struct world *world);

/* What is ready now. */
void world_turn(struct world *world);
/* Turns until the launcher hears a frame of that type; its body (caller releases), or NULL if it
 * has none. Frames before it are dropped; if was is not NULL it is the frame, without a body. */
json_t *world_hear(struct world *world, enum frame_type type, struct frame *was);
/* Turns once: has that frame come? It stays. */
bool world_has(struct world *world, enum frame_type type);
/* The grace of the next STOP that the guard got; -1: none. */
double world_stop_s(struct world *world);

/* The guard reports that this rank (0: the first one here) has ended with 0. */
void world_rank_ends(struct world *world, int index);
/* Its stdout ends. */
void world_close_output(struct world *world, int index);

#endif
