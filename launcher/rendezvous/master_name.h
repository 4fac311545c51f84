/* master_name.h - does --master_addr lead to node 0 from every node?
 *
 * The ranks of a node look the name up there and connect to each address, until one answers. Every
 * node does the same before the start, node 0 too, since rank 0 connects to itself. Nothing here
 * does I/O: rendezvous.c passes on the answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MASTER_NAME_H
#define MUSTER_MASTER_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "plan/plan.h"

#define MASTER_NAME_WHY_MAX 200 /* bytes of the reason that a node gives */

struct master_name {
    char  **why; /* by node: why it does not lead there; "": it does; NULL: not known */
    size_t  nodes;
};

void master_name_init(struct master_name *name, size_t nodes);
void master_name_clear(struct master_name *name);

/* Takes the PROBED answer of a node. Without "name" the node cannot tell. */
void master_name_take(struct master_name *name, size_t node, const json_t *body);

/* Does it lead to node 0 from all nodes, as far as is known? */
bool master_name_is_good(const struct master_name *name);

/* Returns what is wrong at that node and what to do, or NULL; the caller frees it. first_node:
 * where it should lead; better: an address there that all nodes reach; NULL: none is known. */
char *master_name_fault(const struct master_name *name, size_t node, const struct plan *plan,
                        size_t first_node, const char *better);

#endif
