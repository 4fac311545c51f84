/* agent_file.h - the agent's executable, ready to be pushed to nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FILE_H
#define MUSTER_AGENT_FILE_H

#include <stddef.h>

#include "err.h"

struct agentfile {
    char *path;        /* absolute */
    void *bytes;       /* whole file, mapped read-only */
    size_t size;
    char  sha256[65];  /* lower-case hex */
};

/* path NULL: $pkglibexecdir/muster-agent, or ../agent/muster-agent beside the
 * launcher's own executable in a build tree. -1 with err. */
int  agentfile_open(struct agentfile *agent, const char *path, struct error *err);
void agentfile_clear(struct agentfile *agent);

#endif
