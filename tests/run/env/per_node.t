#!/bin/sh
# One rank per node that sees all GPUs of the node, below which torchrun and others start processes.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

printf 'te1 slots=4\nte2 slots=2\n' >hosts
: >train.py
cat >run.sh <<'END'
#!/bin/bash
export NCCL_DEBUG=WARN
torchrun --nnodes "$NNODES" train.py
END
chmod +x run.sh

# devices OPTIONS...: CUDA_VISIBLE_DEVICES of each rank, by node.
devices() {
    run muster --dry-run --hostfile hosts --json plan.json "$@" true
    json plan.json '[n["cuda_visible_devices"] for n in d["nodes"]]'
}
is "--per-node: a rank per node, with all its GPUs" "$(devices --per-node)" "[['0,1,2,3'], ['0,1']]"
is "mpirun's -npernode 1 is the same" "$(devices -npernode 1)" "[['0,1,2,3'], ['0,1']]"
is "... and -npernode 2 is not" "$(devices -npernode 2)" "[['0,1', '0,1'], ['0,1', '0,1']]"
is "... with some of the GPUs" "$(devices --per-node --include te1:1,3)" "[['1,3']]"
is "... the first two" "$(devices --per-node --num_gpus 2)" "[['0,1'], ['0,1']]"
is "... on one node" "$(devices --per-node --num_nodes 1)" "[['0,1,2,3']]"
sed -i 's/$/ env:CUDA_VISIBLE_DEVICES=GPU-1,GPU-2,GPU-3,GPU-4/' hosts
is "the hostfile's devices are not cut" "$(devices --per-node)" \
    "[['GPU-1,GPU-2,GPU-3,GPU-4'], ['GPU-1,GPU-2,GPU-3,GPU-4']]"
is "... unless the user chooses some" "$(devices --per-node --include te1:1,3)" "[['GPU-2,GPU-4']]"
printf 'te1 slots=4 env:CUDA_VISIBLE_DEVICES=GPU-1,GPU-2\n' >fewer
run muster --dry-run --per-node --hostfile fewer --include te1:3 true
is "a slot without a device: 2" "$rc" 2
ok "... is named" grep -q 'te1: slot 3 has no device' err
run muster --per-node -np 2 --dry-run --hostfile hosts true
is "-np with it: 2" "$rc" 2
ok "... says what to write" grep -q -- '--per-node cannot be used together with -np: --num_nodes' err
run muster --per-node --one-gpu-per-rank --dry-run --hostfile hosts true
is "--one-gpu-per-rank with it: 2" "$rc" 2
run muster --per-node --dry-run --hostfile hosts train.py
ok "a script gets no --local_rank" not grep -q local_rank out

# What a rank finds.
# shellcheck disable=SC2016
run muster --label none --per-node -H te1:2,te2:2 --transport exec sh -c 'env | grep -E "^(RANK|WORLD_SIZE|NODE_RANK|NNODES|LOCAL_RANK|NPROC_PER_NODE|PET_|JAX_|TORCHELASTIC|OMPI_|HOROVOD_|MASTER_|OMP_)" | sort >"env.$RANK"'
is "it runs" "$rc" 0
sed 's/MASTER_PORT=[0-9]*/MASTER_PORT=PORT/; s/:[0-9]*$/:PORT/' env.1 >env
is "the variables of the second node" "$(tr '\n' ' ' <env)" "JAX_COORDINATOR_ADDRESS=$(sed -n 's/^MASTER_ADDR=//p' env):PORT JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=1 MASTER_ADDR=$(sed -n 's/^MASTER_ADDR=//p' env) MASTER_PORT=PORT NNODES=2 NODE_RANK=1 NPROC_PER_NODE=2 PET_MASTER_ADDR=$(sed -n 's/^MASTER_ADDR=//p' env) PET_MASTER_PORT=PORT PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=2 RANK=1 WORLD_SIZE=2 "

# Programs that start ranks themselves are recognized, and the way to start them is said.
# advised WORDS COMMAND...
advised() {
    words=$1
    shift
    run muster --dry-run -H te1:2 "$@"
    ok "$words is recognized" grep -Fq "$words starts ranks itself, and would run once per slot; write --per-node" err
    run muster --dry-run --per-node -H te1:2 "$@"
    is "... with --per-node nothing is said" "$rc $(cat err)" "0 "
}
script_file torchrun </dev/null
cp torchrun accelerate
cp torchrun llamafactory-cli
advised torchrun ./torchrun train.py
advised accelerate ./accelerate launch train.py
advised llamafactory-cli ./llamafactory-cli train x.yaml
advised torch.distributed.run python3 -m torch.distributed.run train.py
advised torch.distributed.run -m torch.distributed.run train.py
advised "run.sh (torchrun)" bash run.sh
advised "run.sh (torchrun)" ./run.sh
cp torchrun ray
run muster --dry-run -H te1:2 ./ray start --block
ok "ray takes all GPUs" grep -q 'ray takes all GPUs of its node, and would run once per slot; write --per-node' err
run muster --dry-run --per-node -H te1:2 ./ray start --block
is "... with --per-node nothing is said" "$rc $(cat err)" "0 "
cp torchrun deepspeed
run muster --dry-run --per-node -H te1:2 ./deepspeed train.py
ok "deepspeed starts all nodes itself" grep -q 'deepspeed starts ranks itself, and would run once per node; .* leave it out' err

# pdsh -R exec: the words of a command here, for each host.
run muster exec --label none -R exec -w te1,ann@te2 -- echo %h %n %u 50%% %d %
is "%h, %n, %u and %% are filled in" "$rc $(sort out | tr '\n' '|')" \
    "0 te1 0 $(id -un) 50% %d %|te2 1 ann 50% %d %|"
run muster exec --label none -H localhost -- echo %h %n
is "... and only there" "$(cat out)" "%h %n"
run muster exec -R ssh -w te1 true
ok "-R ssh is refused with what to do" grep -q 'leave it out: muster has its own SSH client' err

# Stock torchrun takes nodes, addresses and the number of processes from the environment.
if [ -n "$(command -v torchrun)" ] && python3 -c 'import torch.distributed' 2>/dev/null; then
    cat >meets.py <<'END'
import os
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("rank", dist.get_rank(), "local", os.environ["LOCAL_RANK"], "of", int(total.item()))
END
    run_limit=120
    use_sshd 2
    # With Python 3.11 the torchrun of Debian 12 fails unless it tees.
    run muster --label none --per-node -H node1:2,node2:2 --env OMP_NUM_THREADS=1 --env USE_LIBUV=0 \
        --env PET_REDIRECTS=1 --env PET_TEE=1 --env TMPDIR="$PWD" torchrun meets.py
    is "torchrun on two nodes, without an argument of its own" \
        "$rc $(sed 's/^\[[^]]*\]://' out | sort | tr '\n' ',')" \
        "0 rank 0 local 0 of 4,rank 1 local 1 of 4,rank 2 local 0 of 4,rank 3 local 1 of 4,"
    ok "nothing is left" no_leftovers
else
    skip "torchrun on two nodes" "PyTorch is not installed"
fi
finish
