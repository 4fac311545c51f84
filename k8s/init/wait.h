/* wait.h - the launcher's wait until every worker's sshd answers
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INIT_WAIT_H
#define MUSTER_INIT_WAIT_H

#include "err.h"

/* Until each host of the hostfile has a name, accepts a connection on port and says "SSH-". -1
 * after seconds, or if the file cannot be read; the text names a host and how far it got. */
int wait_for_hosts(const char *hostfile, int port, double seconds, struct error *err);

#endif
