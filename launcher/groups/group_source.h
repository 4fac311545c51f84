/* group_source.h - the places where host_group.c looks
 *
 * Each function returns 1 and adds hosts; 0 if it does not have the group, with where it has
 * looked in err ("/etc/genders has no such attribute"); -1 with err if something is wrong.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GROUP_SOURCE_H
#define MUSTER_GROUP_SOURCE_H

#include "err.h"
#include "strlist.h"

/* genders.c: the file PDSH_GENDERS_FILE in PDSH_GENDERS_DIR, by default /etc/genders. A node with
 * altname=NAME is called NAME, as with pdsh. The query GROUP_ALL gives all nodes. */
int genders_hosts(const char *query, struct strlist *hosts, struct error *err);

/* nodeset.c: "@NAME" as ClusterShell reads it. */
int nodeset_hosts(const char *name, struct strlist *hosts, struct error *err);

/* dsh_groups.c: group/NAME in ~/.dsh and /etc/dsh, or in the directories of DSHGROUP_PATH, as with
 * pdsh; GROUP_ALL is machines.list. A line is a host; "#include NAME" adds another file. */
int dsh_group_hosts(const char *name, struct strlist *hosts, struct error *err);

#endif
