/* gate.h - is this node fit for another generation of ranks?
 *
 * Before each generation an agent checks what a failure of the last one may have left, and what
 * has broken meanwhile:
 *
 *     storage     the working directory, and the directory of the script, answer
 *     ports       InfiniBand ports that were active at the first gate are active
 *     gpus        the GPUs of the plan answer and need no reset, and their NVLinks are as at
 *                 the first gate; after that one, no process holds them, and their memory is
 *                 free
 *     program     the program of --health-check exits with 0; when the others have passed
 *
 * All that may block is done by children with a deadline (task.h), one for each check. Where no
 * storage of others, no port and no GPU is there, and no program is given, there are no
 * children.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GATE_H
#define MUSTER_AGENT_GATE_H

#include <stdbool.h>

#include <event2/event.h>
#include <jansson.h>

#include "plan/node_plan.h"
#include "plan/prepare.h"

#define GATE_STORAGE_S 10.0
#define GATE_DEVICES_S 30.0 /* for one look at ports or GPUs; a driver may have to load */
#define GATE_FREE_S 50.0    /* until the GPUs are free again */
#define GATE_PROGRAM_S 60.0

struct gate;

/* failure: why the node is not fit; NULL: it is. May free nothing of the gate, but call
 * gate_stop(). */
typedef void gate_over(const struct failure *failure, void *arg);

struct gate *gate_new(struct event_base *base, gate_over *over, void *arg);
void         gate_free(struct gate *gate); /* NULL is fine */

/* Begins the checks for that plan. True: the node is fit, nothing had to be waited for. False:
 * over is called once, from the event loop, unless gate_stop() comes first. */
bool gate_begin(struct gate *gate, const struct node_plan *plan);
/* Ends all checks. After it no process of them is left, but one that the kernel does not let
 * go. */
void gate_stop(struct gate *gate); /* NULL is fine */

/* The processes that held GPUs at the first gate (gpu_holders.h): they may hold them later,
 * too. */
void gate_know_holders(struct gate *gate, const json_t *holders);

/* Returns {"s":0.8, "checks":["storage", "gpus"]} of the last gate; the caller releases it. */
json_t *gate_report(const struct gate *gate);

#endif
