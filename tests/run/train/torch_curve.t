#!/bin/sh
# muster-train and PyTorch: the same weights, the same data, the same curve.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
need torch
export OMP_NUM_THREADS=1
# Twelve samples, which are a batch: so their order does not matter.
seq 1 100 | awk '{ printf "line %d of the text says %d\n", $1, $1 * 7919 % 10007 }' |
    head -c $((12 * 32 + 1)) >text
# config RATE DECAY
config() {
    cat >ds.json <<END
{ "train_batch_size": 12, "steps_per_print": 1, "gradient_clipping": 1.0,
  "optimizer": { "type": "AdamW", "params": { "lr": $1, "weight_decay": $2 } },
  "zero_optimization": { "stage": 2 } }
END
}
# train OPTION...
train() {
    run muster --label none -H node1:2,node2:2 muster-train --deepspeed_config "$PWD/ds.json" \
        --data "$PWD/text" --length 32 --seed 1 --timeout 60 "$@"
}
curve() {
    sed -n 's|^step \([0-9]*\)/.* loss \([0-9.naif]*\).*|\1 \2|p' out
}

# same_curve FILE FILE: fifty steps, with losses that differ by less than 1e-4.
same_curve() {
    paste "$1" "$2" | awk '
        { d = $2 - $4 } $1 != $3 || d > 1e-4 || d < -1e-4 { bad = 1; print }
        END { exit bad || NR != 50 }'
}

config 0 0
train --steps 1 --model gpt2 --vocabulary 257 --positions 32 --width 32 --heads 2 --blocks 3 \
    --export "$PWD/first"
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
is "first weights for both: 0" "$rc" 0
# So much decay that it shows in the curve which parameters it reaches.
for which in none default; do
    config 1e-3 5
    train --steps 50 --model "$PWD/first" --no-decay $which
    is "four ranks, stage 2, --no-decay $which: 0" "$rc" 0
    curve >curve.ours.$which
    run python3 "$top_srcdir/contrib/examples/train_gpt2.py" first text --length 32 --steps 50 \
        --weight_decay 5 --no_decay $which
    is "... PyTorch: 0" "$rc" 0
    curve >curve.torch
    ok "... fifty steps differ by less than 1e-4" same_curve curve.ours.$which curve.torch
    ok "... and fall" awk '
        NR == 1 { first = $2 } { last = $2 } END { exit !(last < 0.75 * first) }' curve.torch
done
not_ok() { ! "$@"; }
ok "what is spared makes a difference" not_ok same_curve curve.ours.none curve.ours.default
ok "nothing is left" no_leftovers
finish
