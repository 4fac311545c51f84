/* comm.c - see comm.h; chooses the backend
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm.h"

#include <stdio.h>
#include <string.h>

#include "comm/plugin.h"

/* Each is a file of its own: a node may lack the libraries of either. */
struct backend_file {
    const char *name, *file, *symbol;
};

static const struct backend_file nccl_file = { "NCCL", "muster-train-cuda.so",
                                               "comm_nccl_backend" };
static const struct backend_file gloo_file = { "Gloo", "muster-train-gloo.so",
                                               "comm_gloo_backend" };

static const struct backend_file *file_of(const char *backend);
static const struct comm_backend *load(const struct backend_file *file, char *why_not,
                                       size_t size);

int comm_can_load(const char *backend, struct error *err)
{
    char why_not[256];

    if (load(file_of(backend), why_not, sizeof why_not) != NULL)
        return 0;
    return err != NULL ? err_set(err, "%s: %s", backend, why_not) : -1;
}

void comm_probe(int local_rank, struct comm_device *device)
{
    const struct comm_backend *nccl;

    *device = (struct comm_device){ 0 };
    nccl = load(&nccl_file, device->why_not, sizeof device->why_not);
    if (nccl != NULL)
        nccl->probe(local_rank, device);
}

struct comm *comm_open(const char *backend, const struct comm_world *world,
                       const struct comm_device *device, bool *timed_out,
                       struct error *err)
{
    char                       why_not[256];
    const struct comm_backend *found = load(file_of(backend), why_not, sizeof why_not);

    *timed_out = false;
    if (found != NULL)
        return found->open(world, device, timed_out, err);
    err_set(err, "%s: %s", backend, why_not);
    return NULL;
}

static const struct backend_file *file_of(const char *backend)
{
    return strcmp(backend, "gloo") == 0 ? &gloo_file : &nccl_file;
}

static const struct comm_backend *load(const struct backend_file *file, char *why_not,
                                       size_t size)
{
    struct error               err;
    const struct comm_backend *found = plugin_symbol(file->file, file->symbol, &err);

#ifndef HAVE_GLOO
    if (found == NULL && file == &gloo_file)
        err_set(&err, "muster-train was built without Gloo (Debian: apt-get install libgloo-dev, "
                      "then run configure and make again)");
#endif
    if (found == NULL)
        snprintf(why_not, size, "no %s: %.140s", file->name, err.text);
    return found;
}
