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
    { "r", FOR(EXEC), .instead = "clush's or dsh's; leave it out" },
    { "t", FOR_WORLD, .instead = "torchrun's, write --log-dir=DIR; or pdsh's, write "
      "--connect-timeout=SECONDS; or srun's, write --timeout=TIME", .has_arg = true },
    { "run-path virtual-local-rank", .instead = "torchrun's; leave it out" },
    { "logs-specs event-log-handler signals-to-handle", .instead = "torchrun's; leave it out",
      .has_arg = true },
    { "numa-binding", .instead = "torchrun's; write --bind_cores_to_rank", .has_arg = true },
    { "shutdown-timeout", .instead = "torchrun's; write --grace=TIME", .has_arg = true },
    { "duplicate-stdout-filters duplicate-stderr-filters", .instead = "torchrun's; leave it out: "
      "muster prints what all ranks write", .has_arg = true },
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
    { "offload- zero3- fsdp- megatron-lm- dynamo- fp8- parallelism-config- "
      "deepspeed-moe-layer-cls-names", .instead = "accelerate's; put it into a file for "
      "--config_file", .has_arg = true },
    { "deepspeed-hostfile", .same = "hostfile" },
    { "deepspeed-inclusion-filter", .same = "include" },
    { "deepspeed-exclusion-filter", .same = "exclude" },
    { "deepspeed-multinode-launcher", .instead = "accelerate's; leave it out", .has_arg = true },
    { "use-fsdp use-megatron-lm use-parallelism-config use-tp downcast-bf16",
      .instead = "accelerate's; put it into a file for --config_file" },
    { "tpu tpu-cluster no-tpu-cluster tpu-use-sudo", .instead = "accelerate's; leave it out: "
      "muster starts ranks for CPUs and GPUs" },
    { "vm aws-access-key-id aws-secret-access-key", .instead = "accelerate's; leave it out: muster "
      "starts ranks for CPUs and GPUs", .has_arg = true },
    { "ipex use-xpu mpirun-ccl", .instead = "accelerate's; leave it out: for Intel's libraries "
      "write --env with the variable that the program reads" },
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
    { "z compress", FOR_FILES, .instead = "rsync's; leave it out: only what is missing is sent" },
    { "d y Z", FOR_FILES, .instead = "pdcp's; leave it out" },
    { "b", FOR_FILES, .instead = "pdcp's; leave it out" },
    { "p", FOR_FILES, .instead = "scp's and pdcp's, leave it out: modes and times are kept; for a "
      "port write --ssh_port=PORT" },
    { "localdir", FOR_FILES, .instead = "parallel-slurp's; write --to=DIR", .has_arg = true },
    { "S", FOR_FILES, .instead = "parallel-rsync's; put it into ~/.ssh/config, or into a file for "
      "--ssh-config", .has_arg = true },
    { "ssh-args", FOR_FILES, .instead = "parallel-rsync's; put it into ~/.ssh/config, or into a "
      "file for --ssh-config", .has_arg = true },
    { "partial progress", FOR_FILES, .instead = "rsync's; leave it out: an interrupted copy "
      "continues, and -v shows how far it is" },
    { "n", FOR_FILES, .instead = "rsync's; write --dry-run" },
    { "r recursive", FOR_FILES, .instead = "scp's and rsync's; leave it out: directories are "
      "copied whole" },
    { "delete", FOR_FILES, .instead = "rsync's; muster bcast removes nothing: write muster exec "
      "-- rm, or rsync" },

    { "n", FOR_WORLD, .same = "np" },
    { "n", .instead = "mpirun's, muster exec runs one command per host; or ssh's, write "
      "--stdin=none", .has_arg = true },
    { "nostdin", FOR(EXEC), .same = "stdin", .value = "none" },
    { "host", .same = "hosts", .set = set_host_argument },
    { "hosts", .same = "hosts" },
    { "hostfile", .same = "hostfile" },
    { "machinefile default-hostfile", .same = "hostfile" },
    { "timeout", .same = "timeout" },
    { "verbose", .same = "verbose" },
    { "version", .same = "version" },
    { "launcher", .same = "launcher" },
    { "max-restarts", .same = "max-restarts" },
    { "pernode", .same = "per-node" },
    { "x", FOR_WORLD, .same = "env" },
    { "npernode", .same = "num_gpus", .set = set_processes_per_node },
    { "ppn perhost", .same = "num_gpus", .set = set_processes_per_node },
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
    { "genv", .instead = "mpiexec's; write --env NAME=VALUE" },
    { "env", FOR_WORLD, .instead = "mpiexec's; write --env NAME=VALUE" },
    { "genvlist envlist", .instead = "mpiexec's; write --env NAME for each", .has_arg = true },
    { "genvnone envnone", .instead = "mpiexec's; leave it out: muster passes on what "
      "muster-environment(7) lists, and what --env names" },
    { "genvall envall", .same = "env", .value = "*" },
    { "env-all", .same = "env", .value = "*", .set = set_env_all },
    { "map-by", .same = "num_gpus", .set = set_map_by },
    { "rank-by", .same = "num_gpus", .set = set_rank_by },
    { "bind-to", .same = "bind_core_list", .set = set_bind_to },
    { "am tune", FOR_WORLD, .instead = "mpirun's; write --env OMPI_MCA_NAME=VALUE for each line "
      "of the file", .has_arg = true },
    { "mca gmca pmixmca prtemca", .instead = "mpirun's; write --env OMPI_MCA_NAME=VALUE, or leave "
      "it out if the program does not use MPI. To choose NCCL's interface: --env "
      "NCCL_SOCKET_IFNAME=NAME" },
    { "oversubscribe overcommit O", FOR_WORLD, .instead = "mpirun's and srun's; write the number "
      "of slots: -H te1:8" },
    { "nooversubscribe", .instead = "mpirun's; leave it out: a host never has more ranks "
      "than slots" },
    { "allow-run-as-root noprefix enable-instant-on-support novm leave-session-attached "
      "use-hwthread-cpus do-not-resolve continuous index-argv-by-rank disable-recovery "
      "fwd-mpirun-port", .instead = "mpirun's; leave it out" },
    { "launch-agent personality with-ft hnp runtime-options", .instead = "mpirun's; leave it out",
      .has_arg = true },
    { "bycore bynode", .instead = "mpirun's; ranks fill the slots of a host before those of the "
      "next: write -H te1:1,te2:1, or --map-by ppr:N:node" },
    { "byslot", .instead = "mpirun's; leave it out: so muster does it" },
    { "bind-to-core bind-to-socket", .instead = "mpirun's; write --bind_cores_to_rank" },
    { "npersocket cpus-per-proc cpus-per-rank membind topolib", .instead = "mpirun's; write "
      "--bind_cores_to_rank", .has_arg = true },
    { "cpu-list cpu-set", .instead = "mpirun's; write --bind_cores_to_rank "
      "--bind_core_list=RANGES", .has_arg = true },
    { "ppr", .instead = "mpirun's; write --map-by ppr:N:node", .has_arg = true },
    { "nolocal skip-launch-node", .instead = "mpirun's; write --exclude=HOST, or leave this host "
      "out of the list" },
    { "display-allocation display-map display-devel-map display-diffable-map display-topo "
      "display-devel-allocation do-not-launch test-only", FOR_WORLD,
      .instead = "mpirun's and srun's; write --dry-run" },
    { "display", FOR_WORLD, .instead = "mpirun's; write --dry-run", .has_arg = true },
    { "report-bindings", .instead = "mpirun's; leave it out: --dry-run shows the ranks" },
    { "report-pid report-uri output-proctable", .instead = "mpirun's; leave it out: muster status "
      "RUN shows process ids", .has_arg = true },
    { "get-stack-traces report-state-on-timeout", .instead = "mpirun's; write --hang-timeout=TIME, "
      "which shows where each rank is" },
    { "debugger xterm", FOR_WORLD, .instead = "mpirun's; write --stdin=RANK --pty",
      .has_arg = true },
    { "debug tv d", FOR_WORLD, .instead = "mpirun's, write --stdin=RANK --pty for a "
      "debugger; or accelerate's, write --env ACCELERATE_DEBUG_MODE=true" },
    { "debug-daemons debug-devel", .instead = "mpirun's; write -v" },
    { "enable-recovery", .instead = "mpirun's; write --max-restarts=N" },
    { "preload-files", .instead = "mpirun's; write --push=PATH", .has_arg = true },
    { "preload-binary", .instead = "mpirun's; write --push=PATH" },
    { "s", FOR_WORLD, .instead = "mpirun's, write --push=PATH; or mpiexec's, write --stdin=all; or "
      "srun's, leave it out" },
    { "path prefix tmpdir", FOR_WORLD, .instead = "mpirun's; write --env PATH=..., --env "
      "LD_LIBRARY_PATH=... or --env TMPDIR=DIR", .has_arg = true },
    { "merge-stderr-to-stdout", .instead = "mpirun's; write sh -c 'exec PROGRAM 2>&1'" },
    { "timestamp-output", .same = "timestamps" },
    { "tag-output prepend-rank prepend-pattern", .instead = "mpirun's; leave it out: lines are "
      "labelled" },
    { "outfile-pattern errfile-pattern", .instead = "mpiexec's; write --log-dir=DIR",
      .has_arg = true },
    { "xml", FOR_WORLD, .instead = "mpirun's; write --json=FILE" },
    { "xml-file output", FOR_WORLD, .instead = "mpirun's, write --json=FILE or leave it out; "
      "or srun's, write --log-dir=DIR", .has_arg = true },
    { "show-progress print-all-exitcodes report-child-jobs-separately", .instead =
      "mpirun's; leave it out: muster reports how a run ended" },
    { "report-events", .instead = "mpirun's; leave it out", .has_arg = true },
    { "configfile", .instead = "mpiexec's; write its lines as NAME:N SCRIPT ARGS into a file for "
      "--roles=FILE", .has_arg = true },
    { "bootstrap", FOR_WORLD, .instead = "mpiexec's; leave it out: muster has its own SSH client",
      .has_arg = true },
    { "enable-x disable-x pmi-port profile disable-auto-cleanup disable-hostname-propagation info "
      "trace check-mpi", FOR_WORLD, .instead = "mpiexec's; leave it out" },
    { "launcher-exec bootstrap-exec rmk demux usize nameserver order-nodes localhost",
      FOR_WORLD, .instead = "mpiexec's; leave it out", .has_arg = true },
    { "iface", .instead = "mpiexec's; write iface=NAME into the hostfile", .has_arg = true },
    { "gpus-per-proc gpus-per-task gpu-bind", .instead = "mpiexec's and srun's; write "
      "--one-gpu-per-rank, or --per-node for all of a node", .has_arg = true },
    { "rr", .instead = "mpiexec's; write -H te1:1,te2:1, or --map-by ppr:N:node" },

    { "ntasks", .same = "np" },
    { "input", .same = "stdin" },
    { "ntasks-per-node", .same = "num_gpus" },
    { "nodelist", .same = "hosts", .set = set_more_hosts },
    { "nodes", .same = "num_nodes", .set = set_node_count },
    { "gpus-per-node", .same = "num_gpus" },
    { "gres", .instead = "srun's; write --num_gpus=N", .has_arg = true },
    { "cb", FOR_WORLD, .instead = "horovodrun's; write muster doctor" },
    { "c", FOR_WORLD, .instead = "srun's, write --bind_cores_to_rank; or mpirun's, write -np N",
      .has_arg = true },
    { "cpus-per-task cpus-per-gpu cpu-bind hint threads-per-core ntasks-per-core", .instead =
      "srun's; write --bind_cores_to_rank", .has_arg = true },
    { "distribution", FOR_WORLD, .instead = "srun's; leave it out: ranks fill the slots of a "
      "host before those of the next", .has_arg = true },
    { "ntasks-per-gpu ntasks-per-socket gpus-per-socket", .instead = "srun's; write --num_gpus=N "
      "per host: one rank per GPU", .has_arg = true },
    { "partition account qos constraint reservation mem mem-per-cpu mem-per-gpu mincpus "
      "cores-per-socket sockets-per-node extra-node-info core-spec thread-spec cpu-freq gpu-freq "
      "gres-flags licenses L nice priority deadline delay-boot begin dependency wckey comment "
      "switches mail-type mail-user mcs-label network power prefer tmp time-min cluster-constraint "
      "clusters bb bbf tres-per-task uid gid B C M", FOR_WORLD,
      .instead = "srun's; give it to sbatch or salloc: in the job muster takes its hosts",
      .has_arg = true },
    { "exclusive overlap contiguous spread-job use-min-nodes hold immediate I reboot no-allocate Z "
      "no-kill k exact preserve-env E unbuffered quit-on-interrupt disable-status send-libs x11 "
      "resv-ports propagate compress", FOR_WORLD, .instead = "srun's; leave it out" },
    { "accel-bind mem-bind epilog prolog task-epilog task-prolog open-mode acctg-freq wait W "
      "threads T", FOR_WORLD, .instead = "srun's; leave it out", .has_arg = true },
    { "u", FOR_WORLD, .instead = "srun's, leave it out; or pdsh's, write --timeout=SECONDS" },
    { "kill-on-bad-exit K", FOR_WORLD, .instead = "srun's; leave it out: the first failure ends "
      "the run" },
    { "time", FOR_WORLD, .instead = "srun's; write --timeout=TIME, or give it to sbatch",
      .has_arg = true },
    { "J job-name", FOR_WORLD, .instead = "srun's; write --name=NAME", .has_arg = true },
    { "jobid", FOR_WORLD, .instead = "srun's; type muster in the job, or export SLURM_JOB_ID and "
      "SLURM_JOB_NODELIST", .has_arg = true },
    { "error", FOR_WORLD, .instead = "srun's; write --log-dir=DIR", .has_arg = true },
    { "o", FOR_WORLD, .instead = "srun's, write --log-dir=DIR; or ssh's, put it into "
      "~/.ssh/config, or into a file for --ssh-config", .has_arg = true },
    { "l", FOR_WORLD, .instead = "srun's, leave it out: lines are labelled; or pdsh's, write -H "
      "user@te1, or User in ~/.ssh/config" },
    { "Q", FOR_WORLD, .same = "quiet" },
    { "D chdir", FOR_WORLD, .same = "cwd" },
    { "F nodefile", FOR_WORLD, .instead = "srun's; write --hostfile=FILE", .has_arg = true },
    { "relative", FOR_WORLD, .instead = "srun's; write --include=HOSTS", .has_arg = true },
    { "bcast", FOR_WORLD, .instead = "srun's; write --push=PATH" },
    { "bcast-exclude", FOR_WORLD, .instead = "srun's; write --push-exclude=PATTERN",
      .has_arg = true },
    { "multi-prog", FOR_WORLD, .instead = "srun's; write its lines as NAME:N SCRIPT ARGS into a "
      "file for --roles=FILE" },
    { "het-group", FOR_WORLD, .instead = "srun's; write --role NAME:N before each program",
      .has_arg = true },
    { "signal", FOR_WORLD, .instead = "srun's; give it to sbatch as --signal=B:USR1@60, or write "
      "muster kill -s SIGNAL RUN", .has_arg = true },
    { "msg-timeout", FOR_WORLD, .instead = "srun's; write --connect-timeout=TIME",
      .has_arg = true },
    { "slurmd-debug usage", FOR_WORLD, .instead = "srun's; write -v, or --help" },
    { "no-container-", FOR_WORLD, .instead = "srun's; leave it out" },
    { "container container-", FOR_WORLD, .instead = "srun's; write the container "
      "into the command: muster apptainer exec IMAGE python3 SCRIPT", .has_arg = true },
    { "export", .instead = "srun's; write --env NAME, --env 'HF_*' or --env-all", .has_arg = true },
    { "gpus G", FOR_WORLD, .instead = "srun's; write --num_gpus=N per host, or -np N in all",
      .has_arg = true },

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
    { "torus-allreduce", .instead = "horovodrun's; write --env HOROVOD_TORUS_ALLREDUCE=1" },
    { "no-torus-allreduce no-hierarchical-allreduce no-hierarchical-allgather no-autotune "
      "no-timeline-mark-cycles no-mpi-threads-disable stall-check no-log-hide-timestamp "
      "log-with-timestamp jsrun", .instead = "horovodrun's; leave it out" },
    { "binding-args", .instead = "horovodrun's; leave it out, or write --bind_cores_to_rank",
      .has_arg = true },
    { "autotune-log-file", .instead = "horovodrun's; write --env HOROVOD_AUTOTUNE_LOG=FILE",
      .has_arg = true },
    { "autotune-", .instead = "horovodrun's; write --env HOROVOD_AUTOTUNE_NAME=VALUE, such as "
      "HOROVOD_AUTOTUNE_WARMUP_SAMPLES=3", .has_arg = true },
    { "timeline-mark-cycles", .instead = "horovodrun's; write --env "
      "HOROVOD_TIMELINE_MARK_CYCLES=1" },
    { "stall-check-warning-time-seconds", .instead = "horovodrun's; write --env "
      "HOROVOD_STALL_CHECK_TIME_SECONDS=N", .has_arg = true },
    { "stall-check-shutdown-time-seconds", .instead = "horovodrun's; write --env "
      "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=N", .has_arg = true },
    { "mpi-threads-disable", .instead = "horovodrun's; write --env HOROVOD_MPI_THREADS_DISABLE=1" },
    { "num-nccl-streams", .instead = "horovodrun's; write --env HOROVOD_NUM_NCCL_STREAMS=N",
      .has_arg = true },
    { "thread-affinity", .instead = "horovodrun's; write --env HOROVOD_THREAD_AFFINITY=CORES",
      .has_arg = true },
    { "log-hide-timestamp log-without-timestamp", .instead = "horovodrun's; write --env "
      "HOROVOD_LOG_HIDE_TIME=1" },
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
    { "prefix-output-with-timestamp prefix-timestamp", .same = "timestamps" },
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
    { "par forklimit", FOR_PDSH, .same = "fanout" },
    { "t", FOR_PDSH, .same = "connect-timeout" },
    { "u command-timeout", FOR_PDSH, .same = "timeout" },
    { "machine", FOR_PDSH, .same = "hosts", .set = set_more_hosts },
    { "file", FOR_PDSH, .same = "hostfile" },
    { "dshbak", FOR(EXEC), .same = "fold" },
    { "B", FOR(EXEC), .same = "fold" },
    { "maxrc", FOR(EXEC), .same = "largest-status" },
    { "host-glob", FOR_PDSH, .instead = "parallel-ssh's; write --include=/RE/", .has_arg = true },
    { "N", FOR_PDSH, .same = "label", .value = "none" },
    { "p", .same = "ssh_port", .set = set_port_letter },
    { "user", .same = "ssh_user" },
    { "a all", .same = "all-hosts" },
    { "A", .same = "group", .value = "*" },
    { "F", FOR_PDSH, .instead = "pdsh's, set PDSH_GENDERS_FILE=FILE; or ssh's, write "
      "--ssh-config=FILE; or dsh's, write --fanout=N", .has_arg = true },
    { "P", FOR_PDSH, .instead = "pdsh's, write -w \"$(sinfo -ho %N -p PARTITION)\"; or clush's or "
      "parallel-ssh's, leave it out", .has_arg = true },
    { "j", FOR_PDSH, .instead = "pdsh's; write -w \"$(squeue -ho %N -j JOB)\"", .has_arg = true },
    { "L d k G I groupbase regroup progress diff debug inline inline-stdout send-input print "
      "askpass wait-shell concurrent-shell duplicate-input", FOR(EXEC), .instead = "pdsh's, "
      "clush's, dsh's or parallel-ssh's; leave it out" },
    { "color axis topology remote E bufsize num-topology remoteshell worker", FOR(EXEC), .instead =
      "clush's or dsh's; leave it out", .has_arg = true },
    { "outdir errdir", FOR_PDSH, .instead = "clush's and parallel-ssh's; write --log-dir=DIR, and "
      "muster collect", .has_arg = true },
    { "O option", FOR_PDSH, .instead = "clush's, write --fanout=N or --connect-timeout=SECONDS; or "
      "parallel-ssh's, put it into ~/.ssh/config, or into a file for --ssh-config",
      .has_arg = true },
    { "options extra-args extra-arg remoteshellopt", FOR_PDSH, .instead = "ssh's; put it into "
      "~/.ssh/config, or into a file for --ssh-config", .has_arg = true },
    { "groupsconf conf", FOR_PDSH, .instead = "clush's; set CLUSTERSHELL_CFGDIR=DIR",
      .has_arg = true },
    { "copy", FOR(EXEC), .instead = "clush's; write muster bcast PATH...", .has_arg = true },
    { "rcopy", FOR(EXEC), .instead = "clush's; write muster collect PATH...", .has_arg = true },
    { "dest", FOR(EXEC) | FOR_FILES, .instead = "clush's, which may name a file; write --to=DIR of "
      "muster bcast or collect", .has_arg = true },
    { "show-machine-names", FOR(EXEC), .instead = "dsh's; leave it out: lines are labelled" },
    { "hide-machine-names", FOR(EXEC), .same = "label", .value = "none" },
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
    { "c", .instead = "clush's, write muster bcast PATH...; or dsh's, leave it out" },
    { "mode", .instead = "clush's; write --sudo", .has_arg = true },
    { "m", FOR_PDSH, .instead = "clush's, write --sudo; or dsh's, write -w te1,te2",
      .has_arg = true },
    { "become", .same = "sudo" },
    { "become-user become-method", .instead = "ansible's; leave it out: --sudo is root",
      .has_arg = true },
    { "ask-become-pass", .instead = "ansible's; leave it out: --sudo asks where sudo wants a "
      "password" },
    { "K", FOR_PDSH, .instead = "ansible's; leave it out: --sudo asks where sudo wants a "
      "password" },
};

static bool is_one_of(const char *name, size_t length, const char *names);
static bool is_name(const char *name, size_t length, const char *known, size_t known_length);

const struct other_option *other_launchers_find(const char *name, size_t length,
                                                enum command command)
{
    const struct other_option *other;

    for (other = others; other < others + sizeof others / sizeof *others; other++)
        if (is_one_of(name, length, other->name) &&
            (other->commands == 0 || command == COMMANDS || other->commands & 1u << command))
            return other;
    return NULL;
}

static bool is_one_of(const char *name, size_t length, const char *names)
{
    size_t known_length;

    for (; *names != '\0'; names += known_length + strspn(names + known_length, " ")) {
        known_length = strcspn(names, " ");
        if (is_name(name, length, names, known_length))
            return true;
    }
    return false;
}

/* A known name that ends with '-' is the beginning of several. */
static bool is_name(const char *name, size_t length, const char *known, size_t known_length)
{
    size_t i;

    if (known[known_length - 1] == '-' && known_length < length)
        length = known_length;
    if (length != known_length)
        return false;
    for (i = 0; i < length; i++)
        if (name[i] != known[i] && !(name[i] == '_' && known[i] == '-'))
            return false;
    return true;
}
