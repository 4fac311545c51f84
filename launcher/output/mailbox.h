/* mailbox.h - messages from the writer threads to the event loop
 *
 * There are two messages: bytes of a node have left memory, which is credit for its agent; and
 * a descriptor can no longer be written. Any thread may post them. The event loop delivers
 * them, several at a time, so the mailbox does not grow.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MAILBOX_H
#define MUSTER_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>

#include "output/output.h"

struct mailbox;

/* Delivers to ops->consumed and ops->failed, with arg. */
struct mailbox *mailbox_new(struct event_base *base, const struct output_ops *ops, void *arg);
void            mailbox_free(struct mailbox *mailbox);

/* Call this before the first message about the node. */
void mailbox_add_node(struct mailbox *mailbox, size_t node);

void mailbox_give(struct mailbox *mailbox, size_t node, size_t bytes);
void mailbox_fail(struct mailbox *mailbox, bool is_stderr, int error);

/* Makes the event loop return, without a message. */
void mailbox_wake(struct mailbox *mailbox);

/* Delivers failures at once. For the end, when the threads have ended and no node waits for
 * credit. */
void mailbox_settle(struct mailbox *mailbox);

#endif
