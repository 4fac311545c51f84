#!/bin/sh
# muster-train: every stage at one and four ranks gives one loss curve, wherever parameters and
# optimizer are kept, which goes on as if never stopped at another number of ranks; signals save; a
# lost rank ends the others, named.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
export OMP_NUM_THREADS=1
# Always the same text: what follows depends on it to the last bit.
seq 1 3000 | awk '{ printf "line %d of the text says %d, and the next one says more\n", $1, $1 * 7919 % 10007 }' >text

# A sum in another order differs in its last bit, and Adam lets that grow: slowly at this rate
# and this seed, past 1e-5 before step 50 at three times the rate.
# config STAGE EXTRA ZERO: stage N's ds_config, with that at the top and in zero_optimization.
config() {
    cat >"ds$1.json" <<END
{ "train_batch_size": 12, "steps_per_print": 1, "gradient_clipping": 1.0, $2
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-3, "weight_decay": 0.01 } },
  "scheduler": { "type": "WarmupLR", "params": { "warmup_num_steps": 10 } },
  "zero_optimization": { "stage": $1, "reduce_bucket_size": 9000 $3 } }
END
}
offload_cpu=', "offload_optimizer": { "device": "cpu" }'
offload_nvme=", \"offload_optimizer\": { \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" }"
offload_all="$offload_nvme, \"offload_param\": { \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" }"
mkdir nvme
for stage in 0 1 2 3; do
    config $stage
done
shape="--vocabulary 257 --positions 32 --width 32 --heads 2 --blocks 3 --length 32"

# train RANKS STAGE OPTIONS...: one rank without muster, else on two nodes.
train() {
    ranks=$1 stage=$2
    shift 2
    # shellcheck disable=SC2086
    set -- muster-train --deepspeed_config "$PWD/ds$stage.json" --model gpt2 $shape \
        --data "$PWD/text" --seed 1 --timeout 60 --device cpu "$@"
    case $ranks in
    1) run "$@" ;;
    2) run muster --label none --grace 2 -H node1,node2 "$@" ;;
    3) run muster --label none --grace 2 -H node1:2,node2 "$@" ;;
    4) run muster --label none --grace 2 -H node1:2,node2:2 "$@" ;;
    esac
}
curve() {
    sed -n 's|^step \([0-9]*\)/.* loss \([0-9.naif]*\) .*|\1 \2|p' out
}
# alike FILE FILE STEPS: the curves have as many steps, and differ by less than 1e-5.
alike() {
    paste "$1" "$2" | awk -v lines="$3" '
        $1 != $3 || $2 - $4 > 1e-5 || $4 - $2 > 1e-5 { print > "/dev/stderr"; bad = 1 }
        END { exit bad || NR != lines }'
}

run muster-train --deepspeed_config ds0.json --model gpt2 --data text --steps 0
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
is "a bad option: 2" "$rc" 2
run muster-train --deepspeed_config ds0.json --print-config
is "--print-config: 0" "$rc" 0

train 1 0 --steps 50
is "one rank by hand: 0" "$rc" 0
curve >curve.1.0
ok "the loss falls by a quarter" awk '
    NR == 1 { first = $2 } { last = $2 } END { exit !(NR == 50 && last < 0.75 * first) }' curve.1.0
# Alone, the stages are alike, but what is elsewhere is.
config 1 '' "$offload_cpu"
config 2 '' "$offload_nvme"
config 3 '' "$offload_all"
for stage in 1 2 3; do
    train 1 $stage --steps 50
    curve >curve.1.$stage
    ok "one rank, stage $stage, offloaded: the same curve" alike curve.1.0 curve.1.$stage 50
    [ $stage != 1 ] || is "to the CPU, it is said once" \
        "$(grep -c 'ds1.json:4: .*offload_optimizer.device: .*, all data is in host memory$' err)" 1
done
# What a rank holds is what the formula says, but for what makes pieces and records whole.
ok "it is told what is where" grep -Eq "^a rank holds.* parameters in a file in $PWD/nvme, .* optimizer state in a file in $PWD/nvme," out
ok "... as much as the formula says" sh -c 'grep "^a rank holds" out | grep -o "[0-9.]* ([0-9.]*) of" |
    tr "()" "  " | awk "\$1 < \$2 || \$1 > 1.1 * \$2 + 0.02 { bad = 1 } END { exit bad || NR != 3 }"'
is "nothing is left of the files" "$(ls -A nvme)" ""
for stage in 1 2 3; do
    config $stage
