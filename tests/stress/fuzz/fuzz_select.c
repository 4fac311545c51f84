/* fuzz_select.c - any text as --include and as --exclude
 *
 * Together the two take every slot exactly once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "groups/host_group.h"
#include "nodeset_place.h"
#include "plan/select.h"
#include "xalloc.h"

static int count_slots(const struct selection *selection)
{
    const struct selected *node;
    size_t                 i;
    int                    j, count = 0;

    for (i = 0; i < selection->count; i++) {
        node = &selection->node[i];
        if (node->slots < 1 || (i > 0 && node->host <= node[-1].host))
            abort();
        for (j = 0; j < node->slots; j++)
            if (node->slot[j] < (j > 0 ? node->slot[j - 1] + 1 : 0) ||
                node->slot[j] >= node->host->slots)
                abort();
        count += node->slots;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char               *filter = xstrndup((const char *)data, size);
    struct select_rules rules = { .include = filter, .num_nodes = -1, .num_gpus = -1,
                                  .num_ranks = -1 };
    struct hostlist     hosts;
    struct selection    taken, left;
    struct error        err;
    int                 rc, slots;

    while (strchr(filter, '^') != NULL)
        *strchr(filter, '^') = 'x'; /* "^FILE": no file of this machine is read */
    if (hostlist_from_argument("te1:4,te2:2,[::1]:3", 1, &hosts, &err) < 0)
        abort();
    rc = select_slots(&hosts, &rules, &taken, &err);
    slots = count_slots(&taken);
    rules = (struct select_rules){ .exclude = filter, .num_nodes = -1, .num_gpus = -1,
                                   .num_ranks = -1 };
    if (rc == 0 && select_slots(&hosts, &rules, &left, &err) == 0) {
        if (*filter != '\0' && slots + count_slots(&left) != 9)
            abort();
        selection_clear(&left);
    } else if (err.text[0] == '\0') {
        abort();
    }
    selection_clear(&taken);
    hostlist_clear(&hosts);
    host_group_clear();
    free(filter);
    return 0;
}
