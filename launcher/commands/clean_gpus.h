/* clean_gpus.h - what muster clean tells about processes that have GPUs open
 *
 * Those that are not of a run of muster are left alone, unless --kill-gpu means them.
 * found: the bodies of CLEANED, by node; NULL: there is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CLEAN_GPUS_H
#define MUSTER_CLEAN_GPUS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "run/run.h"

/* A PID is of one host. Returns 0, or an exit status after it reported the error to the user.
 */
int clean_gpus_check(const struct run *run);

/* Adds to CLEAN what --kill-gpu asks for. */
void clean_gpus_ask(const struct run *run, json_t *body);

/* "ended", "freed", "left", or "in use" if it was not asked for. */
const char *clean_gpus_state(const json_t *holder);

/* Is something still there that --kill-gpu asked for? */
bool clean_gpus_are_left(const struct run *run, const json_t *found);

/* Prints what was left alone, why, and the commands that end it. */
void clean_gpus_print(const struct run *run, const json_t *const *found, FILE *out);

#endif
