/* leaving.h - nodes that will leave: after a notice, by muster drain or scale, or because their
 * host is no longer listed
 *
 * If the node has ranks, the generation ends at the node's deadline, and the next one does
 * without the node: a spare takes its place, or the run waits for a node. A run that cannot
 * lose nodes ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEAVING_H
#define MUSTER_LEAVING_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strlist.h"

struct run;
struct selection;
struct leavings;

struct leavings *leaving_new(void);
void             leaving_free(struct leavings *all); /* NULL is fine */

/* Makes the node leave at the deadline (by clock_now_ns()), for that reason. If called again,
 * the new deadline replaces the old one; one in the past makes the node leave now. */
void leaving_add(struct run *run, const char *host, int64_t deadline_ns, const char *reason);

/* Forgets that the host should leave, and its notice: it is connected again, or stays. */
void leaving_forget(struct run *run, const char *host);

/* The host is on the list again: it stays, unless it will leave for another reason. */
void leaving_back(struct run *run, const char *host);

/* Sets which hosts may take part from now on. A node whose host is not among them leaves; the
 * ranks get a notice and have leaving_save_s() to save. */
void leaving_offer(struct run *run, const struct selection *hosts);

/* Returns how long ranks have for a checkpoint by default: less without --ckpt-marker, since
 * muster cannot see then whether they have saved. */
double leaving_save_s(const struct run *run);

/* Carries out the verb "scale" of history/control.h; arg: the run. */
int leaving_scale(const struct strlist *words, char *answer, size_t size, void *arg,
                  struct error *err);

#endif
