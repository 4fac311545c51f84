/* world.h - a cluster for tests: a struct observed that is true
 *
 * What is done in it is checked: it fails the test if a plan asks for what it must not.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_WORLD_H
#define MUSTER_TEST_WORLD_H

#include "life/plan.h"

extern int64_t world_now_s;
extern int64_t world_skew_s; /* of the clocks of nodes */

/* A job as submit makes it. */
void world_job(struct job *job, const char *workers, const char *launcher, const char *cleanup,
               const char *backoff);
/* Once in so many times. */
bool world_chance(int of);

void world_create(struct observed *world, const struct job *job, size_t number);
/* The first actions of a plan. */
void world_carry_out(struct observed *world, const struct job *job, const struct plan *plan,
                     size_t most);
/* Plan after plan, with nothing that happens in between; the kinds and numbers of all actions. */
void world_settle(struct observed *world, const struct job *job, char *log);
/* What is ending has ended. */
void world_end(struct observed *world);
void world_fail_pod(struct observed_object *pod, int exit_code, const char *reason);
/* One step of a Pod if all is well. */
void world_proceed(struct observed *world, const struct job *job, size_t number, bool is_friendly);
/* What somebody in a cluster, or the cluster in despair, does. */
void world_disturb(struct observed *world, size_t number);

#endif
