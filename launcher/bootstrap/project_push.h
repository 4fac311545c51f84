/* project_push.h - [project] push: a directory of this machine for each node
 *
 * The nodes get the list of its files with their steps, and say what they lack. Their disks are
 * mounted then, so after the steps muster copies to those that have asked, as muster bcast does.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROJECT_PUSH_H
#define MUSTER_PROJECT_PUSH_H

#include <jansson.h>

#include "bootstrap/bootstrap_job.h"
#include "plan/select.h"

#define PROJECT_PUSH_BLOB 1

/* Lists the directory, if conf names one, in bootstrap->pushed, and completes [project]
 * directory. -1 with err, which names one file that cannot be sent. */
int project_push_read(struct bootstrap *bootstrap, struct error *err);
/* Sends the list to node, for this request, if the plan or the changes need it. */
void project_push_add(const struct bootstrap *bootstrap, struct node *node, json_t *request);
/* Handles a line of a node: it may ask for the files. */
void project_push_line(const struct bootstrap *bootstrap, const struct node *node,
                       const json_t *line);

/* Copies to the nodes that have asked. Returns 0, or the exit status after it reported the error
 * to the user. */
int project_push_files(const struct options *options, const struct selection *selection,
                       char *const *here);

#endif
