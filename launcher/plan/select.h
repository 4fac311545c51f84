/* select.h - which slots of which hosts a run uses
 *
 * --include / --exclude "NODE[@NODE...]", NODE = NAME[:SLOT[,SLOT...]], then --num_nodes,
 * --num_gpus and -np, with DeepSpeed's meaning (later upstream: PR #8239). Mentions of one host
 * are merged; if any of them names slots, only those slots count. NAME may be a range; an IPv6
 * name needs brackets. Besides names: @GROUP (groups/host_group.h), /REGULAR EXPRESSION/ and
 * ^HOSTFILE. The order is always that of the hostfile.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SELECT_H
#define MUSTER_SELECT_H

#include <stdbool.h>

#include "options/options.h"
#include "plan/hostfile.h"

struct selected {
    const struct host *host; /* borrowed from the hostlist */
    int               *slot; /* slots + more ascending slot numbers, at least one */
    int                slots; /* each gets a rank */
    int                more;  /* slots that the one rank of the node sees, too; else 0 */
};

struct selection {
    struct selected *node;
    size_t           count;
};

struct select_rules {
    const char *include; /* "" or NULL: none */
    const char *exclude;
    const struct strlist *suspects; /* hosts that are left out before anything else; NULL: none */
    int         num_nodes; /* -1: not given */
    int         num_gpus;  /* -1: not given */
    int         num_ranks; /* -np; 0: not given: take the first N slots */
    bool        takes_all;  /* also take hosts beyond num_nodes: they may join later */
    bool        per_node;   /* each node gets one rank */
    bool        is_partial; /* hosts come and go: a filter may name missing ones */
};

/* Returns what the options choose, at the first start: all but takes_all and is_partial. */
struct select_rules select_rules_of(const struct options *options);

/* Returns 0, or -1 with the reason in err: unknown host, no such slot, rules that exclude each
 * other, no slot left, fewer slots than num_ranks. Free with selection_clear(). */
int  select_slots(const struct hostlist *hosts, const struct select_rules *rules,
                  struct selection *selection, struct error *err);
void selection_clear(struct selection *selection);

/* Checks the rules for errors that do not depend on the hosts, such as rules that exclude each
 * other. */
int select_check(const struct select_rules *rules, struct error *err);

#endif
