#!/bin/sh
# muster-train: where weights and data come from is said, and what cannot be loaded is refused.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

# sources: the line that names them.
sources() {
    grep '^weights: ' out
}
train 2 --seed 7 --export whole
is "a name: random weights" "$(sources)" \
    "weights: random, seed 7; tokenizer: bytes; data: text, 765 samples of 16 tokens"
# tune OPTION...: the exported model.
tune() {
    run muster-train --deepspeed_config ds.json --model whole --length 16 --data text \
        --device cpu "$@"
}
tune --steps 2 --checkpoint_dir save
is "a directory: its weights" "$(sources)" "weights: whole; tokenizer: bytes; data: text, 765 samples of 16 tokens"
tune --steps 3 --checkpoint_dir save
is "a checkpoint" "$(sources)" "weights: the checkpoint; tokenizer: bytes; data: text, 765 samples of 16 tokens"
tune --steps 2 --freeze wte --checkpoint_dir frozen
tune --steps 3 --freeze wte --checkpoint_dir frozen
is "... that lacks frozen weights" "$(sources)" \
    "weights: the checkpoint; frozen: whole; tokenizer: bytes; data: text, 765 samples of 16 tokens"
tune --steps 2 --lora r=2 --export adapter
is "an adapter" "$(sources)" \
    "weights: whole; adapter: random, seed 1234; tokenizer: bytes; data: text, 765 samples of 16 tokens"
tune --steps 2 --lora adapter
is "... from a directory" "$(sources)" \
    "weights: whole; adapter: adapter; tokenizer: bytes; data: text, 765 samples of 16 tokens"

# What decides how a model learns, also where it is a default; 1e-3 is not for loaded weights.
learning() {
    grep '; last step [0-9]*; seed [0-9]*$' out
}
is "how it learns is said" "$(learning)" "AdamW: lr 0.003, betas 0.9 and 0.999, weight decay 0; a constant rate, without warm-up; clipping to 1; last step 2; seed 1234"
config '"gradient_clipping": 0, "scheduler": { "type": "WarmupLR", "params": { "warmup_num_steps": 7 } },'
train 1
is "... with a schedule" "$(learning)" "AdamW: lr 0.003, betas 0.9 and 0.999, weight decay 0; WarmupLR, warm-up of 7 steps; no clipping; last step 1; seed 1234"
echo '{ "train_batch_size": 6 }' >ds.json
train 1
is "no optimizer, random weights: defaults, said so" "$rc $(learning)" "0 AdamW (default): lr 0.001 (default), betas 0.9 and 0.999, weight decay 0; a constant rate, without warm-up; clipping to 1; last step 1; seed 1234"
tune --steps 1
is "no optimizer, loaded weights: 1" "$rc" 1
ok "... it is told what to give" grep -q ': no optimizer.params.lr in ds.json, and weights were loaded from whole: give --lr, as --lr 1e-5 for a full fine-tuning or --lr 2e-4 for LoRA$' err
# schedule TYPE PARAMS: without lr.
schedule() {
    echo "{ \"train_batch_size\": 6, \"scheduler\": { \"type\": \"$1\", \"params\": { $2 } } }" >ds.json
    tune --steps 1
}
schedule WarmupLR '"warmup_num_steps": 2'
is "a schedule up to lr: 1" "$rc" 1
schedule WarmupLR '"warmup_max_lr": 1e-4'
is "a schedule up to a rate of its own" "$rc" 0
schedule WarmupDecayLR '"total_num_steps": 9'
is "... that it does not give: 1" "$rc" 1
ok "... is named" grep -q 'no scheduler.params.warmup_max_lr in ds.json, so WarmupDecayLR rises to 1e-3' err
schedule OneCycle '"cycle_min_lr": 1e-5, "cycle_max_lr": 1e-4'
is "a cycle between rates" "$rc" 0

# From the command line: a file that leaves all to it.
echo '{ "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto", "optimizer": { "type": "AdamW", "params": { "lr": "auto" } },
    "scheduler": { "type": "WarmupDecayLR", "params": { "warmup_num_steps": "auto",
        "warmup_min_lr": "auto", "warmup_max_lr": "auto", "total_num_steps": "auto" } } }' >ds.json
