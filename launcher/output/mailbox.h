/* mailbox.h - what the writers' threads have to tell the event loop
 *
 * Bytes of a node that have left memory are credit for its agent; and a descriptor
 * that cannot be written any more. Noted by any thread, told on the event loop, in
 * one go for whatever came together.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MAILBOX_H
#define MUSTER_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>

#include "output/output.h"

struct mailbox;

/* Tells ops->consumed and ops->failed, with arg. */
struct mailbox *mailbox_new(struct event_base *base, const struct output_ops *ops, void *arg);
void           mailbox_free(struct mailbox *mailbox);

/* Before anything is noted of that node. */
void mailbox_add_node(struct mailbox *mailbox, size_t node);

void mailbox_give(struct mailbox *mailbox, size_t node, size_t bytes);
void mailbox_fail(struct mailbox *mailbox, bool is_stderr, int error);

/* Tell at once what has failed; for the end, when the threads are gone and nobody waits for
 * credit. */
void mailbox_settle(struct mailbox *mailbox);

#endif
