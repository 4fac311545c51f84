/* common_text.h - compares texts from nodes without the parts that differ on each node
 *
 * "no such key for te1 in ..." and "no such key for te2 in ..." are the same cause. The names
 * and addresses of a node, the user and port of its login, key fingerprints and line numbers do
 * not count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMMON_TEXT_H
#define MUSTER_COMMON_TEXT_H

#include "outcome/group.h"
#include "outcome/outcome.h"

/* Returns text of node with COMMON_TEXT_GAP in place of these parts. Caller frees. */
#define COMMON_TEXT_GAP "..."
char *common_text_key(const char *text, const struct plan_node *node);

/* Returns the text of a node; borrowed. */
typedef const char *common_text_reader(const struct outcome *outcome, int node);

/* Returns one text for all nodes of a group with the same common_text_key(): their text, if it
 * is the same for all, else the key. Caller frees. */
char *common_text_cause(const struct group *group, const char *key,
                        const struct outcome *outcome, common_text_reader *text_of);

/* The same for hints: OpenSSH commands list the parts that differ (ssh_advice.h); otherwise the
 * first node's hint is the example. */
char *common_text_hint(const struct group *group, const struct outcome *outcome,
                       common_text_reader *text_of);

#endif
