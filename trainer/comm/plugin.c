/* plugin.c - see plugin.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

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
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            err_set(err, "%s", dlerror());
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
