#!/bin/sh
# muster-train on four nodes, on three after one was lost, and on four again when it has returned:
# with ZeRO stage 2 the loss is that of a run that nobody disturbed, at the same global batch.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
own_namespaces
use_netns 4
export OMP_NUM_THREADS=1
steps=100
seq 1 3000 | awk '{ printf "line %d of the text says %d, and the next one says more\n", $1, $1 * 7919 % 10007 }' >text
cat >ds.json <<END
{ "train_batch_size": 12, "steps_per_print": 1, "gradient_clipping": 1.0,
  "optimizer": { "type": "AdamW", "params": { "lr": 3e-4, "weight_decay": 0.01 } },
  "scheduler": { "type": "WarmupLR", "params": { "warmup_num_steps": 10 } },
  "zero_optimization": { "stage": 2, "reduce_bucket_size": 9000 } }
END
train="muster-train --deepspeed_config $PWD/ds.json --model gpt2 --vocabulary 257 --positions 32
    --width 64 --heads 4 --blocks 4 --length 32 --data $PWD/text --seed 1 --device cpu --timeout 200"

curve() {
    sed -n 's|^step \([0-9]*\)/.* loss \([0-9.naif]*\) .*|\1 \2|p' "$1"
}
# has_step STEP STARTS: so far, in a generation that continued so many times.
has_step() {
    awk -v wanted="$1" -v starts="$2" '/^continuing from/ { n++ }
        /^step / && $2 + 0 >= wanted && n >= starts { found = 1 } END { exit !found }' out
}
same_curve() {
    { curve alone && curve out; } | awk -v steps="$steps" '
        NR <= steps { loss[$1] = $2; next }
        $1 > steps { next }
        { d = $2 - loss[$1]; seen[$1] = 1 }
        d > 1e-4 || d < -1e-4 { print "# step " $1 ": " $2 ", not " loss[$1]; bad = 1 }
        END { for (i = 1; i <= steps; i++) if (!seen[i]) bad = 1; exit bad }'
}
node_kill() {
    ip link set "port$1" down
    # shellcheck disable=SC2046
    kill -KILL $(ip netns pids "node$1")
}
node_return() {
    ip link set "port$1" up
    node_start_in_namespace "node$1" "$(node_address "$1")"
}

# shellcheck disable=SC2086
run $train --steps $steps
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
is "alone and undisturbed: 0" "$rc" 0
cp out alone

# shellcheck disable=SC2086
start muster -v --label none --grace 2 --heartbeat 0.5 --dead-after 3 --nnodes 3:4 \
    --grow-interval 1 -H "node[1-4]" $train --steps 1000000 \
    --checkpoint_dir "$PWD/save" --save_interval 5
ok "four nodes train" wait_for 60 has_step 8 0
node_kill 4
ok "one is lost: three continue" wait_for 60 has_step 13 1
# They wait, so that they do not do much before the cool-down of 30 s is over.
waits=$(pgrep -x muster-train)
# shellcheck disable=SC2086
kill -STOP $waits
node_return 4
ok "it has returned, and is checked once it has cooled down" \
    wait_for 60 grep -q 'node4: checked; it waits for a place' err
# shellcheck disable=SC2086
kill -CONT $waits 2>/dev/null || : # if muster has not done so already
ok "four continue" wait_for 120 has_step $((steps + 1)) 2
kill -INT "$pid"
finish_run 30
is "each on as many ranks as there were" \
    "$(sed -n 's/^continuing .*, saved by \([0-9] ranks\)/\1/p' out |
        tr '\n' ';')" "4 ranks;3 ranks;"
ok "before the last step that is compared" [ "$(sed -n \
    's/^continuing .*global_step\([0-9]*\), saved by 3 ranks/\1/p' out)" -lt $steps ]
ok "with the loss of the undisturbed run at each step" same_curve
ok "nothing is left" no_leftovers
finish
