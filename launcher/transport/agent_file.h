/* agent_file.h - the executable of the agent, ready to be pushed to nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FILE_H
#define MUSTER_AGENT_FILE_H

#include <stddef.h>

#include "err.h"

struct agent_file {
    char *path;        /* absolute */
    void *bytes;       /* whole file, mapped read-only */
    size_t size;
    char  sha256[65];  /* lower-case hex */
};

/* path NULL: $pkglibexecdir/muster-agent, or ../agent/muster-agent beside the
 * launcher's own executable in a build tree. -1 with err. */
int  agent_file_open(struct agent_file *agent, const char *path, struct error *err);
void agent_file_clear(struct agent_file *agent);

#endif
