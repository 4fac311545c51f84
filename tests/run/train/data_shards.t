#!/bin/sh
# muster-train --data-shards: a rank is killed, and in the end the model has seen each sample once.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
export OMP_NUM_THREADS=1
seq 1 3000 | awk '{ printf "line %d of the text says %d\n", $1, $1 * 7919 % 10007 }' >text
cat >ds.json <<'END'
{ "train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "steps_per_print": 10,
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-3 } }, "zero_optimization": { "stage": 2 } }
END

train() {
    echo muster-train --deepspeed_config ds.json --model gpt2 --vocabulary 257 --positions 16 \
        --width 16 --heads 2 --blocks 1 --length 16 --data text --device cpu --timeout 60 "$@"
}

trainer_pid() {
    leftovers | grep -v ' muster --' |
        sed -n 's/ .*muster-train --deepspeed_config.*//p' | head -n 1
}

run muster --label none -H node1 $(train --data-shards --steps 3)
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
is "without checkpoints a step's samples are done with it" "$rc $(grep -c '^step 3/3' out)" "0 1"
ok "... all of them, so that there is nothing to tell" not grep shards err
run muster-train --deepspeed_config ds.json --model gpt2 --data text --length 16 --steps 1 \
    --data-shards
ok "without muster there are none, which is said" grep -q \
    'data-shards: this process was not started by muster' err

# Killed when the first checkpoint is there: what was taken since then is taken again.
start muster --label none --name long --max-restarts 2 --restart-delay 0 --grace 5 -H node1,node2 \
    $(train --data-shards --steps 600 --checkpoint_dir save --save_interval 20)
ok "it saves" wait_for 60 test -e save/latest
kill -KILL "$(trainer_pid)"
finish_run 60
is "a rank is killed, and the next generation ends well" "$rc $(grep -c 'start again' err)" "0 1"
ok "... it has gone on from a checkpoint" grep -q '^continuing from save/global_step' out
ok "... and each sample was done once" grep -q \
    'shards of samples: 2400 of 2400 done, 0 dropped; given out again [1-9].* by two ranks 0 times' err

# In the background, too: a single checkpoint, by SIGUSR1.
start muster --label none --name back-shards --max-restarts 2 --restart-delay 0 --grace 20 -H node1,node2 \
    $(train --data-shards --async-checkpoint --steps 1000000 --checkpoint_dir back)
ok "it trains" wait_for 60 grep -q '^step 10/' out
kill -USR1 "$(trainer_pid)"
ok "what a checkpoint in the background has seen is done when that is written" wait_for 60 \
    sh -c 'grep -q ^done "$HOME"/.local/state/muster/runs/*-back-shards/shards'
kill -KILL "$(trainer_pid)"
ok "... and a restart goes on from it" wait_for 60 grep -q '^continuing from back/global_step' out
kill -TERM "$pid"
finish_run 60
is "... it can be ended" "$rc $(grep -c 'start again' err)" "143 1"

# As after a kill between a checkpoint and the word that what it has seen is done.
start muster --label none --name early --grace 20 -H node1,node2 \
    $(train --data-shards --steps 200 --checkpoint_dir early --save_interval 20)
ok "it saves" wait_for 60 test -e early/latest
kill -TERM "$pid"
finish_run 60
kept=$(echo "$HOME"/.local/state/muster/runs/*-early/shards)
grep -v '^done 0 [23].$' "$kept" >some && cp some "$kept"
run muster --label none --shards-resume early -H node1,node2 \
    $(train --data-shards --steps 200 --checkpoint_dir early --save_interval 20)
is "what a checkpoint has seen is not taken again" "$rc" 0
ok "... and counts as done" grep -q \
    'shards of samples: 800 of 800 done, 0 dropped; given out again 20 times .* by two ranks 0 times' err

run muster --label none --shards-resume long -H node1,node2 \
    $(train --data-shards --steps 600 --checkpoint_dir another)
is "shards that are done and not in the checkpoint are refused at once" \
    "$rc $(grep -c '^step' out)" "1 0"
ok "... with what to do" grep -q \
    '4800 samples are done, but the checkpoint includes only 0: continue' err

run muster --label none -H node1,node2 \
    $(train --data-shards --steps 600 --checkpoint_dir save --save_interval 20)
is "a checkpoint without its shards is refused" "$rc" 1
ok "... with what to do" grep -q 'start with muster --shards-resume=RUN' err
ok "nothing is left" no_leftovers
finish
