/* heartbeat.h - heartbeats: are the nodes heard, and did muster itself run?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HEARTBEAT_H
#define MUSTER_HEARTBEAT_H

struct run;
struct heartbeat;

/* Every --heartbeat seconds, pings the nodes, checks which nodes are silent and whether the run
 * hangs, and updates what muster status shows. */
struct heartbeat *heartbeat_new(struct run *run);
void              heartbeat_free(struct heartbeat *heartbeat); /* NULL is fine */

/* Warns if muster itself did not run for --dead-after (it was stopped, or the machine was
 * suspended), once per pause. */
void heartbeat_tell_pause(struct run *run);

#endif
