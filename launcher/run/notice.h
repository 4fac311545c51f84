/* notice.h - notices: tell all ranks that they must save, and check whether they do
 *
 * A notice says that a node leaves: its cloud takes it away (its agent has asked the metadata
 * service), muster drain, or a host that is no longer listed. elastic/membership.h decides who
 * leaves when. All nodes get the notice, since the ranks must agree on the step at which they
 * save: on each node a file appears, MUSTER_NOTICE_FILE in the ranks' environment, and the
 * ranks that catch --notice-signal get that signal. Then node 0 waits for a file that matches
 * --ckpt-marker and is newer than the notice. Once the file is there, or at the deadline, the
 * generation ends (generation.h), and the next one does without the node.
 *
 * If a second node gets a notice in the same generation, the deadline may change, but no rank
 * is signalled twice.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NOTICE_H
#define MUSTER_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "elastic/membership.h"

struct run;
struct node;
struct notice;

struct notice *notice_new(struct run *run);
void           notice_free(struct notice *notice); /* NULL is fine */

/* Returns how long ranks have for a checkpoint by default: less without --ckpt-marker, since
 * muster cannot see then whether they have saved. */
double notice_save_s(const struct run *run);

/* A node of that host leaves in left_s seconds; its ranks must have exited margin_s before.
 * Warns the user, unless it was known. What follows, elastic/membership.h decides. */
void notice_depart(struct run *run, const char *host, enum departure_kind kind,
                   const char *reason, double left_s, double margin_s);

/* Tells the ranks that this member leaves. */
void notice_leaves(struct run *run, size_t which, const struct departure *departure);
/* No node leaves after all: ranks that got no other notice continue as if they had none. */
void notice_none_leaves(struct run *run);

/* The run must end within --grace: notifies the ranks, and stops them once they have saved, or
 * after two thirds of that time. False: muster could not see whether they save; nothing is
 * done. */
bool notice_save(struct run *run);

/* Notifies the ranks that the generation ends for another world in this many seconds, or sooner
 * if they have saved. hosts: the hosts that will have no place, or "muster". If called again,
 * the earlier time counts. */
void notice_change(struct run *run, double seconds, const char *hosts, const char *reason);
/* Returns the reason if that is due now, else NULL. run_changed() is called when it is. */
const char *notice_change_due(const struct notice *notice);
/* Takes that back: the generation does not end. */
void notice_take_back(struct run *run);

/* Did the ranks of this generation get a notice that a node leaves, or that the world
 * changes? */
bool notice_was_given(const struct notice *notice);
/* Called when another generation may follow: warns if the ranks saved no checkpoint. */
void notice_end(struct run *run);

/* Handle the frames NOTICE (from an agent), NOTICED and CHECKPOINT of a node. */
void notice_take(struct run *run, struct node *node, const json_t *body);
void notice_take_noticed(struct run *run, struct node *node, const json_t *body);
void notice_take_checkpoint(struct run *run, struct node *node, const json_t *body);

#endif