done
for stage in 0 1 2 3; do
    train 4 $stage --steps 50
    is "four ranks, stage $stage: 0" "$rc" 0
    curve >curve.4.$stage
    ok "... the same curve" alike curve.1.0 curve.4.$stage 50
done
ok "only rank 0 speaks" [ "$(grep -c 'step 50/50' out)" = 1 ]
config 2 '"gradient_accumulation_steps": 3,'
train 2 2 --steps 50
curve >curve.accumulated
ok "two ranks, two samples a pass, three passes: the same curve" alike curve.1.0 curve.accumulated 50

train 2 2 --steps 1 --lr-scale ranks
is "a rate by ranks needs a batch that grows with them: 1" "$rc" 1
ok "... says which key fixes it" grep -q 'ds2.json:1: train_batch_size: with it the batch stays the same' err
config 0
sed -i 's/"train_batch_size": 12/"train_micro_batch_size_per_gpu": 3/' ds0.json
train 4 0 --steps 11 --lr-scale ranks
is "where it grows, four ranks have four times the rate" \
    "$rc $(sed -n 's|^step 11/11 .* lr \([^ ]*\) .*|\1|p' out)" "0 4.000e-03"

# 4 -> 2 -> 3 ranks, with other stages.
config 2
train 4 1 --steps 20 --checkpoint_dir "$PWD/save"
curve >curve.resumed
ok "it is told where it saves" grep -Eq '^saved .*/save/global_step20 in [0-9.]+ s' out
is "latest names it" "$(cat save/latest)" global_step20
config 3 '' "$offload_all"
train 2 3 --steps 35 --checkpoint_dir "$PWD/save" --save_interval 10 --async-checkpoint
config 3
ok "it is told where it continues" grep -q \
    '^continuing from .*/save/global_step20, saved by 4 ranks' out
curve >>curve.resumed
is "it saves every 10 steps, and last" "$(cd save && echo global_step*)" \
    "global_step20 global_step30 global_step35"
is "... and says so" "$(grep -c '^saved .*/save/global_step[0-9]* in .* s, in the background$' out)" 2
train 3 2 --steps 50 --checkpoint_dir "$PWD/save"
curve >>curve.resumed
ok "4, 2, then 3 ranks: the curve goes on as if never stopped" alike curve.1.0 curve.resumed 50

# At the same number of ranks, to the bit.
train 2 2 --steps 12 --checkpoint_dir "$PWD/whole"
train 2 2 --steps 5 --checkpoint_dir "$PWD/parts"
config 2 '' "$offload_nvme"
train 2 2 --steps 12 --checkpoint_dir "$PWD/parts"
config 2
for shard in shard-00000 shard-00001; do
    ok "stopped and gone on, offloaded: the same $shard" \
        cmp whole/global_step12/$shard parts/global_step12/$shard
done
printf x >>parts/global_step12/shard-00001
train 1 2 --steps 13 --checkpoint_dir "$PWD/parts"
is "a damaged checkpoint: 1" "$rc" 1
ok "... is named" grep -q 'parts/global_step12/shard-00001: has .* bytes, but .* were written' err
train 1 2 --steps 13 --checkpoint_dir "$PWD/parts" --tag global_step5
is "... and the one before can be asked for" "$rc" 0
MUSTER_GENERATION=1 train 1 2 --steps 14 --checkpoint_dir "$PWD/parts" --tag global_step5
ok "... but a restart continues from the latest" \
    grep -q '^continuing from .*/parts/global_step13,' out
for tried in 1 2; do
    MUSTER_RUN_ID=r MUSTER_GENERATION=$tried train 1 2 --steps $((5 + tried)) \
        --checkpoint_dir "$PWD/parts" --tag global_step5
    grep '^continuing from' out
done | sed 's|.*/parts/||; s/,.*//' >tried
is "... unless the first start has not come to the one that was asked for" \
    "$(tr '\n' ' ' <tried)" "global_step5 global_step6 "
train 1 2 --steps 5 --checkpoint_dir "$PWD/parts" --tag global_step5
is "... which is the one that was asked for, until there is another" "$(cat parts/latest)" \
    global_step5
train 1 2 --steps 13 --checkpoint_dir "$PWD/parts" --blocks 2
is "another model's checkpoint: 1" "$rc" 1
ok "... is said" grep -q 'global_step5: this checkpoint belongs to another model' err

