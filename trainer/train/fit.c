/* fit.c - see fit.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/fit.h"

#include <stdio.h>

#define GIB ((double)(1 << 30))

static const char *const names[FIT_PARTS] = {
    [FIT_PARAMS] = "parameters",       [FIT_GRADS] = "gradients",
    [FIT_STATES] = "optimizer state",  [FIT_BUFFERS] = "buffers",
    [FIT_ACTIVATIONS] = "activations", [FIT_COPY] = "the copy for --async-checkpoint",
};

static int         refuse(const struct fit *fit, double each, int ranks, uint64_t left,
                          const char *where, struct error *err);
static const char *advice(const struct fit *fit);

int fit_judge(const struct fit *fit, const struct free_memory *memory, struct error *err)
{
    double each = 0;
    int    i;

    for (i = 0; i < FIT_PARTS; i++)
        each += (double)fit->bytes[i];
    if (memory->machine != FREE_MEMORY_UNKNOWN &&
        each * fit->on_machine > (double)memory->machine)
        return refuse(fit, each, fit->on_machine, memory->machine, "on this machine", err);
    if (memory->group != FREE_MEMORY_UNKNOWN && each * fit->on_node > (double)memory->group)
        return refuse(fit, each, fit->on_node, memory->group, "in this cgroup", err);
    return 0;
}

static int refuse(const struct fit *fit, double each, int ranks, uint64_t left,
                  const char *where, struct error *err)
{
    char   parts[256] = "", all[64] = "";
    size_t at = 0;
    int    i;

    for (i = 0; i < FIT_PARTS; i++)
        if ((double)fit->bytes[i] >= 0.05 * GIB)
            at += (size_t)snprintf(parts + at, sizeof parts - at, "%s%s %.1f", at > 0 ? ", " : "",
                                   names[i], (double)fit->bytes[i] / GIB);
    if (ranks > 1)
        snprintf(all, sizeof all, ", so %d ranks need %.1f", ranks, each * ranks / GIB);
    return err_set(err, "a rank needs %.1f GiB of memory (%s)%s, and %s %.1f GiB are free: %s; "
                        "--no-memory-check starts even so",
                   each / GIB, parts, all, where, (double)left / GIB, advice(fit));
}

static const char *advice(const struct fit *fit)
{
    int i, most = 0;

    for (i = 1; i < FIT_PARTS; i++)
        if (fit->bytes[i] > fit->bytes[most])
            most = i;
    switch (most) {
    case FIT_ACTIVATIONS:
        return fit->recomputes ? "shorten --length, or lower --micro-batch"
                               : "shorten --length, lower --micro-batch, or use "
                                 "--activation_checkpointing";
    case FIT_COPY:
        return "save without --async-checkpoint";
    default:
        return "use more nodes with ZeRO stage 3, or offload to a file (device nvme)";
    }
}
