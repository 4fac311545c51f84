/* comm.c - see comm.h; chooses the backend
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm.h"

#include <stdio.h>
#include <string.h>

#include "comm/plugin.h"

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

static const struct comm_backend *load_plugin(char *why_not, size_t size)
{
    struct error                     err;
    const struct comm_backend *nccl = plugin_symbol(COMM_PLUGIN, COMM_PLUGIN_SYMBOL, &err);

    if (nccl == NULL)
        snprintf(why_not, size, "no NCCL: %.120s", err.text);
    return nccl;
}
