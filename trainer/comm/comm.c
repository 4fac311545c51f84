/* comm.c - see comm.h; here, which backend
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

static const struct comm_backend *load_plugin(char *why_not, size_t size);

void comm_probe(int local_rank, struct comm_device *device)
{
    const struct comm_backend *nccl;

    *device = (struct comm_device){ 0 };
    nccl = load_plugin(device->why_not, sizeof device->why_not);
    if (nccl != NULL)
        nccl->probe(local_rank, device);
}

struct comm *comm_open(const char *backend, const struct comm_world *world,
                       const struct comm_device *device, bool *timed_out,
                       struct error *err)
{
    const struct comm_backend *nccl;
    char                       why_not[256];

    if (strcmp(backend, "gloo") == 0)
        return comm_gloo_open(world, timed_out, err);
    *timed_out = false;
    nccl = load_plugin(why_not, sizeof why_not);
    if (nccl != NULL)
        return nccl->open(world, device, timed_out, err);
    err_set(err, "nccl: %s", why_not);
    return NULL;
}

/* The plugin stands beside the program in a build tree, else where it was
 * installed. It stays loaded. */
static const struct comm_backend *load_plugin(char *why_not, size_t size)
{
    static const struct comm_backend *loaded;
    char                             *places[2] = { NULL, NULL }, exe[4096];
    ssize_t                           n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    void                             *library = NULL;
    int                               i;

    if (loaded != NULL)
        return loaded;
    if (n > 0) {
        exe[n] = '\0';
        *strrchr(exe, '/') = '\0';
        places[0] = xasprintf("%s/" COMM_PLUGIN, exe);
    }
    places[1] = xstrdup(PKGLIBDIR "/" COMM_PLUGIN);
    snprintf(why_not, size, "no NCCL: " COMM_PLUGIN " is not installed");
    for (i = 0; i < 2 && library == NULL; i++) {
        if (places[i] == NULL || access(places[i], R_OK) != 0)
            continue;
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            snprintf(why_not, size, "no NCCL: %s", dlerror());
    }
    if (library != NULL) {
        loaded = dlsym(library, COMM_PLUGIN_SYMBOL);
        if (loaded == NULL)
            snprintf(why_not, size, "no NCCL: " COMM_PLUGIN " is of another version");
    }
    free(places[0]);
    free(places[1]);
    return loaded;
}
