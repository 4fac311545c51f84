#!/bin/sh
# muster-train --activation_checkpointing: the same losses in less memory.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

activations() {
    sed -n 's/^\([0-9.]*\) MiB of activations per pass$/\1/p' out
}
train 9 --export kept
losses >kept.losses
kept=$(activations)
train 9 --export again --activation_checkpointing
is "blocks that compute twice: the same losses" "$(losses)" "$(cat kept.losses)"
ok "... the same weights" cmp kept/model.safetensors again/model.safetensors
ok "... in less memory ($kept MiB, now $(activations))" \
    awk "BEGIN { exit !($(activations) < 0.6 * $kept) }"
config '"activation_checkpointing": { "partition_activations": true, "number_checkpoints": 2 },'
train 1
is "DeepSpeed's keys for it are known" "$rc" 0
ok "... and said to have no effect" \
    grep -q 'ds.json:1: .*number_checkpoints.*keeps the input of every block' err
config '"activation_checkpointing": { "cpu_checkpointing": true },'
train 1 --activation_checkpointing
is "on CPUs they are on the host already: 0" "$rc" 0
ok "... which is said" grep -q 'ds.json:1: .*cpu_checkpointing.*all data is in host memory' err
finish
