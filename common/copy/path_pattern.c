/* path_pattern.c - see path_pattern.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/path_pattern.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#define ANY_DEPTH "**/"

bool path_pattern_matches(const char *pattern, const char *path, bool is_dir)
{
    char        bare[PATH_MAX];
    bool        is_anchored = pattern[0] == '/';
    size_t      size;
    int         flags;
    const char *at;

    if (strncmp(pattern, ANY_DEPTH, strlen(ANY_DEPTH)) == 0)
        pattern += strlen(ANY_DEPTH); /* as all that are not anchored */
    size = strlen(pattern);
    flags = strstr(pattern, "**") == NULL ? FNM_PATHNAME : 0;
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
