/* script_text.c - see script_text.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/script_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xalloc.h"

char *script_text(const char *path, const char *cwd)
{
    char       *full = path[0] == '/' || cwd == NULL ? xstrdup(path)
                                                     : xasprintf("%s/%s", cwd, path);
    int         fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char       *text = xcalloc(1, SCRIPT_TEXT_MAX + 1);
    struct stat about;
    ssize_t     size = -1;

    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) /* not our own stdin */
        size = read(fd, text, SCRIPT_TEXT_MAX);
    if (fd >= 0)
        close(fd);
    free(full);
    if (size > 0 && memchr(text, '\0', (size_t)size) == NULL)
        return text;
    free(text);
    return NULL;
}

const char *script_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool script_is_python(const char *name)
{
    const char *base = script_base(name);

    return strncmp(base, "python", 6) == 0 && base[6 + strspn(base + 6, "0123456789.")] == '\0';
}
