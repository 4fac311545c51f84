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

rm -r save
train 8 --checkpoint_dir save --save_interval 2 --keep 2
is "--keep 2: the newest two stay" "$rc $(cd save && echo *)" "0 global_step6 global_step8 latest"
run muster --label none -H node1,node2 --name "keep-$$" muster-train --deepspeed_config \
    "$PWD/ds.json" --model gpt2 --vocabulary 257 --positions 16 --width 32 --heads 2 --blocks 3 \
    --length 16 --data "$PWD/text" --steps 13 --device cpu --checkpoint_dir "$PWD/save" \
    --save_interval 2 --async-checkpoint --keep 1
is "... in the background, of two ranks" "$rc $(cd save && echo *)" "0 global_step13 latest"
mkdir -p save/global_step13.tmp/mine
train 14 --checkpoint_dir save --keep 1
is "one that cannot be deleted does not end the training" \
    "$rc $(grep -c '^muster-train: --keep: save/global_step13: ' err)" "0 1"
ok "... and is whole" [ -f save/global_step13/shard-00001 ]
ok "nothing is left" no_leftovers
finish
