/* plugin.c - see plugin.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/plugin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/wheels.h"
#include "xalloc.h"

#define LIBRARIES_MAX 8 /* that a plugin needs, and that wheels have */

static void *load(const char *path, struct error *err);
static bool  load_missing(const char *complaint);

void *plugin_symbol(const char *file, const char *symbol, struct error *err)
{
    char   *places[2] = { NULL, NULL }, exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    void   *library = NULL, *found = NULL;
    int     i;

    if (n > 0) {
        exe[n] = '\0';
        *strrchr(exe, '/') = '\0';
        places[0] = xasprintf("%s/%s", exe, file);
    }
    places[1] = xasprintf("%s/%s", PKGLIBDIR, file);
    err_set(err, "%s is not installed", file);
    for (i = 0; i < 2 && library == NULL; i++) {
        if (places[i] == NULL || access(places[i], R_OK) != 0)
            continue;
        library = load(places[i], err);
    }
    if (library != NULL) {
        found = dlsym(library, symbol);
        if (found == NULL)
            err_set(err, "%s belongs to another version of muster-train", file);
    }
    free(places[0]);
    free(places[1]);
    return found;
}

/* Python's packages are asked last: what the node itself has takes precedence. */
static void *load(const char *path, struct error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int   i;

    for (i = 0; i < LIBRARIES_MAX && library == NULL; i++) {
        err_set(err, "%s", dlerror());
        if (!load_missing(err->text))
            break;
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* Takes "libnccl.so.2: cannot open shared object file: No such file or directory". */
static bool load_missing(const char *complaint)
{
    size_t length = strcspn(complaint, ":/");
    char  *name;
    bool   is_loaded;

    if (complaint[length] != ':' || strstr(complaint, "cannot open shared object file") == NULL)
        return false;
    name = xstrndup(complaint, length);
    is_loaded = wheels_load(name);
    free(name);
    return is_loaded;
}
