#!/bin/sh
# muster-train: which checkpoint a training continues from, and which stay.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

train 4 --checkpoint_dir save --save_interval 2
rm save/latest
train 6 --checkpoint_dir save
is "latest is gone, and two checkpoints are there: 1" "$rc" 1
ok "... it is told what to do" grep -q 'save: there are global_step2 and global_step4, but no file latest that names one of them: continue with --tag global_step4, or give another --checkpoint_dir$' err
is "... and neither has changed" "$(cd save && echo *)" "global_step2 global_step4"
MUSTER_GENERATION=1 train 6 --checkpoint_dir save
is "... a restart does not begin at 0 either" "$rc" 1
run muster --label none -H node1,node2 --name "checkpoints-$$" muster-train \
    --deepspeed_config "$PWD/ds.json" --model gpt2 --vocabulary 257 --positions 16 --width 32 \
    --heads 2 --blocks 3 --length 16 --data "$PWD/text" --steps 6 --device cpu \
    --checkpoint_dir "$PWD/save"
is "... neither do two ranks" "$rc $(sed -n 's|^muster-train: rank \(.\) on .* --tag global_step4, .*|\1|p' err | sort | xargs)" "1 0 1"
train 6 --checkpoint_dir save --tag global_step2
is "--tag names one" "$rc $(cat save/latest)" "0 global_step6"
rm -r save
train 2 --checkpoint_dir save
rm save/latest # as if the rank had been killed just before it wrote the first one
train 4 --checkpoint_dir save
ok "without latest, the only checkpoint is the one" \
    grep -q '^continuing from save/global_step2, saved by 1 rank$' out
ok "nothing is left" no_leftovers
finish
