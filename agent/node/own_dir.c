/* own_dir.c - see own_dir.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/own_dir.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

char *own_dir(struct error *err)
{
    char    path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

    if (size < 0) {
        err_set(err, "/proc/self/exe: %s", strerror(errno));
        return NULL;
    }
    path[size] = '\0';
    if (strncmp(path, "/memfd:", 7) == 0 || strrchr(path, '/') == NULL) {
        err_set(err, "no directory of this node may hold programs, so the agent is only in memory "
                     "(set XDG_CACHE_HOME there)");
        return NULL;
    }
    *strrchr(path, '/') = '\0';
    return xstrdup(path);
}
