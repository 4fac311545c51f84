#!/bin/sh
# muster-train --async-checkpoint: the same checkpoints, and never half of one.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

config
train 6 --checkpoint_dir front --save_interval 1
is "saving: 0" "$rc" 0
train 6 --checkpoint_dir behind --save_interval 1 --async-checkpoint
is "saving in the background: 0" "$rc" 0
is "... all six" "$(grep -c '^saved behind/global_step[1-6] in .* s, in the background$' out)" 6
for step in 1 3 6; do
    ok "... step $step to the same bytes" cmp front/global_step$step/shard-00000 \
        behind/global_step$step/shard-00000
done
# limited COMMAND...: no file may be larger than 64 KiB.
limited() {
    (
        trap '' XFSZ
        ulimit -f 128
        run "$@"
        exit "$rc"
    )
}
rc=0
limited muster-train --deepspeed_config ds.json --model gpt2 --vocabulary 257 --positions 16 \
    --width 32 --heads 2 --blocks 3 --length 16 --data text --steps 1000000 --device cpu \
    --checkpoint_dir full --save_interval 2 --async-checkpoint || rc=$?
is "a file that cannot be written ends the training: 1" "$rc" 1
ok "... by its name" grep -q 'full/global_step2.tmp/shard-00000: File too large' err
ok "... soon" [ "$(sed -n 's|^step \([0-9]*\)/.*|\1|p' out | tail -n 1)" -lt 500 ]
ok "... and latest names none" [ ! -e full/latest ]

# What is killed at any moment leaves one that loads; what is asked to end waits for it.
long() {
    start muster-train --deepspeed_config ds.json --model gpt2 --vocabulary 257 --positions 16 \
        --width 32 --heads 2 --blocks 3 --length 16 --data text --steps 1000000 --device cpu \
        --checkpoint_dir killed --save_interval 1 --async-checkpoint
    wait_for 30 grep -q '^saved ' out
}
broken=
for turn in 1 2 3 4 5 6 7 8; do
    long || broken="$broken no start $turn"
    sleep "0.0$((turn * 7 % 10))"
    kill -KILL "$pid"
    finish_run 10
    train 1 --checkpoint_dir killed
    grep -q '^continuing from killed/global_step' out && [ "$rc" = 0 ] || broken="$broken $turn"
done
is "killed eight times: one always loads" "$broken" ""
long
kill -TERM "$pid"
finish_run 10
is "SIGTERM: 143" "$rc" 143
is "... latest names the last step" "$(cat killed/latest)" \
    "global_step$(sed -n 's|^step \([0-9]*\)/.*|\1|p' out | tail -n 1)"
ok "... nothing unfinished is there" [ -z "$(find killed -name '*.tmp')" ]
finish
