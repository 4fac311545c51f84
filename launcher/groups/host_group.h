/* host_group.h - groups of hosts, as the administrators of a cluster have named them
 *
 * The first that knows the group: the genders database (with queries: "gpu&&~rack1"), by
 * libgenders; the files ~/.dsh/group/NAME and /etc/dsh/group/NAME; ClusterShell's groups.conf (with
 * its operators: "gpu!@rack1"), by its program nodeset, which is last because it is slow and
 * packages of it come with examples. "SOURCE:NAME" asks one source: "genders", "dsh", "nodeset", or
 * one of groups.conf.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_GROUP_H
#define MUSTER_HOST_GROUP_H

#include "err.h"
#include "strlist.h"

#define GROUP_ALL "*" /* the group of all hosts */
#define GROUP_BYTES_MAX (4 << 20) /* of a file, or of what nodeset prints */

/* Adds the hosts of a group: words as in -H, but without slots ("te1", "bob@te1", "te[1-4]").
 * Each group is asked for once. Returns -1 with "no group 'NAME' ...", which says where we have
 * looked, or with what is wrong there. */
int host_group_find(const char *name, struct strlist *hosts, struct error *err);

/* The same for -a: all hosts, but not those with pdsh_all_skip in the genders database. */
int host_group_all(struct strlist *hosts, struct error *err);

/* Frees what was asked for. */
void host_group_clear(void);

#endif
