#!/bin/sh
# muster-train: csv_monitor, tensorboard and what else is told of each step.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

monitors='"csv_monitor": { "enabled": true, "output_path": "logs/csv", "job_name": "a job" },
    "tensorboard": { "enabled": true, "output_path": "logs/", "job_name": "events" },'
config "$monitors"
train 3 --checkpoint_dir save
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
    "step [23]: the loss is not finite; \
the first output that is not finite is that of (the|block [123] of 3)" err
config '"fp16": { "enabled": true, "initial_scale_power": 1, "hysteresis": 1 },'
sed -i 's/3e-3/1e9/' ds.json
train 9
is "in half, where no smaller scale helps: 1" "$rc" 1
ok "... likewise" grep -Eq \
    "overflow even at the smallest loss scale, 1; \
the first output that is not finite is that of (the|block [123] of 3)" err
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
finish
