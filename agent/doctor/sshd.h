/* sshd.h - some settings of sshd, read from its files
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

/* Reads the file at path below root, and the files that it includes; depth: 0 for the
 * first file. Keeps settings that are set already. False: a file has something that
 * only sshd can interpret. */
bool sshd_read(const char *root, const char *path, int depth, struct sshd_settings *settings);

#endif
