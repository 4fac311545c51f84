/* retry.h - whether and when to connect again to an sshd that dropped a connection before its
 * banner
 *
 * sshd drops connections above MaxStartups. OpenSSH's default admits ten at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RETRY_H
#define MUSTER_RETRY_H

#include <stdbool.h>

/* Enough for 64 nodes behind one sshd whose machine needs seconds for their handshakes. */
#define RETRY_TIMES 10

/* Do ssh's last messages report a dropped connection and nothing else? */
bool retry_is_drop(const char *said);

/* Could they mean a dropped connection? OpenSSH 10 names the banner only at LogLevel=VERBOSE.
 * Otherwise it reports that the connection was closed, as it does later in the session, and at
 * LogLevel=ERROR it reports nothing. */
bool retry_may_be_drop(const char *said);

/* Returns the pause before the next retry, in seconds. retried of RETRY_TIMES have been made. The
 * limit doubles each time, up to 6 s before the last retry. The pause is random, so that
 * connections that sshd dropped together do not return together. */
double retry_pause_s(int retried);

#endif
