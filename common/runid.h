/* runid.h - the id of a run: when it began, and the name that the user gave it
 *
 *     20261120-073000-a1b2          sorts by time, and is unique
 *     20261120-073000-a1b2-llama    with --name llama
 *
 * Ids become names of directories, control groups and sockets, so few characters are allowed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUNID_H
#define MUSTER_RUNID_H

#include <dirent.h>
#include <stdbool.h>

#define RUNID_LETTERS "0123456789-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."

#define RUNID_BARE     20 /* characters without a name */
#define RUNID_NAME_MAX 30
#define RUNID_MAX      (RUNID_BARE + 1 + RUNID_NAME_MAX)

bool runid_is(const char *id);

/* Can a run have this name? */
bool runid_is_name(const char *name);

/* Do two runs have the same name? */
bool runid_is_namesake(const char *id, const char *other);

/* Returns where each run has its directory: $XDG_STATE_HOME/muster/runs; NULL without a home.
 * The caller frees it. */
char *runid_directory(void);
/* A filter for scandir() of that directory. */
int runid_is_entry(const struct dirent *entry);

#endif
