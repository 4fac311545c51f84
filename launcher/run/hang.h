/* hang.h - --hang-timeout: tell a run that does nothing from one that works
 *
 * Agents say with each heartbeat how long their ranks have done nothing. When all of them have
 * done nothing for long enough, that is why the run ends, whatever follows. Before it is stopped
 * every agent is asked where its ranks are, and whether it reaches the other nodes (peers.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HANG_H
#define MUSTER_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

struct run;
struct node;
struct hang;

/* Make run->hang. */
void hang_open(struct run *run);
void hang_free(struct hang *hang); /* NULL is fine */
/* Another generation, perhaps of other nodes: know nothing of the last one. */
void hang_again(struct run *run);

/* Look whether the run hangs; with each heartbeat. */
void hang_look(struct run *run);

/* IDLE, STACKED and PROBED have come. */
void hang_take_idle(struct run *run, const struct node *node, const json_t *body);
void hang_take_stack(struct run *run, struct node *node, uint32_t rank, const json_t *body);
void hang_take_probed(struct run *run, struct node *node, const json_t *body);

/* Has a hang ended the run? */
bool hang_is_over(const struct run *run);

/* Print what came. Before the report of the outcome, which must be the last thing on the
 * screen. */
void hang_report(const struct run *run, FILE *out);

#endif
