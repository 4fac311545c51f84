/* other_launchers.c - see other_launchers.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/other_launchers.h"

#include <string.h>

#include "options/option_value.h"

/* The subcommands where letters mean the same as in pdsh. */
#define FOR_PDSH (FOR(EXEC) | FOR(CLEAN) | FOR_FILES)
#define FOR_FILES (FOR(BCAST) | FOR(COLLECT))

static const struct other_option others[] = {
    { "nproc-per-node", .same = "num_gpus", .set = set_ranks_per_node },
    { "m", FOR(RUN), .same = "module" },
    { "use-env", .same = "no_local_rank" },
    { "standalone", .instead = "torchrun's; leave it out: without a hostfile muster "
      "uses only this machine" },
    { "rdzv-endpoint", .instead = "torchrun's; leave it out, or write --master_addr=ADDR and "
      "--master_port=PORT", .has_arg = true },
    { "rdzv-backend", .instead = "torchrun's; leave it out: muster numbers the ranks",
      .has_arg = true },
    { "rdzv-id", .instead = "torchrun's; leave it out: muster names the run", .has_arg = true },
    { "rdzv-conf", .instead = "torchrun's; leave it out: --connect-timeout limits the start",
      .has_arg = true },
    { "local-addr", .instead = "torchrun's; leave it out: muster asks the nodes for their "
      "addresses", .has_arg = true },
    { "monitor-interval", .instead = "torchrun's; leave it out: muster notices at once "
      "when a rank exits", .has_arg = true },
    { "start-method", .instead = "torchrun's; leave it out", .has_arg = true },
    { "redirects", .instead = "torchrun's; write --log-dir=DIR or --enable_each_rank_log=DIR",
      .has_arg = true },
    { "tee", .instead = "torchrun's; write --log-dir=DIR", .has_arg = true },
    { "r", FOR_WORLD, .instead = "torchrun's; write --log-dir=DIR or --enable_each_rank_log=DIR",
      .has_arg = true },
    { "t", FOR_WORLD, .instead = "torchrun's, write --log-dir=DIR; or pdsh's, write "
      "--connect-timeout=SECONDS", .has_arg = true },
    { "local-ranks-filter", .instead = "torchrun's; write --show-ranks=0,3-5", .has_arg = true },

    { "num-processes", .same = "np", .set = set_processes },
    { "num-machines", .same = "num_nodes" },
    { "main-process-ip", .same = "master_addr" },
    { "main-process-port", .same = "master_port" },
    { "machine-rank", .instead = "accelerate's; leave it out: muster starts all nodes",
      .has_arg = true },
    { "multi-gpu", .instead = "accelerate's; leave it out" },
    { "config-file", .same = "accelerate" },
    { "use-deepspeed", .instead = "accelerate's; set ACCELERATE_USE_DEEPSPEED=true with --env" },
    { "zero-stage", .instead = "accelerate's; write --env ACCELERATE_DEEPSPEED_ZERO_STAGE=N",
      .has_arg = true },
    { "deepspeed-config-file", .instead = "accelerate's; write --env "
      "ACCELERATE_DEEPSPEED_CONFIG_FILE=FILE", .has_arg = true },
    { "gradient-accumulation-steps", .instead = "accelerate's; write --env "
      "ACCELERATE_GRADIENT_ACCUMULATION_STEPS=N", .has_arg = true },
    { "gradient-clipping", .instead = "accelerate's; write --env ACCELERATE_GRADIENT_CLIPPING=X",
      .has_arg = true },
    { "offload-", .instead = "accelerate's; put it into a file for --config_file",
      .has_arg = true },
    { "zero3-", .instead = "accelerate's; put it into a file for --config_file",
      .has_arg = true },
    { "deepspeed-hostfile", .same = "hostfile" },
    { "deepspeed-inclusion-filter", .same = "include" },
    { "deepspeed-exclusion-filter", .same = "exclude" },
    { "deepspeed-multinode-launcher", .instead = "accelerate's; leave it out", .has_arg = true },
    { "use-fsdp", .instead = "accelerate's; put it into a file for --config_file" },
    { "fsdp-", .instead = "accelerate's; put it into a file for --config_file", .has_arg = true },
    { "use-megatron-lm", .instead = "accelerate's; put it into a file for --config_file" },
    { "megatron-lm-", .instead = "accelerate's; put it into a file for --config_file",
      .has_arg = true },
    { "dynamo-", .instead = "accelerate's; put it into a file for --config_file",
      .has_arg = true },
    { "gpu-ids", .instead = "accelerate's; write --include=HOST:0,1", .has_arg = true },
    { "same-network", .instead = "accelerate's; leave it out" },
    { "main-training-function", .instead = "accelerate's; leave it out", .has_arg = true },
    { "cpu", .instead = "accelerate's; write --env ACCELERATE_USE_CPU=true" },
    { "enable-cpu-affinity", .instead = "accelerate's; write --bind_cores_to_rank" },
    { "mpirun-hostfile", .same = "hostfile" },
    { "num-cpu-threads-per-process", .instead = "accelerate's; write --env OMP_NUM_THREADS=N",
      .has_arg = true },
    { "mixed-precision", .instead = "accelerate's; set ACCELERATE_MIXED_PRECISION with --env",
      .has_arg = true },

    { "exclude", FOR_FILES, .same = "exclude-path" },
    { "e", FOR_FILES, .same = "exclude-host" },
    { "L", FOR_FILES, .same = "links", .value = "follow" },
    { "copy-links", FOR_FILES, .same = "links", .value = "follow" },
    { "a", FOR_FILES, .instead = "rsync's, leave it out: modes, times and links are copied; or "
      "pdcp's, write --all-hosts" },
    { "archive", FOR_FILES, .instead = "rsync's; leave it out: modes, times and links are copied" },
    { "z", FOR_FILES, .instead = "rsync's; leave it out: only what is missing is sent" },
    { "n", FOR_FILES, .instead = "rsync's; write --dry-run" },
    { "r", FOR_FILES, .instead = "scp's and rsync's; leave it out: directories are copied whole" },
    { "delete", FOR_FILES, .instead = "rsync's; muster bcast removes nothing: write muster exec "
      "-- rm, or rsync" },

    { "n", FOR_WORLD, .same = "np" },
    { "n", .instead = "mpirun's, muster exec runs one command per host; or ssh's, write "
      "--stdin=none", .has_arg = true },
    { "nostdin", FOR(EXEC), .same = "stdin", .value = "none" },
    { "host", .same = "hosts", .set = set_host_argument },
    { "hostfile", .same = "hostfile" },
    { "machinefile", .same = "hostfile" },
    { "x", FOR_WORLD, .same = "env" },
    { "npernode", .same = "num_gpus", .set = set_processes_per_node },
    { "ppn", .same = "num_gpus", .set = set_processes_per_node },
    { "wdir", .same = "cwd" },
    { "wd", .same = "cwd" },
    { "stdin", .same = "stdin" },
    { "rf", FOR_WORLD, .instead = "mpirun's; ranks follow the order of the hostfile: write its "
      "lines in that order, with slots=N", .has_arg = true },
    { "rankfile", FOR_WORLD, .instead = "mpirun's; ranks follow the order of the hostfile: write "
      "its lines in that order, with slots=N", .has_arg = true },
    { "app", FOR_WORLD, .instead = "mpirun's; write its lines as NAME:N SCRIPT ARGS into a file "
      "for --roles=FILE: each is a world of its own", .has_arg = true },
    { "N", FOR_WORLD, .instead = "mpirun's, write --num_gpus=N; or srun's, write --num_nodes=N",
      .has_arg = true },
    { "f", FOR_WORLD, .instead = "mpiexec's, write --hostfile=FILE; or pdsh's, write --fanout=N",
      .has_arg = true },
    { "genv", .instead = "mpirun's; write --env NAME=VALUE" },
    { "genvall", .same = "env", .value = "*" },
    { "env-all", .same = "env", .value = "*", .set = set_env_all },
    { "map-by", .same = "num_gpus", .set = set_map_by },
    { "rank-by", .same = "num_gpus", .set = set_rank_by },
    { "bind-to", .same = "bind_core_list", .set = set_bind_to },
    { "mca", .instead = "mpirun's; write --env OMPI_MCA_NAME=VALUE, or leave it out if the program "
      "does not use MPI. To choose NCCL's interface: --env NCCL_SOCKET_IFNAME=NAME" },
    { "oversubscribe", .instead = "mpirun's; write the number of slots: -H te1:8" },
    { "allow-run-as-root", .instead = "mpirun's; leave it out" },
    { "report-bindings", .instead = "mpirun's; leave it out: --dry-run shows the ranks" },
    { "tag-output", .instead = "mpirun's; leave it out: lines are labelled" },

    { "ntasks", .same = "np" },
    { "input", .same = "stdin" },
    { "ntasks-per-node", .same = "num_gpus" },
    { "nodelist", .same = "hosts", .set = set_more_hosts },
    { "nodes", .same = "num_nodes", .set = set_node_count },
    { "gpus-per-node", .same = "num_gpus" },
    { "gres", .instead = "srun's; write --num_gpus=N", .has_arg = true },
    { "c", FOR_WORLD, .instead = "srun's; write --bind_cores_to_rank", .has_arg = true },
    { "cpus-per-task", .instead = "srun's; write --bind_cores_to_rank", .has_arg = true },
    { "export", .instead = "srun's; write --env NAME, --env 'HF_*' or --env-all", .has_arg = true },
    { "gpus", .instead = "srun's; write --num_gpus=N per host, or -np N in all", .has_arg = true },

    { "num-proc", .same = "np" },
    { "slots-per-host", .same = "num_gpus" },
    { "slots", .same = "num_gpus" },
    { "min-num-proc", .same = "min-np" },
    { "max-num-proc", .same = "max-np" },
    { "elastic-timeout", .same = "max-wait" },
    { "reset-limit", .instead = "horovodrun's; leave it out: --max-restarts limits failures, and "
      "--max-wait the wait for hosts", .has_arg = true },
    { "blacklist-cooldown-range", .instead = "horovodrun's; leave it out: a node that failed is "
      "tried again after 30 s, then 60 s ... 30 min", .has_arg = true },
    { "autotune", .instead = "horovodrun's; write --env HOROVOD_AUTOTUNE=1" },
    { "no-stall-check", .instead = "horovodrun's; write --env HOROVOD_STALL_CHECK_DISABLE=1" },
    { "hierarchical-allreduce", .instead = "horovodrun's; write --env "
      "HOROVOD_HIERARCHICAL_ALLREDUCE=1" },
    { "hierarchical-allgather", .instead = "horovodrun's; write --env "
      "HOROVOD_HIERARCHICAL_ALLGATHER=1" },
    { "timeline-filename", .instead = "horovodrun's; write --env HOROVOD_TIMELINE=FILE",
      .has_arg = true },
    { "fusion-threshold-mb", .instead = "horovodrun's; write --env HOROVOD_FUSION_THRESHOLD=BYTES",
      .has_arg = true },
    { "cycle-time-ms", .instead = "horovodrun's; write --env HOROVOD_CYCLE_TIME=MS",
      .has_arg = true },
    { "cache-capacity", .instead = "horovodrun's; write --env HOROVOD_CACHE_CAPACITY=N",
      .has_arg = true },
    { "gloo-timeout-seconds", .instead = "horovodrun's; write --env "
      "HOROVOD_GLOO_TIMEOUT_SECONDS=N", .has_arg = true },
    { "disable-cache", .instead = "horovodrun's; leave it out: muster keeps no results of checks" },
    { "check-build", .instead = "horovodrun's; write muster doctor" },
    { "ssh-identity-file", .instead = "horovodrun's; write IdentityFile into ~/.ssh/config, or use "
      "ssh-add", .has_arg = true },
    { "mpi-args", .instead = "horovodrun's; leave it out: muster starts no mpirun",
      .has_arg = true },
    { "tcp", .instead = "horovodrun's; leave it out" },
    { "prefix-output-with-timestamp", .same = "timestamps" },
    { "gloo", .same = "horovod" },
    { "mpi", .instead = "horovodrun's, write --horovod: hvd.init() finds the ranks over Gloo; or "
      "srun's --mpi=pmix, write --pmix" },
    { "start-timeout", .instead = "horovodrun's; write --connect-timeout=TIME", .has_arg = true },
    { "output-filename", .instead = "horovodrun's; write --log-dir=DIR", .has_arg = true },
    { "network-interface", .instead = "horovodrun's; write --env NCCL_SOCKET_IFNAME=NAME, or "
      "iface=NAME into the hostfile", .has_arg = true },
    { "network-interfaces", .instead = "horovodrun's; write --env NCCL_SOCKET_IFNAME=NAME, or "
      "iface=NAME into the hostfile", .has_arg = true },

    { "w", .same = "hosts", .set = set_more_hosts },
    { "x", FOR_FILES, .same = "exclude-host", .set = set_exclude_hosts },
    { "x", FOR_PDSH, .same = "exclude", .set = set_exclude_hosts },
    { "l", FOR_PDSH, .same = "ssh_user" },
    { "f", FOR_PDSH, .same = "fanout", .set = set_fanout_letter },
    { "t", FOR_PDSH, .same = "connect-timeout" },
    { "u", FOR_PDSH, .same = "timeout" },
    { "N", FOR_PDSH, .same = "label", .value = "none" },
    { "p", .same = "ssh_port" },
    { "user", .same = "ssh_user" },
    { "a", .same = "all-hosts" },
    { "A", .same = "group", .value = "*" },
    { "F", FOR_PDSH, .instead = "pdsh's, set PDSH_GENDERS_FILE=FILE; or ssh's, write "
      "--ssh-config=FILE", .has_arg = true },
    { "P", FOR_PDSH, .instead = "pdsh's; write -w \"$(sinfo -ho %N -p PARTITION)\"",
      .has_arg = true },
    { "j", FOR_PDSH, .instead = "pdsh's; write -w \"$(squeue -ho %N -j JOB)\"", .has_arg = true },
    { "M", FOR_PDSH, .instead = "pdsh's or dsh's; leave it out: genders, ClusterShell's and dsh's "
      "groups are all read, and lines are labelled" },
    { "s", FOR_PDSH, .instead = "clush's; write -g SOURCE:GROUP", .has_arg = true },
    { "groupsource", .instead = "clush's; write -g SOURCE:GROUP", .has_arg = true },
    { "pick", .same = "num_nodes" },
    { "R", FOR(EXEC), .same = "transport", .set = set_remote_command },
    { "R", .instead = "pdsh's; leave it out: muster has its own SSH client", .has_arg = true },
    { "l", .instead = "pdsh's; write -H user@te1, or User in ~/.ssh/config", .has_arg = true },
    { "t", .instead = "pdsh's; write --connect-timeout=SECONDS", .has_arg = true },
    { "u", .instead = "pdsh's; write --timeout=SECONDS", .has_arg = true },
    { "o", .instead = "ssh's; put it into ~/.ssh/config, or into a file for --ssh-config",
      .has_arg = true },
    { "V", .instead = "pdsh's; write --version" },
    { "c", .instead = "clush's; write muster bcast PATH..." },
    { "mode", .instead = "clush's; write --sudo", .has_arg = true },
    { "m", FOR_PDSH, .instead = "clush's; write --sudo", .has_arg = true },
    { "become", .same = "sudo" },
    { "ask-become-pass", .instead = "ansible's; leave it out: --sudo asks where sudo wants a "
      "password" },
};

static bool is_name(const char *name, size_t length, const char *known);

const struct other_option *other_launchers_find(const char *name, size_t length,
                                                enum command command)
{
    const struct other_option *other;

    for (other = others; other < others + sizeof others / sizeof *others; other++)
        if (is_name(name, length, other->name) &&
            (other->commands == 0 || command == COMMANDS || other->commands & 1u << command))
            return other;
    return NULL;
}

/* A known name that ends with '-' is the beginning of several. */
static bool is_name(const char *name, size_t length, const char *known)
{
    size_t i, known_length = strlen(known);

    if (known[known_length - 1] == '-' && known_length < length)
        length = known_length;
    if (length != known_length)
        return false;
    for (i = 0; i < length; i++)
        if (name[i] != known[i] && !(name[i] == '_' && known[i] == '-'))
            return false;
    return true;
}
