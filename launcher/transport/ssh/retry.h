/* retry.h - whether and when to connect once more to an sshd that dropped a connection before
 * its banner
 *
 * sshd drops connections above MaxStartups. OpenSSH's default lets ten in at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RETRY_H
#define MUSTER_RETRY_H

#include <stdbool.h>

/* For connections that the ssh program makes, itself or as a proxy; its handshakes take longer
 * than libssh's. */
#define RETRY_SSH_TIMES 10
#define RETRY_SSH_MAX_S 6.0

/* Is this text, the last words of ssh, about a dropped connection and nothing else? */
bool retry_is_drop(const char *said);

/* Could it be? The ssh of OpenSSH 10 names the banner only at LogLevel=VERBOSE. Otherwise it says
 * that the connection was closed, as when that happens later; and at LogLevel=ERROR nothing. */
bool retry_may_be_drop(const char *said);

/* The pause before a further attempt, in seconds, of which retried have been made so far out of
 * retries. It is up to twice as long each time, and up to longest_s before the last one; random,
 * so that connections that sshd dropped together do not return together. */
double retry_pause_s(int retried, int retries, double longest_s);

#endif
