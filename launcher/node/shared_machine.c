/* shared_machine.c - see shared_machine.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/shared_machine.h"

#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "log.h"
#include "node/node.h"
#include "xalloc.h"

/* A node and the machine it is on. */
struct entry {
    const char *boot_id; /* borrowed from HELLO; "": unknown */
    json_int_t  pidns;   /* PID namespace of its agent */
    size_t      node;
};

static struct entry entry_of(const struct node *node, size_t index);
static int          by_machine(const void *left, const void *right);
static int          by_node(const void *left, const void *right);
static void         tell(struct node *const *node, const struct entry *first, size_t count);

bool *shared_machine_find(struct node *const *node, size_t count)
{
    bool         *shared = xcalloc(count, sizeof *shared);
    struct entry *entry = xcalloc(count, sizeof *entry);
    size_t        i, j, k;

    for (i = 0; i < count; i++)
        entry[i] = entry_of(node[i], i);
    qsort(entry, count, sizeof *entry, by_node);
    for (i = 0; i < count; i = j) {
        for (j = i + 1; j < count && by_machine(&entry[i], &entry[j]) == 0;)
            j++;
        if (j == i + 1 || entry[i].boot_id[0] == '\0')
            continue;
        for (k = i; k < j; k++)
            shared[entry[k].node] = true;
        tell(node, &entry[i], j - i);
    }
    free(entry);
    return shared;
}

static struct entry entry_of(const struct node *node, size_t index)
{
    const char *boot_id = json_string_value(json_object_get(node->hello, "boot_id"));

    return (struct entry){
        .boot_id = boot_id != NULL ? boot_id : "",
        .pidns = json_integer_value(json_object_get(node->hello, "pidns")),
        .node = index,
    };
}

static int by_machine(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int                 order = strcmp(a->boot_id, b->boot_id);

    return order != 0 ? order : (a->pidns > b->pidns) - (a->pidns < b->pidns);
}

static int by_node(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int                 order = by_machine(a, b);

    return order != 0 ? order : (a->node > b->node) - (a->node < b->node);
}

static void tell(struct node *const *node, const struct entry *first, size_t count)
{
    struct strlist hosts = { 0 };
    char          *names;
    size_t         i;

    for (i = 0; i < count; i++)
        strlist_add(&hosts, node[first[i].node]->plan->host);
    names = hostrange_fold(&hosts);
    log_info("%s: one machine (the same boot id); their ranks get PID namespaces only with "
             "--strict-containment", names);
    free(names);
    strlist_clear(&hosts);
}
