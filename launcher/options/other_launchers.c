/* other_launchers.c - see other_launchers.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/other_launchers.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name; /* '-' is '_' as well */
    const char *instead;
} others[] = {
    { "nproc-per-node", "torchrun's; write --num_gpus=N" },
    { "nnodes", "torchrun's; write --num_nodes=N, or nothing for all hosts" },
    { "standalone", "torchrun's; leave it out: without a hostfile only this machine is used" },
    { "rdzv-endpoint", "torchrun's; leave it out, or write --master_addr=ADDR and "
      "--master_port=PORT" },
    { "rdzv-backend", "torchrun's; leave it out: muster numbers the ranks" },
    { "rdzv-id", "torchrun's; leave it out: muster names the run" },
    { "rdzv-conf", "torchrun's; leave it out: --connect-timeout limits the start" },
    { "local-addr", "torchrun's; leave it out: muster asks the nodes for their addresses" },
    { "max-restarts", "torchrun's; leave it out: muster starts a run once" },
    { "monitor-interval", "torchrun's; leave it out: muster notices the end of a rank at once" },
    { "start-method", "torchrun's; leave it out" },
    { "use-env", "torch.distributed.launch's; write --no_local_rank" },
    { "redirects", "torchrun's; write --log-dir=DIR or --enable_each_rank_log=DIR" },
    { "tee", "torchrun's; write --log-dir=DIR" },
    { "local-ranks-filter", "torchrun's; write --show-ranks=0,3-5" },
    { "num-processes", "accelerate's; write -np N" },
    { "num-machines", "accelerate's; write --num_nodes=N" },
    { "machine-rank", "accelerate's; leave it out: muster starts all nodes" },
    { "main-process-ip", "accelerate's; write --master_addr=ADDR" },
    { "main-process-port", "accelerate's; write --master_port=PORT" },

    { "n", "mpirun's; write -np N" },
    { "host", "mpirun's; write -H te1:4,te2:4" },
    { "machinefile", "mpirun's; write --hostfile=FILE" },
    { "x", "mpirun's, write --env NAME=VALUE; or pdsh's, write --exclude te1@te2" },
    { "genv", "mpirun's; write --env NAME=VALUE" },
    { "npernode", "mpirun's; write --num_gpus=N" },
    { "ppn", "mpirun's; write --num_gpus=N" },
    { "N", "mpirun's, write --num_gpus=N; or pdsh's, write --label=none" },
    { "map-by", "mpirun's; leave it out: ranks fill the slots in the order of the hostfile" },
    { "rank-by", "mpirun's; leave it out: ranks are numbered in the order of the hostfile" },
    { "bind-to", "mpirun's; write --bind_cores_to_rank" },
    { "mca", "mpirun's; a program of Open MPI needs mpirun itself, muster cannot start it; for "
      "others leave it out. To choose NCCL's interface: --env NCCL_SOCKET_IFNAME=NAME" },
    { "oversubscribe", "mpirun's; write the number of slots: -H te1:8" },
    { "allow-run-as-root", "mpirun's; leave it out" },
    { "tag-output", "mpirun's; leave it out: lines are labelled" },
    { "wdir", "mpirun's; write --cwd=DIR" },
    { "ntasks", "srun's; write -np N" },
    { "ntasks-per-node", "srun's; write --num_gpus=N" },
    { "nodelist", "srun's; write -H te1:4,te2:4" },

    { "w", "pdsh's; write -H te1,te2" },
    { "a", "pdsh's; write --hostfile=FILE" },
    { "g", "pdsh's; write --hostfile=FILE" },
    { "R", "pdsh's; leave it out: muster has its own SSH client" },
    { "l", "pdsh's; write -H user@te1, or User in ~/.ssh/config" },
    { "f", "pdsh's; write --fanout=N" },
    { "t", "pdsh's; write --connect-timeout=SECONDS" },
    { "u", "pdsh's; write --timeout=SECONDS" },
    { "p", "ssh's; write --ssh_port=PORT" },
    { "o", "ssh's; write it into ~/.ssh/config, or a file for --ssh-config" },
    { "m", "python's; write --module" },
    { "c", "clush's; write muster bcast PATH..." },
};

static bool is_name(const char *name, size_t length, const char *known);

const char *other_launchers_hint(const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_name(name, length, others[i].name))
            return others[i].instead;
    return NULL;
}

static bool is_name(const char *name, size_t length, const char *known)
{
    size_t i;

    if (length != strlen(known))
        return false;
    for (i = 0; i < length; i++)
        if (name[i] != known[i] && !(name[i] == '_' && known[i] == '-'))
            return false;
    return true;
}
