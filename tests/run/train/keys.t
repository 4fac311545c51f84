#!/bin/sh
# muster-train: files for csv_monitor and tensorboard; checkpoints in the background; dropout;
# activation checkpoints.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
export OMP_NUM_THREADS=1
seq 1 400 | awk '{ printf "line %d of the text says %d\n", $1, $1 * 7919 % 10007 }' >text
# config KEYS: more keys for ds.json.
config() {
    cat >ds.json <<END
{ "train_batch_size": 6, "steps_per_print": 1, $1
  "optimizer": { "type": "AdamW", "params": { "lr": 3e-3 } } }
END
}
# train STEPS OPTION...: one rank, by hand.
train() {
    steps=$1
    shift
    run muster-train --deepspeed_config ds.json --model gpt2 --vocabulary 257 --positions 16 \
        --width 32 --heads 2 --blocks 3 --length 16 --data text --steps "$steps" --device cpu "$@"
}
losses() {
    sed -n 's|^step .* loss \([0-9.]*\) .*|\1|p' out
}

# ---- csv_monitor, tensorboard ----

monitors='"csv_monitor": { "enabled": true, "output_path": "logs/csv", "job_name": "a job" },
    "tensorboard": { "enabled": true, "output_path": "logs/", "job_name": "events" },'
config "$monitors"
train 3 --checkpoint_dir save
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
is "both monitors: 0" "$rc" 0
losses >losses
train 4 --checkpoint_dir save
losses >>losses
csv="logs/csv/a job/Train_Samples"
# column FIELD NAME: of a file, behind its head.
column() {
    sed 1d "${csv}_$2.csv" | cut -d, -f"$1"
}
is "the head of a file is there once, also after a second run" \
    "$(grep -n '^step,train_loss$' "${csv}_train_loss.csv")" "1:step,train_loss"
is "its steps are samples" "$(column 1 train_loss | xargs)" "6 12 18 24"
is "its losses are those that are printed" "$(column 2 train_loss | xargs printf '%.6f\n')" \
    "$(cat losses)"
is "so are rates" "$(column 2 lr | xargs)" "0.003 0.003 0.003 0.003"
is "each step has a norm" "$(column 1 grad_norm | xargs)" "6 12 18 24"
is "each but a run's first has a speed" "$(column 1 samples_per_sec | xargs)" "12 18"
ok "no loss scale without fp16" [ ! -e "${csv}_loss_scale.csv" ]
if grep -q 'tensorboard: built without protobuf-c' err; then
    skip "files for TensorBoard" "muster-train was built without protobuf-c"
