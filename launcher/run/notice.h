/* notice.h - notices: tell all ranks that a node will leave, and check whether they save
 *
 * A notice comes from the cloud (a node's agent has asked its metadata service) or from muster
 * drain. All nodes get it, since the ranks must agree on the step at which they save: on each
 * node a file appears, MUSTER_NOTICE_FILE in the ranks' environment, and the ranks that catch
 * --notice-signal get that signal. Then node 0 waits for a file that matches --ckpt-marker and
 * is newer than the notice. Once the file is there, or at the deadline, the generation ends
 * (generation.h), and the next one does without the node.
 *
 * A notice that comes while no ranks run goes to the ranks of the next generation. If a second
 * node gets a notice in the same generation, the deadline may change, but no rank is signalled
 * twice.
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

/* Gives notice that the node leaves in left_s seconds; its ranks must have exited margin_s
 * before that. If called again for the same node, an earlier time counts, a later one is
 * ignored. A spare has no ranks and leaves now. */
void notice_give(struct run *run, struct node *node, double left_s, double margin_s,
                 const char *reason);

/* Forgets the host's notice: if the host comes back, it may be another machine. */
void notice_forget(struct notice *notice, const char *host);

/* Called when the node stays after all, or is back. Running ranks that got no other notice
 * continue as if they had none; ranks that are being stopped count as ranks that got one. */
void notice_keep(struct run *run, const char *host);

/* The run must end within --grace: notifies the ranks, and stops them once they have saved, or
 * after two thirds of that time. False: muster could not see whether they save; nothing is
 * done. */
bool notice_save(struct run *run);

/* Notifies the ranks that the generation ends for another world in this many seconds, or sooner
 * if they have saved; then calls generation_change(). hosts: the hosts that will have no place,
 * or "muster". If called again, the earlier time counts. */
void notice_change(struct run *run, double seconds, const char *hosts, const char *reason);
/* Takes that back: the generation does not end. */
void notice_take_back(struct run *run);

/* The ranks run: sends them the notices that are known. */
void notice_begin(struct run *run);
/* Did the ranks of this generation get a notice that a node leaves, or that the world
 * changes? */
bool notice_was_told(const struct notice *notice);
/* The ranks have exited: if they got a node's notice, the node leaves with their generation,
 * whatever ended it. Otherwise the next generation would get the same notice at once. */
void notice_over(struct run *run);
/* Called when another generation may follow: warns if the ranks saved no checkpoint. */
void notice_end(struct run *run);

/* Handle the frames NOTICE (from an agent), NOTICED and CHECKPOINT of a node. */
void notice_take(struct run *run, struct node *node, const json_t *body);
void notice_take_told(struct run *run, struct node *node, const json_t *body);
void notice_take_checkpoint(struct run *run, struct node *node, const json_t *body);

/* Carries out the verb "drain" of history/control.h; arg: the run. */
int notice_drain(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err);

#endif
