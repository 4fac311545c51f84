/* shared_machine.c - see shared_machine.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/shared_machine.h"

#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "log.h"
#include "run/body.h"
#include "run/run.h"
#include "xalloc.h"

/* A node, by its machine. */
struct entry {
    const char *boot_id; /* borrowed from HELLO */
    size_t      node;
};

static int  by_machine(const void *left, const void *right);
static void tell(const struct run *run, const struct entry *first, size_t count);

bool *shared_machine_find(const struct run *run)
{
    size_t        count = run->plan->nodes, i, j, k;
    bool         *shared = xcalloc(count, sizeof *shared);
    struct entry *entry;

    if (run->options->no_pidns || run->options->strict_containment)
        return shared;
    entry = xcalloc(count, sizeof *entry);
    for (i = 0; i < count; i++)
        entry[i] = (struct entry){ body_text(run->node[i].hello, "boot_id"), i };
    qsort(entry, count, sizeof *entry, by_machine);
    for (i = 0; i < count; i = j) {
        for (j = i + 1; j < count && strcmp(entry[j].boot_id, entry[i].boot_id) == 0;)
            j++;
        if (j == i + 1 || entry[i].boot_id[0] == '\0')
            continue;
        for (k = i; k < j; k++)
            shared[entry[k].node] = true;
        tell(run, &entry[i], j - i);
    }
    free(entry);
    return shared;
}

static int by_machine(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int                 order = strcmp(a->boot_id, b->boot_id);

    return order != 0 ? order : (a->node > b->node) - (a->node < b->node);
}

static void tell(const struct run *run, const struct entry *first, size_t count)
{
    struct strlist hosts = { 0 };
    char          *names;
    size_t         i;

    for (i = 0; i < count; i++)
        strlist_add(&hosts, run->plan->node[first[i].node].host);
    names = hostrange_fold(&hosts);
    log_info("%s: one machine (the same boot id), so their ranks get no PID namespaces", names);
    free(names);
    strlist_clear(&hosts);
}
