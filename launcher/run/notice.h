/* notice.h - a node is to go: tell all ranks, and see whether they have saved what they know
 *
 * A notice comes from the cloud (a node's agent has asked its metadata service) or from muster
 * drain. All nodes are told, since the ranks must agree on the step at which they save: a file
 * appears there, MUSTER_NOTICE_FILE in the ranks' environment, and the ranks that catch
 * --notice-signal get it. Then node 0 waits for a file that --ckpt-marker fits and that is newer
 * than the notice. Once it is there, or at the end of the time, the generation ends (generation.h),
 * and the next one does without the node.
 *
 * A notice that comes while no ranks run is told to the next ones that do. What was told is of a
 * generation: a second node in the same one changes the deadline, and no rank is signalled twice.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NOTICE_H
#define MUSTER_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "err.h"
#include "strlist.h"

struct run;
struct node;
struct notice;

struct notice *notice_new(struct run *run);
void           notice_free(struct notice *notice); /* NULL is fine */

/* That node goes in left_s seconds, and its ranks must have ended margin_s before. Again for the
 * same node: an earlier time counts, a later one does not. A spare has no ranks and goes now. */
void notice_give(struct run *run, struct node *node, double left_s, double margin_s,
                 const char *reason);

/* That host is gone: what it is told when it comes back is of another machine. */
void notice_forget(struct notice *notice, const char *host);

/* That node stays after all, or is there again. Ranks that run, and were told of no other, go on;
 * if they are being stopped, they end as ranks that were told. */
void notice_keep(struct run *run, const char *host);

/* The run is to end within --grace: tell the ranks, and stop them once they have saved, or after
 * two thirds of that time. False: nobody would know that they have; nothing is done. */
bool notice_save(struct run *run);

/* The generation is to end in so many seconds for another world, sooner if the ranks have saved:
 * tell them, then generation_change(). hosts: those that will have no place, or "muster". Again:
 * the earlier time counts. */
void notice_change(struct run *run, double seconds, const char *hosts, const char *reason);
/* It does not end. */
void notice_take_back(struct run *run);

/* The ranks run: tell them what is known. */
void notice_begin(struct run *run);
/* Were the ranks of this generation told that a node is to go, or that the world changes? */
bool notice_was_told(const struct notice *notice);
/* They have ended: a node of which they were told goes with their generation, whatever ended it.
 * The next one would be told at once, too. */
void notice_over(struct run *run);
/* Another generation may follow: say whether they had saved. */
void notice_end(struct run *run);

/* Frames NOTICE (the agent's), NOTICED and CHECKPOINT of a node. */
void notice_take(struct run *run, struct node *node, const json_t *body);
void notice_take_told(struct run *run, struct node *node, const json_t *body);
void notice_take_checkpoint(struct run *run, struct node *node, const json_t *body);

/* The verb "drain" of history/control.h; arg: the run. */
int notice_drain(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err);

#endif
