/* push.h - muster --push=PATH: copies files to the nodes of a run before it starts
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PUSH_H
#define MUSTER_PUSH_H

#include "options/options.h"
#include "plan/select.h"

/* Works like `muster bcast`, but prints nothing on success. Returns 0, or the exit status after
 * it reported the error to the user. */
int push_files(const struct options *options, const struct selection *selection,
               char *const *here);

/* Copies directory dir, and what links in it lead to, to the place beside the agent on each node,
 * unless the node is this machine. Returns as push_files() does. */
int push_beside_agents(const struct options *options, const struct selection *selection,
                       const char *dir, char *const *here);

/* Copies directory dir to be directory to on each node, where root writes it. Returns as
 * push_files() does. */
int push_directory(const struct options *options, const struct selection *selection,
                   const char *dir, const char *to, char *const *here);

#endif