tune --lr 1e-4 --micro-batch 5 --accumulation 3 --warmup 4 --epochs 2
is "all from the command line" "$rc $(learning)" "0 AdamW: lr 0.0001, betas 0.9 and 0.999, weight decay 0; WarmupDecayLR, warm-up of 4 steps; clipping to 1; last step 102; seed 1234"
ok "... the batch, too" grep -q 'batch 15 = 5 x 3 x 1$' out
is "... the rate falls to almost 0 at the last of two epochs" \
    "$(sed -n 's|^step 102/102 .* lr \([^ ]*\) .*|\1|p' out)" "2.041e-06"
tune --epochs 1 --steps 2
is "--epochs and --steps: 2" "$rc" 2
for rate in 0 -1 nan inf 1e-4x ''; do
    tune --steps 1 --lr "$rate"
    is "--lr '$rate': 2" "$rc $(grep -c -e "--lr: '$rate' is not a number greater than 0" err)" "2 1"
done
config

# What is not loaded. The model would be a new one, and its loss would look like that.
mv whole/model.safetensors weights
tune --steps 1
is "config.json alone: random weights, said so" "$(sources)" \
    "weights: random, seed 1234 (whole has none); tokenizer: bytes; data: text, 765 samples of 16 tokens"
# refused NAME: a file of that name is.
refused() {
    touch "whole/$1"
    tune --steps 1
    is "$1: 1" "$rc" 1
    ok "... is named before the first step" sh -c '! grep -q "^step " out &&
        grep -Fq "whole: the weights in $1 are not in safetensors: load them in Python with transformers" err' \
        sh "$1"
    rm "whole/$1"
}
touch whole/train.bin whole/optimizer.bin # token shards, and no weights
tune --steps 1
is "other files are fine" "$rc" 0
for name in pytorch_model.bin pytorch_model-00001-of-00002.bin pytorch_model.bin.index.json \
    model.gguf consolidated.00.pth weights.pt tf_model.h5 flax_model.msgpack; do
    refused $name
done
cp weights whole/model-00001-of-00002.safetensors
tune --steps 1
is "a part without an index: 1" "$rc" 1
ok "... is named" grep -q \
    'whole: there is model-00001-of-00002.safetensors, but neither model.safetensors nor' err
echo '{ "weight_map": { "a": "model-00001-of-00002.safetensors",
    "b": "model-00002-of-00002.safetensors" } }' >whole/model.safetensors.index.json
tune --steps 1
is "an index without one of its parts: 1" "$rc" 1
ok "... is named" grep -q 'whole/model-00002-of-00002.safetensors: No such file' err

# Said before the kernel kills the rank: no step, and no allocation.
rm -r whole
run muster-train --deepspeed_config ds.json --model gpt2 --positions 65536 --length 65536 \
    --width 32768 --heads 256 --data text --steps 1 --device cpu
is "a length that does not fit into memory: 1" "$rc" 1
ok "... is told with its parts" grep -Eq 'rank 0 on .*: a rank needs [0-9.]+ GiB of memory \(parameters [0-9.]+, gradients [0-9.]+, optimizer state [0-9.]+, activations [0-9.]+\), and (on this machine|in this cgroup) [0-9.]+ GiB are free: shorten --length, lower --micro-batch, or use --activation_checkpointing; --no-memory-check' err
config '"zero_optimization": { "stage": 3 },'
run muster --label none -H node1:2 --name "plan-$$" muster-train --deepspeed_config "$PWD/ds.json" \
    --model qwen2.5-72b --width 32768 --length 16 --data "$PWD/text" --steps 1 --device cpu
is "a model that does not, of two ranks: 1" "$rc" 1
ok "... both are counted" grep -Eq 'so 2 ranks need [0-9.]+, and .* use more nodes with ZeRO stage 3' err
ok "nothing is left" no_leftovers
finish
