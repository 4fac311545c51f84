/* path_search.h - programs on PATH
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PATH_SEARCH_H
#define MUSTER_PATH_SEARCH_H

/* Returns the absolute path of the first executable file with this name in the directories of
 * path ("/usr/bin:/bin"; NULL: none), or NULL; the caller frees it. Skips relative directories:
 * they may be others on another node. */
char *path_search(const char *name, const char *path);

#endif
