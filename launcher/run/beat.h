/* beat.h - heartbeats: whether the nodes are heard, and whether muster itself ran
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BEAT_H
#define MUSTER_BEAT_H

struct run;
struct beat;

/* Every --heartbeat seconds: ping the nodes, look who is silent, whether the run hangs, and
 * what muster status may show. */
struct beat *beat_new(struct run *run);
void         beat_free(struct beat *beat); /* NULL is fine */

/* If muster itself did not run for --dead-after (stopped, or the machine was suspended), warn
 * about it, once each time. */
void beat_tell_pause(struct run *run);

#endif
