/* master_name.c - see master_name.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rendezvous/master_name.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

void master_name_init(struct master_name *name, size_t nodes)
{
    *name = (struct master_name){ .why = xcalloc(nodes, sizeof *name->why), .nodes = nodes };
}

void master_name_clear(struct master_name *name)
{
    size_t i;

    for (i = 0; i < name->nodes; i++)
        free(name->why[i]);
    free(name->why);
    *name = (struct master_name){ 0 };
}

void master_name_take(struct master_name *name, size_t node, const json_t *body)
{
    const char *why = json_string_value(json_object_get(body, "name"));

    if (node >= name->nodes)
        return;
    free(name->why[node]);
    name->why[node] = why != NULL ? xstrndup(why, MASTER_NAME_WHY_MAX) : NULL;
}

bool master_name_is_good(const struct master_name *name)
{
    size_t i;

    for (i = 0; i < name->nodes; i++)
        if (name->why[i] != NULL && name->why[i][0] != '\0')
            return false;
    return true;
}

char *master_name_fault(const struct master_name *name, size_t node, const struct plan *plan,
                        size_t first_node, const char *better)
{
    const char *why = node < name->nodes ? name->why[node] : NULL;
    const char *first = plan_label(&plan->node[first_node]);
    const char *given = plan_world(plan, first_node)->master_addr;

    if (why == NULL || why[0] == '\0')
        return NULL;
    if (better != NULL)
        return xasprintf("--master_addr %s does not lead to %s, the first node (%s): write "
                         "--master_addr=%s, or leave it out", given, first, why,
                         better);
    return xasprintf("--master_addr %s does not lead to %s, the first node (%s): %s",
                     given, first, why,
                     plan->nodes > 1 ? "nor does any address that it has; is there a firewall "
                                       "between the nodes?"
                     : plan->node_count > 1 ? "write an address of this node" /* --no_ssh */
                                            : "leave it out");
}
