/* wait.h - the launcher's wait until every worker's sshd answers
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INIT_WAIT_H
#define MUSTER_INIT_WAIT_H

#include "err.h"

/* Waits until each host of the hostfile resolves, accepts a connection on port and sends
 * "SSH-". -1: after seconds, or unreadable file; the error names a host and its state. */
int wait_for_hosts(const char *hostfile, int port, double seconds, struct error *err);

#endif
