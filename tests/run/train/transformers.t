#!/bin/sh
# Beside the library transformers: models that it saved have its logits in muster-train, and its loss
# curve on any number of ranks, in each stage, wherever the parameters are; and it loads what they learn.
# MUSTER_TEST_TRANSFORMERS is the system that has the library (hugging_python).
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_transformers() {
    "$here/train/hugging_python"
}
need trainer
need transformers
model_logits=$top_builddir/tests/run/train/model_logits
[ -x "$model_logits" ] || skip_all "muster-train was built without oneDNN"
export OMP_NUM_THREADS=1
run_limit=300
steps=30
length=32
# Twelve samples, which are a batch: so their order does not matter.
seq 1 100 | awk '{ printf "line %d of the text says %d\n", $1, $1 * 7919 % 10007 }' |
    head -c $((12 * length + 1)) >text
cp "$here/train/hugging_face.py" .
cp -r "$top_srcdir/tests/unit/trainer/vectors" .
vectors=$(cd vectors && for name in *; do [ "${name%bert*}" != "$name" ] || echo "$name"; done)

# hugging_face COMMAND...: in that system.
hugging_face() {
    run "$here/train/hugging_python" hugging_face.py "$@"
}
# config STAGE KEYS: a batch of 12, three samples at a time; more keys of zero_optimization.
config() {
    cat >ds.json <<CONFIG
{ "train_batch_size": 12, "train_micro_batch_size_per_gpu": 3, "gradient_clipping": 1.0,
  "optimizer": { "type": "AdamW", "params": {
      "lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1 } },
  "csv_monitor": { "enabled": true, "output_path": "$PWD/csv", "job_name": "job" },
  "zero_optimization": { "stage": $1, "reduce_bucket_size": 9000 $2 } }
CONFIG
}
# train RANKS NAME OPTION...
train() {
    ranks=$1 name=$2
    shift 2
    rm -rf csv
    set -- muster-train --deepspeed_config "$PWD/ds.json" --model "$PWD/models/$name" \
        --data "$PWD/text" --length $length --steps $steps --no-decay none --device cpu --timeout 60 "$@"
    case $ranks in
    1) run "$@" ;;
    4) run muster --label none --grace 2 -H node1:2,node2:2 "$@" ;;
    esac
}
# same_curve DIR: the losses within 1e-4, and the gradients' norms likewise, as a share.
same_curve() {
    for column in train_loss grad_norm; do
        sed 1d "csv/job/Train_Samples_$column.csv" | cut -d , -f 2 >$column
    done
    paste -d ' ' "$1/curve" train_loss grad_norm | awk -v steps=$steps '
        function off(x) { return x < 0 ? -x : x }
        NF != 5 || $2 == "" { bad = 1 }
        off($2 - $4) > loss { loss = off($2 - $4) }
        off($3 - $5) / $3 > norm { norm = off($3 - $5) / $3 }
        END {
            printf "# losses differ by %.1e at most, norms by %.1e of them\n", loss, norm
            exit bad || NR != steps || loss > 1e-4 || norm > 1e-3
        }'
}
# same_logits DIR...: of each model within 1e-4; transformers loads it with all its tensors.
same_logits() {
    for dir; do
        run "$model_logits" "$dir" text $length "$dir/logits"
        is "$dir: logits by muster: 0" "$rc" 0
    done
    hugging_face logits text $length "$@"
    is "... and by transformers: 0" "$rc" 0
    for dir; do
        ok "$dir: the same logits" awk -v name="${dir##*/}" '
            $1 == name { print "# they differ by " $2 " at most"; good = $2 < 1e-4 && $3 > 0.1 }
            END { exit !good }' out
    done
}

# shellcheck disable=SC2046
hugging_face vectors $(printf 'vectors/%s ' $vectors)
is "transformers computes what contrib/model_vectors.py has computed: 0" "$rc" 0
for name in $vectors; do
    ok "... $name: the loss and its gradients" awk -v name="$name" '
        $1 == name { print "# they differ by " $2 " of the largest at most: " $3; good = $2 < 1e-5 }
        END { exit !good }' out
done

hugging_face save models spelt
is "transformers saves models: 0" "$rc" 0
sed 's/^/# /' out
names=$(cd models && echo *)
# shellcheck disable=SC2046
same_logits $(printf 'models/%s ' $names) spelt/*
# shellcheck disable=SC2046
hugging_face curve $steps text $length $(printf 'models/%s ' $names)
is "... and trains them: 0" "$rc" 0

mkdir nvme learnt
on_disk="{ \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" }"
params_on_disk=", \"offload_optimizer\": { \"device\": \"cpu\" }, \"offload_param\": $on_disk"
# try RANKS NAME WHAT OPTION...
try() {
    claim="$2, $1 ranks, $3: the same curve"
    ranks=$1 name=$2
    shift 3
    train "$ranks" "$name" "$@"
    ok "$claim" same_curve "models/$name"
}
for name in $names; do
    case $name in
    llama | mistral | qwen2 | qwen3)
        for ranks in 1 4; do
            for stage in 0 1 2 3; do
                config $stage
                try $ranks $name "stage $stage"
            done
            config 2 ", \"offload_optimizer\": $on_disk"
            try $ranks $name "stage 2, Adam's state in a file"
        done
        ;;
    esac
    config 3 "$params_on_disk"
    try 1 "$name" "stage 3, parameters in a file"
    try 4 "$name" "the same" --export "$PWD/learnt/$name"
done
config 3
sed -i 's/^{ /{ "bf16": { "enabled": true }, /' ds.json
train 4 llama-bf16 --export "$PWD/learnt/in-bf16"
is "llama-bf16, in bfloat16: 0" "$rc" 0
same_logits learnt/*
ok "... with what they learnt" awk '$4 > 3 { bad = 1 } END { exit bad || NR == 0 }' out

# Adapters, added by hand there, because the library peft is not packaged.
mkdir adapters tuned merged
tuned="gpt2 llama mistral qwen2 qwen3"
# shellcheck disable=SC2046
hugging_face adapt adapters $(printf 'models/%s ' $tuned)
is "adapters in PEFT's layout are written: 0" "$rc" 0
# shellcheck disable=SC2046
hugging_face tune $steps text $length adapters $(printf 'models/%s ' $tuned)
is "... and trained by PyTorch: 0" "$rc" 0
# tune RANKS NAME WHAT OPTION...
tune() {
    claim="$2 with an adapter, $1 ranks, $3: the same curve"
    ranks=$1 name=$2
    shift 3
    train "$ranks" "$name" --lora "$PWD/adapters/$name" "$@"
    ok "$claim" same_curve "adapters/$name"
}
for name in $tuned; do
    for stage in 0 1 2 3; do
        config $stage
        tune 4 $name "stage $stage"
    done
    config 3 "$params_on_disk"
    tune 4 "$name" "stage 3, parameters in a file"
    tune 1 "$name" "the same" --export "$PWD/tuned/$name"
    run muster-train merge --model "models/$name" --adapter "tuned/$name" --export "merged/$name"
    is "$name and what its adapter has learnt are merged: 0" "$rc" 0
done
same_logits merged/*
# shellcheck disable=SC2046
hugging_face adapted text $length tuned merged $(printf 'models/%s ' $tuned)
for name in $tuned; do
    ok "$name: the adapter that we wrote gives these logits there, too" awk -v name="$name" '
        $1 == name { print "# they differ by " $2 " at most"; good = $2 < 1e-4 && $3 > 0.1 }
        END { exit !good }' out
done
is "nothing is left of the files" "$(ls -A nvme)" ""
ok "nothing is left" no_leftovers
finish
