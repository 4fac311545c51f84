#!/bin/sh
# data_types.grad_accum_dtype: the sum of 384 passes' gradients in bfloat16 loses some of them, and
# in fp32 none, in every stage, on one and four ranks.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$top_srcdir/tests/run/train/small.sh"

# sums STAGE KEYS: passes of one sample.
sums() {
    cat >ds.json <<END
{ "train_batch_size": 384, "train_micro_batch_size_per_gpu": 1, "steps_per_print": 1, $2
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-3 } },
  "zero_optimization": { "stage": $1, "reduce_bucket_size": 9000 } }
END
}
# norm_of RANKS: of the gradient of one step.
norm_of() {
    ranks=$1
    set -- muster-train --deepspeed_config "$PWD/ds.json" --model gpt2 --vocabulary 257 \
        --positions 16 --width 32 --heads 2 --blocks 3 --length 16 --data "$PWD/text" --steps 1 \
        --device cpu
    case $ranks in
    1) run "$@" ;;
    4) run muster --name sums --label none --grace 2 -H node1:2,node2:2 "$@" ;;
    esac
    norm=$(sed -n 's|^step 1/1 .* norm \([0-9.]*\) .*|\1|p' out)
}
# within PERCENT: the norm is as near as that to the one in float.
within() {
    awk -v a="${norm:-0}" -v b="$float" -v most="$1" '
        BEGIN { d = 100 * (a - b) / b; exit !(d < most && -d < most) }'
}

bf16='"bf16": { "enabled": true },'
fp32='"data_types": { "grad_accum_dtype": "fp32" },'
sums 0
norm_of 1
float=$norm
sums 0 "$bf16"
norm_of 1
is "bfloat16: 0" "$rc" 0
ok "the gradient is off by more than 1 %" not within 1
ok "... which is said" grep -q 'gradient_accumulation_steps: .* added in bf16.*grad_accum_dtype' err
ok "sums have 2 bytes" grep -q '0.0[0-9] (0.0[0-9]) of gradients' out
for stage in 0 1 2 3; do
    sums $stage "$bf16 $fp32"
    for ranks in 1 4; do
        norm_of $ranks
        ok "stage $stage, $ranks ranks, in fp32: as in float" within 0.3
    done
done
ok "... and there is nothing to say of it" not grep -q 'grad_accum' err
norm_of 1
ok "sums have 4 bytes" grep -q '0.1[0-9] (0.1[0-9]) of gradients' out
ok "nothing is left" no_leftovers
finish
