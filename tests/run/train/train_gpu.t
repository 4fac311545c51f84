#!/bin/sh
# muster-train on GPUs, with tests/cuda_on_cpu in their place: the CPU's curve, in every stage, with
# optimizer and parameters on the GPU, on the host and in files; checkpoints go from GPUs to CPUs and
# back.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
stand_in=$top_builddir/tests/cuda_on_cpu
[ -e "$stand_in/muster-train-model-cuda.so" ] || skip_all "muster-train was built without oneDNN"
export OMP_NUM_THREADS=1
# A program takes the plugins that stand beside it.
cp "$top_builddir/trainer/muster-train" "$top_builddir/trainer/muster-train-gloo.so" "$stand_in"/*.so .
seq 1 300 | awk '{ printf "line %d of the text says %d, and the next one says more\n", $1, $1 * 7919 % 10007 }' >text

# train DEVICE RANKS STAGE ZERO EXTRA OPTIONS...: with that in zero_optimization, and at the top.
train() {
    cat >ds.json <<END
{ "train_batch_size": 4, "steps_per_print": 1, "gradient_clipping": 1.0, $5
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-2, "weight_decay": 0.01 } },
  "zero_optimization": { "stage": $3, "reduce_bucket_size": 2000 $4 } }
END
    device=$1 ranks=$2
    shift 5
    set -- "$PWD/muster-train" --deepspeed_config "$PWD/ds.json" --model gpt2 --vocabulary 257 \
        --positions 8 --width 16 --heads 2 --blocks 1 --length 8 --data "$PWD/text" --seed 1 \
        --timeout 60 --device "$device" --steps 4 "$@"
    [ "$ranks" = 1 ] || set -- muster --label none --grace 2 -H node1,node2 "$@"
    run "$@"
}
curve() {
    sed -n 's|^step \([0-9]*\)/.* loss \([0-9.naif]*\) .*|\1 \2|p' out
}
# alike FILE FILE LIMIT: the curves have four steps, and differ by less than that.
alike() {
    paste "$1" "$2" | awk -v limit="$3" '
        $1 != $3 || $2 - $4 > limit || $4 - $2 > limit { print > "/dev/stderr"; bad = 1 }
        END { exit bad || NR != 4 }'
}
offload=', "offload_optimizer": { "device": "cpu" }'
offload_param=', "offload_param": { "device": "cpu" }'
nvme="\"device\": \"nvme\", \"nvme_path\": \"$PWD\", \"buffer_count\": 2"

# What can be slow here is no matter: 7.
run muster --label none --grace 2 -H node1,node2,node3 "$PWD/muster-train" check --backend nccl --quick
ok "muster-train check by NCCL: all is right" test "$rc" = 0 -o "$rc" = 7
ok "... on three nodes" grep -Eq '^check .*: 3 ranks on 3 nodes, nccl, 0 wrong elements' out
is "... layer by layer" "$(sed -n 's/^\([a-z]*\) *\(ok\|slow\) .*/\1/p' out | xargs)" \
    "preflight reach connect values pairs collectives arrival"

train cpu 1 0 '' ''
curve >cpu
train cpu 1 0 '' '"bf16": { "enabled": true },'
curve >cpu.bf16
train cuda 1 0 '' ''
is "one GPU: 0" "$rc" 0
ok "... it is told" grep -q ' in float on cuda, ' out
curve >cuda
ok "... the CPU's curve" alike cpu cuda 2e-5
train cuda 1 3 ", \"offload_optimizer\": { $nvme }, \"offload_param\": { $nvme }" ''
curve >cuda
ok "... and with offload to files" alike cpu cuda 2e-5
ok "... as it says" grep -Eq "of parameters in a file in $PWD, .* state in a file in $PWD" out
for stage in 0 1 2 3; do
    train cuda 2 $stage '' ''
    curve >cuda
    ok "two GPUs, stage $stage: the CPU's curve" alike cpu cuda 2e-5
done
for stage in 2 3; do
    extra=
    [ $stage = 2 ] || extra=$offload_param
    train cuda 2 $stage "$offload$extra" '"bf16": { "enabled": true },'
    curve >cuda
    ok "bfloat16 and offload, stage $stage: the CPU's curve" alike cpu.bf16 cuda 5e-3
done

# Adapters, with the frozen parameters in each place.
lora=r=2,dropout=0.2
train cpu 1 0 '' '' --lora $lora
curve >cpu.lora
for keys in '' "$offload_param" ", \"offload_param\": { $nvme }"; do
    train cuda 2 3 "$keys" '' --lora $lora
    curve >cuda
    ok "adapters, stage 3${keys%%:*}: the CPU's curve" alike cpu.lora cuda 2e-5
done
train cuda 1 2 "$offload" '' --lora $lora
curve >cuda
ok "adapters, stage 2 with offload: the CPU's curve" alike cpu.lora cuda 2e-5

# Inputs of blocks are kept on the host, where the configuration says so.
train cuda 2 2 '' '' --activation_checkpointing --blocks 12 --width 32
curve >kept
sed -n 's/ MiB of activations per pass//p' out >kept.size
train cuda 2 2 '' '"activation_checkpointing": { "cpu_checkpointing": true },' \
    --activation_checkpointing --blocks 12 --width 32
curve >parked
ok "cpu_checkpointing: the same curve" cmp kept parked
ok "... in less of the GPU's memory" awk 'FNR == NR { kept = $1; next }
    / MiB of activations per pass, and 0.0[1-9] on the host$/ { less = $1 < kept }
    END { exit !less }' kept.size out
train cuda 1 2 '' '"activation_checkpointing": { "cpu_checkpointing": true },'
ok "... needs --activation_checkpointing, which is said" grep -q \
    'ds.json:1: .*cpu_checkpointing.*only with --activation_checkpointing' err

# From two GPUs to a CPU, and back to one.
train cuda 2 3 "$offload_param" '' --steps 2 --checkpoint_dir "$PWD/save"
curve >moved
train cpu 1 2 '' '' --steps 3 --checkpoint_dir "$PWD/save"
curve >>moved
train cuda 1 2 ", \"offload_optimizer\": { $nvme }" '' --checkpoint_dir "$PWD/save" --export "$PWD/exported"
curve >>moved
ok "a checkpoint goes from GPUs to a CPU and back" alike cpu moved 2e-5
train cpu 1 0 '' '' --model "$PWD/exported" --steps 1
is "weights that a GPU has exported can be read" "$rc" 0

train cuda 2 2 '' '"fp16": { "enabled": true, "initial_scale_power": 34, "hysteresis": 1 },'
is "half: 0" "$rc" 0
ok "... a gradient that is not finite is named" \
    grep -q 'is not finite.*; step skipped, the loss scale is now' err

train gpu 1 0 '' ''
is "--device gpu: 2" "$rc" 2
ok "... it says what there is" grep -q -- '--device gpu: must be auto, cpu or cuda' err
finish
