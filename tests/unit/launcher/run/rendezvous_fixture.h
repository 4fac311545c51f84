/* rendezvous_fixture.h - two nodes that muster asks where the ranks meet
 *
 * The fixture plays the phase and the generation. The agents of the nodes are fakes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RENDEZVOUS_FIXTURE_H
#define MUSTER_RENDEZVOUS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "run_fixture.h"

#define LISTENS 4000 /* te1 listens on this port */

extern bool goes_on; /* the run can continue without nodes */

/* Both nodes are connected and have sent HELLO; muster has asked them nothing yet. */
int rendezvous_setup(void **state);
int rendezvous_teardown(void **state);

/* The questions of muster: to te1, and the last one to te2. */
void expect_listen(void);
void expect_port(int wanted, bool wants_it_only);
void expect_connect(void);

/* The answers of the nodes; answer() takes over body. */
void answer(size_t which, json_t *body);
void first_listens(void);
void first_holds(int port);
void second_reaches(const char *address);
void second_reaches_none(void);

void expect_failure(size_t which, const char *stage, int exit_code, const char *text);

#endif