# A directory of each node's own: nobody begins where others continue.
mkdir own
cp -r whole own/0
# shellcheck disable=SC2086,SC2016
run muster --label none --grace 2 -H node1,node2 sh -c 'exec muster-train "$@" --checkpoint_dir own/$RANK' \
    sh --deepspeed_config "$PWD/ds2.json" --model gpt2 $shape --data "$PWD/text" --seed 1 \
    --timeout 60 --device cpu --steps 14
is "a checkpoint that only one rank finds: 1" "$rc" 1
ok "... is named, and what to do" grep -Eq \
    'own/0: this node has checkpoint global_step12, but others do not; is own/0 on a file' err
ok "... before any step" not grep -q '^step' out

# Another configuration, and other data, on a node: it is told before any step.
# other CONFIG OPTION...: two ranks; $RANK is the rank's.
other() {
    config=$1
    shift
    # shellcheck disable=SC2086
    run muster --label none --grace 2 -H node1,node2 sh -c "exec muster-train --deepspeed_config $config \
        --model gpt2 $shape --seed 1 --timeout 60 --device cpu --steps 9 $*"
}
# shellcheck disable=SC2016
other 'ds$((2 + RANK)).json' --data text
is "another configuration on a node: 1" "$rc" 1
ok "... which is named there" grep -q \
    '^muster-train: rank 1 on .*: ds3.json on this rank differs from rank 0' err
head -c 5000 text >text1
cp text text0
# shellcheck disable=SC2016
other ds2.json --data 'text$RANK'
is "other data on a node: 1" "$rc" 1
ok "... which are named there" grep -q \
    '^muster-train: rank 1 on .*: text1 on this rank differs from rank 0' err
ok "... before any step" not grep -q '^step' out
# shellcheck disable=SC2016
other ds2.json --data text --steps '$((9 + RANK))'
is "other options of a rank: 1" "$rc" 1

# Weights for others: out of four ranks, and in again.
for stage in 2 3; do
    train 4 $stage --steps 3 --export "$PWD/exported.$stage"
    is "stage $stage, --export: 0" "$rc" 0
done
ok "both stages export the same" cmp exported.2/model.safetensors exported.3/model.safetensors
train 2 3 --steps 1 --model "$PWD/exported.2" --export "$PWD/again" # its learning rate is 0
ok "what was exported is where a training begins" \
    cmp exported.2/model.safetensors again/model.safetensors
train 1 2 --steps 1 --model "$PWD/exported.2" --blocks 4
is "another shape than the weights: 1" "$rc" 1

# bfloat16, and a masked model.
# near FILE FILE STEPS: the curves have as many steps, and differ by 0.1 at most.
near() {
    paste "$1" "$2" |
        awk -v lines="$3" '{ d = $2 - $4 } d > 0.1 || d < -0.1 { bad = 1 } END { exit bad || NR != lines }'
}
config 2 '"bf16": { "enabled": true },'
train 4 2 --steps 50
curve >curve.bf16
ok "bfloat16: not far from float" near curve.1.0 curve.bf16 50
# oneDNN has no products of bfloat16 for CPUs without AVX-512.
export ONEDNN_MAX_CPU_ISA=AVX2
train 1 2 --steps 20
unset ONEDNN_MAX_CPU_ISA
curve >curve.narrow
head -n 20 curve.bf16 >curve.bf16.20
ok "... on a CPU that has no products of it, too" near curve.bf16.20 curve.narrow 20
# Half: a first scale that is far too large is halved until gradients are finite. Steps that
# are skipped for it take no part in the schedule, whose first rate is 0.
config 2 '"fp16": { "enabled": true, "initial_scale_power": 34, "hysteresis": 1 },'
train 4 2 --steps 50 --checkpoint_dir "$PWD/half"
curve >curve.half
is "half: 0" "$rc" 0
skipped=$(grep -c 'is not finite.*; step skipped, the loss scale is now' err)
ok "... steps are skipped ($skipped)" [ "$skipped" -gt 2 ]
first=$(($(sed -n 's/^muster-train: step \([0-9]*\): the gradient.*/\1/p' err |
    awk '$1 == NR { n++ } END { print n + 0 }') + 1))
whose=' on rank [0-3] on [^ ]+|, finite on each rank,'
named=$(grep -Ec "gradient of [a-z0-9_.]+(weight|bias)($whose) is" err)
ok "... each names a parameter, and whose gradient it is" [ "$named" = "$skipped" ]
ok "... at first it is everyone's, and the lowest is named" \
    grep -Eq '^muster-train: step 1: the gradient of [a-z0-9_.]+ on rank 0 on [^ ]+ is' err
