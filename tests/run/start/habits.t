#!/bin/sh
# What users of other launchers type, and what beginners do: taken where it has an exact meaning,
# else refused with the right words. A line of the table is one habit.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

: >train.py
echo 'import no_such_module' >nomodule.py
echo 'import argparse; p = argparse.ArgumentParser(); p.add_argument("--lr"); p.parse_args()' >noarg.py
script_file a.out <<'EOF'
#!/bin/sh
EOF
cp a.out torchrun
printf 'te1 slots=2\nte2 slots=2\nte3 slots=2\n' >hosts
printf 'te1\nte2 # two GPUs\n' >machines
printf 'te[1-2]\n' >bare
printf 'te1\nte1\nte2\n' >pbs
printf 'te1 3 all.q@te1 UNDEFINED\nte2 2 all.q@te2 UNDEFINED\n' >pe
: >gpu0 >gpu1 >gpu2
exec_on="muster exec --dry-run -H te1,te2"
on_hosts="muster --dry-run --hostfile=hosts"
export exec_on on_hosts

# TYPED | EXIT STATUS | WORDS of the output, an extended regular expression for each
grep -v '^#' >table <<'EOF'
# torchrun
$on_hosts --nnodes=2 --nproc_per_node=4 train.py | 0 | 8 ranks on 2 nodes
$on_hosts --nnodes 2:2 --nproc-per-node gpu train.py | 0 | 4 ranks on 2 nodes
$on_hosts --nnodes=1:4 train.py | 0 | 6 ranks on 3 nodes
$on_hosts --nnodes=4:5 train.py | 2 | no world of the first of these 3 nodes has an allowed number of nodes and ranks
$on_hosts --spares 1 train.py | 0 | 4 ranks on 2 nodes
$on_hosts --spares 3 train.py | 2 | --spares 3: there are only 3
$on_hosts --nnodes=1:4 --worlds 4,2 train.py | 0 | 4 ranks on 2 nodes
$on_hosts --nproc_per_node=auto train.py | 2 | 'auto' depends on the machine
$on_hosts --max_restarts 0 train.py | 0 | 6 ranks
$on_hosts --max-restarts=3 train.py | 0 | 6 ranks
$on_hosts -m json.tool | 0 | -u -m json.tool
$on_hosts --role trainer train.py | 0 | ^role trainer: 6 ranks on 3 nodes
muster --standalone train.py | 2 | without a hostfile muster uses only this machine
$on_hosts --rdzv_backend c10d --rdzv_endpoint te1:1 --tee 3 train.py | 2 | --rdzv_backend: .*numbers the ranks | --rdzv_endpoint: .*--master_addr=ADDR | --tee: .*--log-dir
$on_hosts -r 3 -t 3 train.py | 2 | -r: it is torchrun's; write --log-dir | -t: it is torchrun's, write --log-dir=DIR; or pdsh's
# ssh, docker, kubectl, squeue
$on_hosts -i ./hosts train.py | 2 | -i: './hosts' is a file, and -i is --include, .*ssh-add
$on_hosts -i te2 train.py | 0 | 2 ranks on 1 node
muster version | 0 | ^muster [0-9] | libssh
muster version --dry-run | 127 | version: not found
muster ps | 0 | no runs|RUN
muster list | 0 | no runs|RUN
muster kill -s USR1 | 2 | which run\? muster kill --signal=SIGNAL RUN
muster kill -s NONE x | 2 | -s: 'NONE' is no signal; write one such as USR1
muster kill -s USR1 x | 2 | no run 'x'
muster kill -USR1 x | 2 | no run 'x'
muster kill -SIGUSR1 x | 2 | no run 'x'
muster kill -10 x | 2 | no run 'x'
muster kill -USR1 | 2 | which run\? muster kill --signal=SIGNAL RUN
muster kill -USR9 x | 2 | unknown option -U
muster stop -9 x | 2 | unknown option -9
# All unknown options at once, but none of the script's
$on_hosts --foo 3 --bar four --baz train.py --lr 1 | 2 | unknown option --foo | unknown option --bar | unknown option --baz
# accelerate
$on_hosts --config_file none.yaml train.py | 65 | none.yaml: No such file
$on_hosts --multi_gpu --zero_stage 3 --gpu_ids 0,1 train.py | 2 | --multi_gpu: it is accelerate's | --zero_stage: .*--env ACCELERATE_DEEPSPEED_ZERO_STAGE=N | --gpu_ids: .*--include=HOST:0,1
$on_hosts --use_fsdp --fsdp_sharding_strategy FULL_SHARD --fsdp_offload_params true train.py | 2 | --use_fsdp: it is accelerate's; put it into a file for --config_file | --fsdp_sharding_strategy: it is | --fsdp_offload_params: it is
$on_hosts --num_processes 4 --num_machines 2 train.py | 0 | 4 ranks on 2 nodes
muster --dry-run -H te1:8,te2:8 --num_processes 8 --num_machines 2 train.py | 0 | 8 ranks on 2 nodes
$on_hosts --num_processes 3 --num_machines 2 train.py | 2 | --num_processes 3 is no multiple of --num_machines 2: .*-np 3 fills one after the other
$on_hosts --num_processes 3 train.py | 0 | 3 ranks on 2 nodes
muster --dry-run --deepspeed_hostfile hosts --deepspeed_inclusion_filter te1 train.py | 0 | 2 ranks on 1 node
# mpirun, mpiexec, srun, horovodrun
muster --dry-run -n 3 --host te1:2,te2:2 -x A=1 ./a.out | 0 | 3 ranks on 2 nodes | ^  .*\<A\>
muster --dry-run -host te1:2 -npernode 1 a.out | 0 | 1 rank on 1 node
muster --dry-run -hostfile hosts -np 2 ./a.out | 0 | 2 ranks on 1 node
muster --dry-run -machinefile hosts -ppn 1 -wdir / sh | 0 | 3 ranks on 3 nodes | in /$
muster --dry-run --nodelist te1,te2 --ntasks-per-node=2 ./a.out | 0 | 4 ranks on 2 nodes
muster --dry-run -w te1,te2 --ntasks 2 ./a.out | 0 | 2 ranks on 2 nodes
$on_hosts -N 2 ./a.out | 2 | mpirun's, write --num_gpus=N; or srun's, write --num_nodes=N
$on_hosts -map-by slot -rank-by slot --bind-to none -wd / sh | 0 | 6 ranks on 3 nodes | in /$
$on_hosts --map-by ppr:1:node ./a.out | 0 | 3 ranks on 3 nodes
$on_hosts -np 8 --map-by ppr:4:node ./a.out | 0 | 8 ranks on 2 nodes
$on_hosts -map-by node ./a.out | 2 | -map-by: 'node' is not done: ranks fill the slots of a host before those of the next, .*'ppr:N:node'
$on_hosts --map-by ppr:2:node:PE=4 ./a.out | 2 | --map-by: 'ppr:2:node:PE=4' is not done
$on_hosts --map-by ppr:x:node ./a.out | 2 | --map-by: 'ppr:x:node' is not done
$on_hosts --rank-by node ./a.out | 2 | --rank-by: 'node' is not done: ranks are numbered in the order of the slots
$on_hosts --bind-to core ./a.out | 2 | --bind-to: 'core' is not done; write --bind_cores_to_rank: each rank gets an equal share
$on_hosts --bind-to numa ./a.out | 2 | --bind-to: 'numa' is not done; write --bind_cores_to_rank
$on_hosts --report-bindings --gres=gpu:2 -c 8 --export=ALL a.out | 2 | --report-bindings: it is mpirun's | --gres: it is srun's; write --num_gpus | -c: it is srun's, write --bind_cores | --export: it is srun's; write --env
$on_hosts -x A ./a.out | 2 | --env A: not set in this environment
muster --dry-run -H te1,te1,te1 ./a.out | 0 | 3 ranks on 1 node
muster --dry-run -H te1:2,te2,te1 ./a.out | 0 | 4 ranks on 2 nodes
muster --dry-run -H te1:2,te1:2 ./a.out | 65 | te1 is named twice; write the sum of its slots once: te1:N
$on_hosts -rf ranks a.out | 2 | -rf: it is mpirun's; ranks follow the order of the hostfile
$on_hosts --rankfile ranks a.out | 2 | --rankfile: it is mpirun's; ranks follow
muster --app contexts | 2 | --app: it is mpirun's; write its lines as NAME:N SCRIPT ARGS into a file for --roles=FILE
muster -np 1 sh : -np 2 sh | 2 | ':' before '-np': for several scripts write --role NAME:N before each
muster --dry-run -np 4 -H te1:2,te2:2 -p 2222 --gloo train.py | 0 | Horovod's ranks meet there, too
muster --dry-run -n 4 -H te1:2,te2:2 --mpi=pmix train.py | 2 | srun's --mpi=pmix, write --pmix
muster --dry-run -np 4 -H te1:2,te2:2 --mca btl tcp,self train.py | 2 | --mca: it is mpirun's; write --env OMPI_MCA_NAME=VALUE
muster --dry-run -np 4 -H te1:2,te2:2 --pmix train.py | 0 | 4 ranks on 2 nodes
muster --dry-run -np 4 -H te1:2,te2:2 --mpi train.py | 2 | --mpi: it is horovodrun's, write --horovod
muster --dry-run --num-proc 4 -H te1:2,te2:2 -p 2222 train.py | 0 | 4 ranks on 2 nodes | port 2222|this machine
muster --dry-run --num-proc 4 --slots 2 -H te1:2,te2:2 --min-num-proc 2 --max-num-proc 4 train.py | 0 | 4 ranks on 2 nodes
$on_hosts --reset-limit 3 --timeline-filename t.json --autotune train.py | 2 | --reset-limit: .*--max-restarts | --timeline-filename: .*--env HOROVOD_TIMELINE=FILE | --autotune: .*--env HOROVOD_AUTOTUNE=1
$on_hosts --fusion-threshold-mb 64 --no-stall-check --mpi-args=-x train.py | 2 | HOROVOD_FUSION_THRESHOLD=BYTES | HOROVOD_STALL_CHECK_DISABLE=1 | muster starts no mpirun
HF_HOME=/h MUSTER_TRANSPORT=ssh muster -v --dry-run -H te1:1,te2:1 train.py | 0 | not passed to the ranks, though .*HF_HOME.*--env-all
HF_HOME=/h MUSTER_TRANSPORT=ssh muster -v --dry-run -H te1:1,te2:1 --env 'HF_*' --env 'NONE_*' train.py | 0 | HF_HOME=/h | warning: --env 'NONE_\*': no variable
OWN_A=1 MUSTER_TRANSPORT=ssh muster -v --dry-run -H te1:1,te2:1 -genvall ./a.out | 0 | OWN_A=1
# pdsh, clush
muster exec -f hosts date | 2 | 'hosts' is a file, and -f is --fanout; write --hostfile=hosts
muster exec -f many date | 2 | 'many' is not a number
muster exec --dry-run -w te1,te1 date | 0 | 1 command on 1 node
muster exec --dry-run -w te[1-3] -x te2 date | 0 | 2 commands on 2 nodes
muster exec --dry-run -w te1,te2 -x te1 -l bob -f 7 -t 3 -u 60 -N date | 0 | 1 command on 1 node | user bob
muster exec --dry-run -w te1 -w te2 date | 0 | 2 commands
muster exec --dry-run -w te1 -x te7 date | 2 | no host 'te7'
muster exec --dry-run -w te[1-3],-te2 date | 0 | 2 commands on 2 nodes | ^te\[1,3\]: 
muster exec --dry-run -w te[1-9],-te[1,3] -w x1,-/te[45]/ -x te9 date | 0 | 5 commands | ^te\[2,6-8\],x1: 
muster exec --dry-run -w -te1 date | 2 | if it is the value, write -w=-te1
muster exec --dry-run -w te[1-3],-te7 date | 2 | --exclude: no host 'te7'
muster exec --dry-run -H te1,-te2 date | 65 | cannot begin with '-'; to leave a host out write --exclude=HOST
muster exec --dry-run -w 'te1 te2' date | 65 | a blank is not allowed in a host name; write a comma between hosts
muster exec --dry-run -w te{1..4} date | 65 | '\{' is not allowed in a host name; write te\[1-4\], not te\{1..4\}
muster exec --dry-run -w te[1-3]!te2 date | 65 | operators belong behind a group: @GROUP!te1
muster exec --dry-run -K -w te1 date | 2 | -K: it is ansible's; leave it out
muster exec --dry-run -w $PWD/machines date | 65 | '/' is not allowed in a host name; for a file of hosts write --hostfile=FILE
$exec_on -R ssh date | 2 | leave it out: muster has its own SSH client
$exec_on -n 2 date | 2 | one command per host
WCOLL=bare muster exec --dry-run date | 0 | 2 commands on 2 nodes
WCOLL=none muster exec --dry-run date | 65 | hostfile none: No such file
muster exec --dry-run -w ^machines,te9 date | 0 | 3 commands
muster exec --dry-run -w ^gpu0 date | 65 | no host in \^gpu0
muster exec --dry-run -w ^none date | 65 | none: No such file
# hosts
muster exec --dry-run --hostfile=machines date | 0 | 2 commands on 2 nodes
muster clean --dry-run --hostfile=machines | 0 | te\[1-2\]: 
muster bcast --dry-run --hostfile=machines train.py | 0 | te\[1-2\]: 
muster --dry-run --hostfile=machines train.py | 0 | machines: hosts without slots=N have 1 slot here; a run uses one slot per GPU | 2 ranks on 2 nodes
muster --dry-run --hostfile=machines --num_gpus=4 train.py | 0 | 8 ranks on 2 nodes
muster --dry-run --hostfile=pbs ./a.out | 0 | 3 ranks on 2 nodes
muster --dry-run -H "te1, te2" date | 0 | 2 ranks on 2 nodes
muster --dry-run -H 'te[1-9/2]' date | 0 | 5 ranks on 5 nodes
$on_hosts --include 'te[1-2]:0' train.py | 0 | 2 ranks on 2 nodes
$on_hosts --exclude 'te[2-3]' train.py | 0 | 2 ranks on 1 node
muster --dry-run -H '[fd00::1],[fd00::2]' --exclude fd00::2 date | 0 | 1 rank on 1 node | ^fd00::1: 
muster --dry-run -H fd00::1,fd00::2 date | 65 | an IPv6 address needs brackets here: \[fd00::1\]
muster --dry-run -H 10.0.0.2:2222 date | 65 | for a port write --ssh_port
# batch systems: taken without hosts, and said
SLURM_JOB_ID=7 SLURM_JOB_NODELIST='te[1-2],x9' SLURM_TASKS_PER_NODE='4(x2),3' muster --dry-run train.py | 0 | Slurm job 7: te\[1-2\],x9, 3 to 4 slots \(SLURM_TASKS_PER_NODE\) | 11 ranks on 3 nodes
SLURM_JOB_ID=7 SLURM_JOB_NODELIST='te[1-2]' SLURM_GPUS_PER_NODE=a100:8 SLURM_TASKS_PER_NODE='1(x2)' muster --dry-run train.py | 0 | te\[1-2\], 8 slots each \(SLURM_GPUS_PER_NODE\) | 16 ranks
SLURM_JOB_NODELIST='te[1-2]' SLURM_GPUS_ON_NODE=4 muster --dry-run --num_nodes=1 train.py | 0 | 4 ranks on 1 node
SLURM_JOB_NODELIST='te[1-2]' SLURM_TASKS_PER_NODE='1(x2)' MUSTER_TEST_GPU_GLOB="$PWD/gpu*" muster --dry-run train.py | 0 | 3 slots each \(GPUs of this machine\) | 6 ranks
SLURM_JOB_NODELIST='te[1-2' muster --dry-run train.py | 65 | SLURM_JOB_NODELIST: .* without
SLURM_JOB_NODELIST='te[1-2]' SLURM_TASKS_PER_NODE=x muster --dry-run train.py | 65 | SLURM_TASKS_PER_NODE: 'x'
SLURM_JOB_NODELIST='te[1-2]' SLURM_STEP_NUM_TASKS=2 muster --dry-run train.py | 65 | srun starts muster 2 times
SLURM_JOB_NODELIST='te[1-2]' muster --dry-run -H te9 train.py | 0 | 1 rank on 1 node
SLURM_JOB_NODELIST=$(hostname) SLURM_GPUS_ON_NODE=4 CUDA_VISIBLE_DEVICES=2,3 MUSTER_TRANSPORT=auto muster --dry-run train.py | 0 | 2 ranks on 1 node | CUDA_VISIBLE_DEVICES=2,3
PBS_JOBID=9.pbs PBS_NODEFILE=pbs muster --dry-run train.py | 0 | PBS job 9.pbs: te\[1-2\], 1 to 2 slots | 3 ranks on 2 nodes
PBS_NODEFILE=none muster --dry-run train.py | 65 | none: No such file
LSB_JOBID=5 LSB_MCPU_HOSTS='te1 2 te2 2' muster --dry-run train.py | 0 | LSF job 5: te\[1-2\], 2 slots each \(LSB_MCPU_HOSTS\) | 4 ranks on 2 nodes
JOB_ID=2 PE_HOSTFILE=pe muster --dry-run train.py | 0 | Grid Engine job 2: te\[1-2\], 2 to 3 slots \(PE_HOSTFILE\) | 5 ranks on 2 nodes
OAR_JOB_ID=3 OAR_NODEFILE=pbs muster --dry-run train.py | 0 | OAR job 3: te\[1-2\], 1 to 2 slots | 3 ranks on 2 nodes
FLUX_URI=local:///x PATH=$PATH:/nowhere muster --dry-run train.py | 65 | FLUX_URI is set, but .*flux.*; name the hosts with -H
SLURM_JOB_NODELIST='te[1-2]' SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_STEP_ID=0 SLURM_NODEID=1 SLURM_STEP_NODELIST='te[1-2]' muster --dry-run --no_ssh --master_addr te1 train.py | 0 | hosts of Slurm job: te\[1-2\], 1 slot each | ^te2: this machine
SLURM_JOB_NODELIST='te[1-2]' SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_STEP_ID=0 SLURM_NODEID=1 muster --dry-run --no_ssh --node_rank 0 --master_addr te1 train.py | 0 | ^te1: this machine
SLURM_JOB_NODELIST='te[1-2]' SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_STEP_ID=0 SLURM_NODEID=1 muster --dry-run --no_ssh train.py | 2 | --no_ssh needs --master_addr, .*: an address of the first, te1
SLURM_JOB_NODELIST='te[1-2]' SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=2 SLURM_STEP_ID=0 SLURM_NODEID=1 muster --dry-run --no_ssh --master_addr te1 train.py | 65 | srun --ntasks-per-node=1
muster --dry-run --no_ssh train.py | 2 | --no_ssh needs --node_rank
muster --dry-run train.py | 0 | no hostfile \(/job/hostfile\): using this machine alone | 1 rank on 1 node
# groups, of pdsh, pdcp, clush and dsh: groups.t
muster exec -F genders -g gpu true | 2 | -F: it is pdsh's, set PDSH_GENDERS_FILE=FILE; or ssh's, write --ssh-config=FILE
muster exec -P debug true | 2 | -P: it is pdsh's, write -w "\$\(sinfo -ho %N -p PARTITION\)"
muster exec -j 7 true | 2 | -j: it is pdsh's; write -w "\$\(squeue -ho %N -j JOB\)"
muster exec -s slurm -g gpu true | 2 | -s: it is clush's; write -g SOURCE:GROUP
muster exec --groupsource=slurm -g gpu true | 2 | --groupsource: it is clush's; write -g SOURCE:GROUP
muster exec -M -g gpu true | 2 | -M: it is pdsh's or dsh's; leave it out
muster exec --dry-run -w te[1-3] --pick=2 true | 0 | 2 commands on 2 nodes
# a shell is not there
muster exec -H node1 'nvidia-smi -L' | 127 | write: muster exec -- sh -c 'nvidia-smi -L'
muster exec -H node1 "ps aux|grep x" | 127 | write: muster exec -- sh -c 'ps aux\|grep x'
muster exec -H te1 -- cd /tmp | 127 | write sh -c 'cd ...', or --cwd=DIR
muster -H te1 'nvidia-smi -L' | 127 | write muster exec -- sh -c 'nvidia-smi -L' .*once per slot
muster chekc | 127 | did you mean muster check
# a launcher under muster
muster --dry-run -H te1:8 ./torchrun --nproc_per_node=8 train.py | 0 | torchrun starts ranks itself, and would run once per slot; .* leave it out
# what a script says
muster -H node1:1 nomodule.py | 1 | hint: .*/python3 ran the script; .*--python=FILE
muster -H node1:1 noarg.py --lr=1 | 2 | use muster --no_local_rank, or permanently set | no_local_rank = yes
muster -H node1:1 --no_python sh -c 'exit 3' | 2 | use muster --no_local_rank
muster -H node1:1 --no_python bash -c 'exit 3' | 2 | use muster --no_local_rank
muster -H node1:1 --no_python sleep 0 | 1 | use muster --no_local_rank
muster -H node1:2 --label=none sh -c 'echo "$HOROVOD_RANK/$HOROVOD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK"' | 0 | ^0/2 0$ | ^1/2 1$
# values that begin with '-', as argparse takes them
$on_hosts --launcher_args '-f 9 -p 22' train.py | 0 | 6 ranks
$on_hosts --num_gpus -1 --node_rank -1 train.py | 0 | 6 ranks
$on_hosts --include -x train.py | 2 | write --include=-x
# slips
$on_hosts --hotsfile=x train.py | 2 | did you mean --hostfile
$on_hosts --epochs=3 --lr=1 train.py | 2 | option --epochs$ | option --lr$
muster --hostfile=none train.py | 65 | hostfile none: No such file
muster -H hosts.txt train.py | 65 | hostfile hosts.txt: No such file.*; use --hosts for host names
muster exec -H localhost --transport=ssh --ssh_port=1 date | 68 | -H localhost: no such file, so it was taken as a host name
muster -H ./none train.py | 65 | hostfile ./none: No such file
$on_hosts --num_nodes=4 train.py | 2 | there are only 3
$on_hosts --num_gpus 0 train.py | 2 | leaves nothing to run on
EOF

