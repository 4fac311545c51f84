/* alike.h - what nodes have said, without what must differ from node to node
 *
 * "no such key for te1 in ..." and "no such key for te2 in ..." are one cause. The names and
 * addresses of a node, the user and port of its login, fingerprints of keys and line numbers in
 * files do not count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ALIKE_H
#define MUSTER_ALIKE_H

#include "outcome/group.h"
#include "outcome/outcome.h"

/* text of node with ALIKE_GAP in place of all that. Caller frees. */
#define ALIKE_GAP "..."
char *alike_key(const char *text, const struct plan_node *node);

/* What a node has said; borrowed. */
typedef const char *alike_text_of(const struct outcome *outcome, int node);

/* One text for all nodes of a group that was made by such keys: what each of them has said, if that
 * is the same, else the key. Caller frees. */
char *alike_cause(const struct group *group, const char *key, const struct outcome *outcome,
                  alike_text_of *text_of);

/* The same for what to do: commands of OpenSSH get what differs as a list (ssh_advice.h), else the
 * first node's is the example. */
char *alike_hint(const struct group *group, const struct outcome *outcome,
                 alike_text_of *text_of);

#endif
