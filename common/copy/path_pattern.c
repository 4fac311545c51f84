/* path_pattern.c - see path_pattern.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/path_pattern.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

bool path_pattern_matches(const char *pattern, const char *path, bool is_dir)
{
    char        bare[PATH_MAX];
    size_t      size = strlen(pattern);
    bool        is_anchored = pattern[0] == '/';
    int         flags = strstr(pattern, "**") == NULL ? FNM_PATHNAME : 0;
    const char *at;

    if (size > 0 && pattern[size - 1] == '/' && !is_dir)
        return false;
    for (; size > 0 && pattern[size - 1] == '/'; size--)
        ;
    if (size == 0 || size >= sizeof bare)
        return false;
    memcpy(bare, pattern, size);
    bare[size] = '\0';
    if (is_anchored)
        return fnmatch(bare + 1, path, flags) == 0;
    if (strchr(bare, '/') == NULL && flags != 0) {
        at = strrchr(path, '/');
        return fnmatch(bare, at != NULL ? at + 1 : path, flags) == 0;
    }
    for (at = path; at != NULL; at = strchr(at, '/'), at = at != NULL ? at + 1 : NULL)
        if (fnmatch(bare, at, flags) == 0)
            return true;
    return false;
}
