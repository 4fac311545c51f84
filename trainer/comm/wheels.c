/* wheels.c - see wheels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/wheels.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

static const char *given;

static bool load_from(const char *python, const char *library);

void wheels_set_python(const char *python)
{
    given = python;
}

bool wheels_load(const char *library)
{
    const char *at = getenv("PATH"), *end;
    char       *python;
    bool        is_loaded = given != NULL && load_from(given, library);

    for (; at != NULL && !is_loaded; at = *end != '\0' ? end + 1 : NULL) {
        end = strchrnul(at, ':');
        python = xasprintf("%.*s/python3", (int)(end - at), at);
        is_loaded = access(python, X_OK) == 0 && load_from(python, library);
        free(python);
    }
    return is_loaded;
}

/* The link is not followed: that of a virtual environment leads to a Python with other packages. */
static bool load_from(const char *python, const char *library)
{
    char  *prefix = xstrdup(python), *pattern, *slash;
    glob_t found;
    size_t i;
    bool   is_loaded = false;

    for (i = 0; i < 2; i++) /* bin/python3 */
        if ((slash = strrchr(prefix, '/')) != NULL)
            *slash = '\0';
    pattern = xasprintf("%s/lib/python3*/*-packages/nvidia/*/lib/%s", prefix, library);
    if (python[0] == '/' && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (i = 0; i < found.gl_pathc && !is_loaded; i++)
            is_loaded = dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL) != NULL;
        globfree(&found);
    }
    free(pattern);
    free(prefix);
    return is_loaded;
}
