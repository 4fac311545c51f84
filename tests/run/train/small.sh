# small.sh - a training that is small enough for many runs; behind lib.sh
# SPDX-License-Identifier: Apache-2.0

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
# alike FILE STEPS: the curve is the one in FILE.
alike() {
    losses | paste "$1" - | awk -v lines="$2" '
        $1 == "" || $1 - $2 > 2e-5 || $2 - $1 > 2e-5 { print > "/dev/stderr"; bad = 1 }
        END { exit bad || NR != lines }'
}

config
train 1
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
