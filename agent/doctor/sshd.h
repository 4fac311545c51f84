/* sshd.h - some settings of sshd, as its files have them
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SSHD_H
#define MUSTER_AGENT_SSHD_H

#include <stdbool.h>

/* -1: not set. */
struct sshd_settings {
    long long startups, sessions, alive_s, alive_count;
};

#define SSHD_SETTINGS_NONE ((struct sshd_settings){ -1, -1, -1, -1 })

/* The file at path below root, and what it includes; depth: 0 for the first one. What is set
 * already stays. False: there is something in it that only sshd itself knows. */
bool sshd_read(const char *root, const char *path, int depth, struct sshd_settings *settings);

#endif