else
    is "each run has a file for TensorBoard" "$(find logs/events -name '*tfevents*' | wc -l)" 2
    for file in logs/events/*tfevents*; do
        ok "... which another reader understands" sh -c "$(printf '"$1" %s >>events' "$file")" sh \
            "$top_srcdir/tests/run/train/read_events.py"
    done
    sort -s -n -k 2 -o events events # two runs within a second: their files have any order
    is "... with all losses" \
        "$(sed -n 's|^Train/Samples/train_loss [0-9]* ||p' events | xargs printf '%.4f\n')" \
        "$(xargs printf '%.4f\n' <losses)"
    is "... and rates by sample" \
        "$(sed -n 's|^Train/Samples/lr \([0-9]*\) 0.003$|\1|p' events | xargs)" "6 12 18 24"
fi
rm -r logs
config "$monitors"' "wall_clock_breakdown": true, "memory_breakdown": true,
    "fp16": { "enabled": true, "initial_scale_power": 8 },'
train 1
is "with fp16 there is a loss scale" "$(column 2 loss_scale)" 256
parts=$(sed -n 's/^time (ms) | fwd: \([0-9.]*\) | bwd: \([0-9.]*\) | step: \([0-9.]*\)$/\1 \2 \3/p' out)
is "wall_clock_breakdown is printed, and in the files" "$(for part in forward backward step; do
    column 2 elapsed_time_ms_$part | xargs printf '%.2f\n'
done | xargs)" "$parts"
ok "... each more than 0" sh -c 'for ms in $0; do case $ms in 0.00) exit 1 ;; esac; done' "$parts"
ok "memory_breakdown is printed: the most is the most" awk '
    /^memory \(MiB\) \| fwd: [0-9.]+ \| bwd: [0-9.]+ \| step: [0-9.]+ \| most: [0-9.]+$/ {
        good = $5 > 1 && $8 > 1 && $11 > 1 && $5 <= $14 && $8 <= $14 && $11 <= $14
    }
    END { exit !good }' out
ok "steps_per_print: DeepSpeed's line" grep -Eq "^epoch=0/micro_step=1/global_step=1, \
RunningAvgSamplesPerSec=[0-9.e+]+, CurrSamplesPerSec=[0-9.e+]+, \
MemAllocated=0\.[0-9]{2}GB, MaxMemAllocated=0\.[0-9]{2}GB\$" out
rm -r logs
config
sed -i 's/3e-3/1e38/' ds.json
train 9
is "weights that grow beyond all numbers: 1" "$rc" 1
ok "... it is told when and where" grep -Eq \
    'step [23]: the loss is not finite, and first the output of (the|block [123] of 3)' err
config '"fp16": { "enabled": true, "initial_scale_power": 1, "hysteresis": 1 },'
sed -i 's/3e-3/1e9/' ds.json
train 9
is "in half, where no smaller scale helps: 1" "$rc" 1
ok "... likewise" grep -Eq \
    'overflow even at the smallest loss scale, 1, and first the output of (the|block [123] of 3)' err
mkdir -p "logs/csv/a job"
ln -s /dev/full "${csv}_lr.csv"
config "$monitors"
train 3
is "a full disk does not end the training" "$rc" 0
is "... it is named, once" "$(grep -c 'csv_monitor: logs/csv/a job: No space left on device' err)" 1
rm -r logs
touch logs
train 1
is "a directory that cannot be made: 1" "$rc" 1
ok "... is named" grep -q ': logs/csv: Not a directory' err
rm logs

# ---- --async-checkpoint ----

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

# ---- dropout ----

train 9
losses >plain.losses
train 5 --dropout 0.1 --checkpoint_dir dropped
losses >dropped.losses
train 9 --dropout 0.1 --checkpoint_dir dropped --export exported
losses >>dropped.losses
train 9 --dropout 0.1 --checkpoint_dir whole
losses >whole.losses
ok "with dropout the losses are others" not cmp -s whole.losses plain.losses
ok "... and fall" sh -c 'set -- $(cat whole.losses) &&
    awk -v first="$1" -v last="$9" "BEGIN { exit !(last < 0.9 * first) }"'
is "stopped and continued: the same losses" "$(cat dropped.losses)" "$(cat whole.losses)"
ok "... the same bytes" cmp dropped/global_step9/shard-00000 whole/global_step9/shard-00000
ok "what is exported tells its dropout" grep -q '"resid_pdrop": 0.1' exported/config.json
train 1 --model exported
losses >asked
train 1 --model exported --dropout 0
losses >off
ok "config.json asks for dropout, and --dropout 0 switches it off" not cmp -s asked off
sed -i 's/_pdrop": 0.1/_pdrop": 0.0/' exported/config.json
train 1 --model exported
is "... it is the same as not to ask" "$(losses)" "$(cat off)"
train 1 --dropout 1
is "a rate of 1: 2" "$rc" 2
ok "... is refused by name" grep -q -e "--dropout: '1' is not a number from 0 to less than 1" err
# Four ranks in two passes drop what one drops.
sed 's/"steps_per_print"/"gradient_accumulation_steps": 2, &/; s/: 6,/: 8,/' ds.json >ds8.json
# shellcheck disable=SC2086
four() {
    "$@" muster-train --deepspeed_config "$PWD/ds8.json" --model hello --vocabulary 257 \
        --positions 18 --width 32 --heads 2 --blocks 2 --length 16 --data "$PWD/text" --steps 4 \
        --device cpu --timeout 60 --dropout 0.2
    losses
}
four run >one
four run muster --label none -H node1:2,node2:2 >many
ok "one rank and four: the same losses" sh -c 'paste one many | awk "
    { d = \$1 - \$2; if (d > 1e-5 || d < -1e-5) bad = 1 } END { exit bad || NR != 4 }"'

# ---- --activation_checkpointing ----

activations() {
    sed -n 's/^\([0-9.]*\) MiB of activations in a pass$/\1/p' out
}
train 9 --export kept
kept=$(activations)
train 9 --export again --activation_checkpointing
is "blocks that compute twice: the same losses" "$(losses)" "$(cat plain.losses)"
ok "... the same weights" cmp kept/model.safetensors again/model.safetensors
ok "... in less memory ($kept MiB, now $(activations))" \
    awk "BEGIN { exit !($(activations) < 0.6 * $kept) }"
config '"activation_checkpointing": { "partition_activations": true, "number_checkpoints": 2 },'
train 1
is "DeepSpeed's keys for it are known" "$rc" 0
ok "... and said to have no effect" \
    grep -q 'ds.json:1: .*number_checkpoints.*keeps the input of every block' err

finish
