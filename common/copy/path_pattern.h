/* path_pattern.h - patterns of --exclude, for paths, as rsync(1) has them
 *
 *     *.pyc     a name, at any depth
 *     build/x   these names, one below the other, at any depth
 *     /data     from where the copy begins
 *     cache/    a directory only
 *
 * '*', '?' and '[...]' as in a shell, but they match a dot at the beginning, too. They match no
 * '/', unless the pattern has "**".
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PATH_PATTERN_H
#define MUSTER_PATH_PATTERN_H

#include <stdbool.h>

/* path: below the path that the user named, with no '/' at either end. */
bool path_pattern_matches(const char *pattern, const char *path, bool is_dir);

#endif
