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

struct credit;

/* Tells ops->consumed and ops->failed, with arg. */
struct credit *credit_new(struct event_base *base, const struct output_ops *ops, void *arg);
void           credit_free(struct credit *credit);

/* Before anything is noted of that node. */
void credit_add_node(struct credit *credit, size_t node);

void credit_give(struct credit *credit, size_t node, size_t bytes);
void credit_fail(struct credit *credit, bool is_stderr, int error);

/* Tell at once what has failed; for the end, when the threads are gone and nobody waits for
 * credit. */
void credit_settle(struct credit *credit);

#endif
