#!/bin/sh
# muster-train --eval-data: the loss of other samples, the same wherever the model is, and the file
# best.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

# Ten samples and a remainder: neither passes nor ranks divide them.
head -c 170 text >ten
evaluations() {
    sed -n 's|^evaluation after step \([0-9]*\): loss \([0-9.naif]*\).*|\1 \2|p' out
}
# near FILE FILE LINES: the same steps, and losses that differ by less than 1e-5.
near() {
    paste "$1" "$2" | awk -v lines="$3" '
        $1 != $3 || $2 - $4 > 1e-5 || $4 - $2 > 1e-5 { print > "/dev/stderr"; bad = 1 }
        END { exit bad || NR != lines }'
}

# A step over all of them, at the rate 0, has the loss that an evaluation must find.
cat >ds.json <<'END'
{ "train_batch_size": 10, "train_micro_batch_size_per_gpu": 2,
  "optimizer": { "type": "AdamW", "params": { "lr": 0 } } }
END
run muster-train --deepspeed_config ds.json --model gpt2 --vocabulary 257 --positions 16 \
    --width 32 --heads 2 --blocks 3 --length 16 --data ten --steps 1 --device cpu --eval-data ten
is "evaluated at the end: 0" "$rc" 0
is "the loss is that of a step over the same samples" "$(evaluations)" "1 $(losses)"
ok "the plan names it" grep -q '; evaluation: ten, 10 samples$' out
evaluations >wanted
train 1 --dropout 0.5 --eval-data ten
is "without dropout" "$(evaluations)" "$(cat wanted)"
ok "... which a step has" [ "$(losses)" != "$(cut -d' ' -f2 wanted)" ]
train 1 --lora r=2,dropout=0.5 --eval-data ten
is "... also of adapters" "$(evaluations)" "$(cat wanted)"

config
train 6
losses >curve
train 6 --eval-data ten --eval-interval 2
ok "evaluations change nothing" alike curve 6
is "... and come every two steps" "$(evaluations | cut -d' ' -f1 | xargs)" "2 4 6"
evaluations >wanted
nvme=', "offload_param": { "device": "nvme", "nvme_path": "'$PWD'/nvme" },
    "offload_optimizer": { "device": "nvme", "nvme_path": "'$PWD'/nvme" }'
mkdir nvme
# ranks HOSTS STAGE MORE: the same by ranks that share it.
ranks() {
    config "\"zero_optimization\": { \"stage\": $2 $3 },"
    run muster --label none -H "$1" --name "evaluation-$$" muster-train --deepspeed_config \
        "$PWD/ds.json" --model gpt2 --vocabulary 257 --positions 16 --width 32 --heads 2 \
        --blocks 3 --length 16 --data "$PWD/text" --steps 6 --device cpu --eval-data "$PWD/ten" \
        --eval-interval 2
    evaluations >got
}
for stage in 0 1 2 3; do
    ranks node1,node2 $stage
    ok "two ranks, stage $stage: the same losses" near wanted got 3
done
ranks node1:2,node2 3
ok "three ranks" near wanted got 3
ranks node1,node2 3 "$nvme"
ok "parameters in files" near wanted got 3

# The file best, which a later worse one does not change, and --keep spares.
config '"csv_monitor": { "enabled": true, "output_path": "csv", "job_name": "j" },'
train 4 --checkpoint_dir save --save_interval 2 --keep 1 --eval-data ten
is "best names the lowest" "$(evaluations | cut -d' ' -f1 | xargs) $(cat save/best)" "2 4 global_step4"
ok "... which is said" grep -q '^evaluation after step 4: loss [0-9.]*, the lowest so far$' out
is "the monitor has them" "$(sed 1d csv/j/Train_Samples_eval_loss.csv |
    awk -F, '{ printf "%d %.6f\n", $1 / 6, $2 }')" "$(evaluations)"
config
sed -i 's/3e-3/1/' ds.json
train 8 --checkpoint_dir save --save_interval 2 --keep 1 --eval-data ten --async-checkpoint
is "... after worse ones, too" "$rc $(cat save/best) $(cat save/latest)" \
    "0 global_step4 global_step8"
is "... and stays" "$(cd save && echo global_step*)" "global_step4 global_step8"
config
train 6 --checkpoint_dir save --tag "$(cat save/best)" --save_interval 2 --eval-data ten
is "from there it becomes better" "$rc $(cat save/best)" "0 global_step6"

train 1 --eval-interval 2
is "--eval-interval without data: 2" "$rc" 2
printf short >short
train 1 --eval-data short
is "data that is no sample: 1" "$rc" 1
ok "... is named" grep -q 'short' err
ok "nothing is left" no_leftovers
finish
