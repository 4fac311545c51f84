/* run_fixture.h - a run of two nodes and a spare, whose agents are fakes
 *
 * A test of one part of the run plays the other parts: it defines their functions, and notes
 * the calls.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_FIXTURE_H
#define MUSTER_RUN_FIXTURE_H

#include "elastic/membership.h"
#include "fake_conn.h"
#include "run/run.h"

#define HOSTS 3 /* te1 and te2 have places, te3 is a spare */
#define NODES 2

extern const char *const names[HOSTS];

extern struct options    options;
extern struct plan       plan;
extern struct plan_node  plan_node[HOSTS];
extern struct node       node[HOSTS]; /* running, on the fakes of the same number */
extern struct node      *nodes[NODES];
extern struct membership members; /* the first two are in; the spare waits */
extern struct run        run;     /* the same two; its parts are NULL */

void run_fixture_begin(void);
void run_fixture_end(void);

/* Runs the event loop for that long. */
void run_fixture_turn(double seconds);

/* Notes a call to a part of the run. */
void told(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Expects these calls since the last expect_told(), in order. */
void expect_told(const char *text);
void forget_told(void);

/* Keeps what is logged from now on, as "test: warning: ...", until run_fixture_end(). */
void run_fixture_log(void);
/* Expects these lines since the last expect_logged(); "*" stands for digits. */
void expect_logged(const char *text);
void forget_logged(void);

#endif
