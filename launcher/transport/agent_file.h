/* agent_file.h - the agent's executable, ready to push to nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FILE_H
#define MUSTER_AGENT_FILE_H

#include <stddef.h>

#include "err.h"

struct agent_file {
    char *path;        /* absolute */
    void *bytes;       /* the whole file, mapped read-only */
    size_t size;
    char  sha256[65];  /* lower-case hex */
};

/* path NULL: $pkglibexecdir/muster-agent, or ../agent/muster-agent next to the launcher's own
 * executable in a build tree. Returns -1 with err. */
int  agent_file_open(struct agent_file *agent, const char *path, struct error *err);
void agent_file_clear(struct agent_file *agent);

#endif
