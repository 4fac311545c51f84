/* copy_rules.h - what muster bcast and collect send of the paths that the user named: --links and
 * --exclude-path, or --push-exclude
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COPY_RULES_H
#define MUSTER_COPY_RULES_H

#include "buffer.h"
#include "copy/bcast_tree.h"
#include "node/node.h"
#include "options/options.h"
#include "plan/plan.h"

/* Returns the rules, which borrow from options. usual: for links, if the user did not choose. */
struct tree_rules copy_rules_of(const struct options *options, enum tree_links usual);

/* Returns 0; or an exit status, after it told the user that a pattern is the name of a host: as an
 * option of other subcommands --exclude leaves out hosts. */
int copy_rules_check(const struct options *options, const struct plan *plan);

/* Asks node for the entries of paths (each absolute, ended by NUL), by these rules. */
void copy_rules_give(struct node *node, const struct buffer *paths,
                     const struct tree_rules *rules);

#endif