scale=$(awk "BEGIN { print 2 ^ (35 - $first) }")
ok "... and halves the scale" grep -q "^step $first/50 .*  scale $scale " out
ok "... the first that counts has the first rate" grep -q "^step $first/50 .* lr 0.000e+00 " out
ok "... then the loss falls" awk '
    NR == 1 { first = $2 } { last = $2 } END { exit !(NR == 50 && last < 0.85 * first) }' curve.half
ok "... the checkpoint knows which steps counted" \
    grep -aq "^updates $((50 - skipped))\$" half/global_step50/shard-00000

config 2
train 2 2 --steps 50 --model hello --positions 34
is "a masked model: 0" "$rc" 0
ok "... its loss falls" sh -c 'curve=$(sed -n "s/^step.* loss \([0-9.]*\) .*/\1/p" out); set -- $curve
    [ $# = 50 ] && awk -v first="$1" -v last="${50}" "BEGIN { exit !(last < 0.8 * first) }"'

# What it cannot do, it says.
rmdir nvme
config 3 '' "$offload_all"
train 2 3 --steps 2
is "offload to where nothing is: 1" "$rc" 1
ok "... is said" grep -q \
    "offload_param: cannot create a file in $PWD/nvme: No such file or directory" err
config 2

# Signals, to one of two ranks.
# shellcheck disable=SC2086
start muster --label none --grace 10 -H node1,node2 muster-train --deepspeed_config \
    "$PWD/ds2.json" --model gpt2 $shape --data "$PWD/text" --steps 1000000 --timeout 60 \
    --checkpoint_dir "$PWD/signals"
trainers() {
    pgrep -x muster-train -a | grep -F "$PWD/signals" | sed 's/ .*//'
}
ok "a long training goes on" wait_for 30 grep -q '^step 3/' out
kill -USR1 "$(trainers | head -n 1)"
ok "SIGUSR1: it saves" wait_for 30 grep -q '^saved ' out
is "... and goes on" "$(trainers | wc -l)" 2
kill -TERM "$(trainers | tail -n 1)"
finish_run 30
is "SIGTERM: 143" "$rc" 143
is "... all is saved once more" "$(grep -c '^saved ' out)" 2

# A notice of muster, in a file.
# shellcheck disable=SC2086
start env MUSTER_NOTICE_FILE="$PWD/notice" MUSTER_GENERATION=1 muster-train --deepspeed_config \
    ds2.json --model gpt2 $shape --data text --steps 1000000 --device cpu --checkpoint_dir noticed
ok "a restart without a checkpoint says so" wait_for 30 \
    grep -q 'restart 1 begins at step 0: no checkpoint in noticed' err
ok "it trains" wait_for 30 grep -q '^step 3/' out
echo '{}' >notice
ok "a notice comes: it saves" wait_for 30 grep -q '^saved noticed/global_step' out
kill -TERM "$pid"
finish_run 30
is "... once, and last" "$rc $(grep -c '^saved ' out)" "143 2"

# A rank that is gone, twice.
# shellcheck disable=SC2086
start muster --label none --grace 2 --max-restarts 1 --restart-delay 0 -H node1,node2 muster-train \
    --deepspeed_config "$PWD/ds2.json" --model gpt2 $shape --data "$PWD/text" --seed 1 \
    --steps 1000000 --timeout 60 --checkpoint_dir "$PWD/signals/gone" --save_interval 10
has_step() {
    awk -v wanted="$1" -v starts="$2" '/^continuing from/ { n++ }
        /^step / && $2 + 0 >= wanted && n >= starts { found = 1 } END { exit !found }' out
}
ok "it trains" wait_for 30 has_step 15 0
kill -KILL "$(trainers | tail -n 1)"
ok "a rank is killed: it continues by itself" wait_for 30 has_step 55 1
kill -KILL "$(trainers | tail -n 1)"
finish_run 15
# On a busy machine the other rank may be seen to end first: it says whom it has lost.
[ "$rc" != 1 ] || ! grep -q \
    '^muster-train: rank [01] on .*: lost rank [01] on .*its process has exited' err || rc=137
is "a killed rank ends the run: 137, or what the other one ends with" "$rc" 137
is "... the restart took the latest" "$(grep -c '^continuing from .*/signals/gone/global_step[0-9]*0,' out)" 1
curve | sort -n | uniq | awk '$1 <= 50' >curve.restarted
ok "... the curve goes on as if never stopped" alike curve.1.0 curve.restarted 50

ok "nothing is left" no_leftovers
finish
