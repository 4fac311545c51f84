/* leaving.h - nodes that are to go: at a notice, by muster drain or scale, or because their host is
 * no longer offered
 *
 * At its deadline the generation of a node that has ranks ends, and the next one does without it: a
 * spare takes its place, or the run waits for a node. A run that does not go on ends.
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

/* That node is to go at the deadline (by clock_now_ns()), for that reason. It may come again with
 * another deadline: with one that has passed when the node need not wait any more. */
void leaving_add(struct run *run, const char *host, int64_t deadline_ns, const char *reason);

/* It is connected anew, or stays: what was said of it before no longer counts. */
void leaving_forget(struct run *run, const char *host);

/* It is on the list again: it stays, unless it is still to go for another reason. */
void leaving_back(struct run *run, const char *host);

/* These hosts may take part from now on; a node whose host is not among them is to leave, with a
 * notice to the ranks and leaving_save_s() to save. */
void leaving_offer(struct run *run, const struct selection *hosts);

/* How long ranks have for a checkpoint if nobody has said it: less, if nobody can tell that they
 * have saved. */
double leaving_save_s(const struct run *run);

/* The verb "scale" of history/control.h; arg: the run. */
int leaving_scale(const struct strlist *words, char *answer, size_t size, void *arg,
                  struct error *err);

#endif
