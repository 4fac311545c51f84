/* beat.h - heartbeats: are the nodes heard, and did muster itself run?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BEAT_H
#define MUSTER_BEAT_H

struct run;
struct beat;

/* Every --heartbeat seconds, pings the nodes, checks which nodes are silent and whether the run
 * hangs, and updates what muster status shows. */
struct beat *beat_new(struct run *run);
void         beat_free(struct beat *beat); /* NULL is fine */

/* Warns if muster itself did not run for --dead-after (it was stopped, or the machine was
 * suspended), once per pause. */
void beat_tell_pause(struct run *run);

#endif