# try TYPED STATUS WORDS...: one line of the table.
try() {
    typed=$1 wanted=$2
    shift 2
    run sh -c "$typed"
    cat out err >said
    missing=
    for words; do
        grep -qE -e "$words" said || missing="$missing; no '$words'"
    done
    is "$typed" "$rc$missing" "$wanted"
}

# " | " separates; a command or a pattern that contains it is split by mistake.
while IFS= read -r line; do
    typed=${line%% | *} rest=${line#* | }
    set -- "$typed" "${rest%% | *}"
    rest=${rest#* | }
    while [ "$rest" != "${rest#* | }" ]; do
        set -- "$@" "${rest%% | *}"
        rest=${rest#* | }
    done
    try "$@" "$rest"
done <table
ok "the table was read" test "$test_count" -gt 60

run muster --foo 3 --hostfile hosts --bar train.py --lr 3 --epochs 4
is "the options of the script are not muster's" "$(cat err)" "muster: error: unknown option --foo
muster: error: unknown option --bar"

# Many nodes, one cause.
MUSTER_TRANSPORT=ssh run muster exec --ssh_port=1 -H '127.0.0.[1-64]' date
is "64 nodes that refuse are a heading, a row and a hint" "$rc $(cat err)" "68 muster: 64 of 64 nodes failed; nothing was started:
  node            stage    cause
  127.0.0.[1-64]  connect  ... port 1: Connection refused
  hint: 127.0.0.[1-64]: is sshd running there, on port 1?"
finish
