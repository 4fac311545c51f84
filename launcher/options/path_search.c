/* path_search.c - see path_search.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/path_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xalloc.h"

static bool is_executable(const char *path);

char *path_search(const char *name, const char *path)
{
    const char *end;
    char       *full;

    for (; path != NULL && name[0] != '\0'; path = *end != '\0' ? end + 1 : NULL) {
        end = path + strcspn(path, ":");
        if (path[0] != '/')
            continue;
        full = xasprintf("%.*s/%s", (int)(end - path), path, name);
        if (is_executable(full))
            return full;
        free(full);
    }
    return NULL;
}

static bool is_executable(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode) && access(path, X_OK) == 0;
}
