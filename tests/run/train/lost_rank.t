#!/bin/sh
# muster-train of four ranks, of which one is killed or stopped in the middle of it: each that ends
# for its sake names it, and no other.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

program=muster-train device=cpu
sed -i 's/"train_batch_size": 6/"train_batch_size": 8/' ds.json

# lose SIGNAL STAGE TIMEOUT SECONDS: to rank 2, after some steps.
lose() {
    sed "s/^{/{ \"zero_optimization\": { \"stage\": $2 },/" ds.json >"ds$2.json"
    rm -f pid.*
    # shellcheck disable=SC2016
    start muster --grace 5 -H node1:2,node2:2 sh -c 'echo $$ >'"$PWD"'/pid.$RANK; exec "$@"' \
        sh "$program" --deepspeed_config "$PWD/ds$2.json" --model gpt2 --vocabulary 257 --positions 16 \
        --width 32 --heads 2 --blocks 3 --length 16 --data "$PWD/text" --steps 1000000 \
        --device $device --timeout "$3"
    ok "stage $2: it trains" wait_for 30 grep -q 'step 3[0-9]*/' out
    kill "-$1" "$(cat pid.2)"
    finish_run "$4"
    grep '^node[12]:[0-9]: muster-train: rank ' err >said
    what=$(grep -c . said)
}

# all_lose BACKEND
all_lose() {
    tried=0 wrong=0 spoke=0
    while [ $tried -lt 6 ]; do
        lose KILL $((tried % 4)) 60 15
        grep -v ': lost rank 2 on [^,]* (its process has exited)$' said >&2 && wrong=$((wrong + 1))
        spoke=$((spoke + what))
        tried=$((tried + 1))
    done
    is "$1, killed: nobody blames another" "$wrong" 0
    ok "... and most say so ($spoke of 18)" [ "$spoke" -ge 6 ]
    lose STOP 2 "$(stretched 2)" 30
    # The first to wait too long ends, which breaks its connections, and then muster continues what
    # was stopped, to end it.
    lost='(not finished within [0-9.]+ s:|lost) rank 2 on [^,]*'
    misses=": $lost \\((does not answer|another rank has lost it)\\)\$"
    is "$1, stopped: all others say so, and name it" "$(grep -Ec "$misses" said)" 3
}

run muster-train check --backend gloo -n 1 barrier
if grep -q 'built without Gloo' err; then
    skip "Gloo" "muster-train was built without it"
else
    all_lose gloo
fi
stand_in=$top_builddir/tests/cuda_on_cpu
if [ -e "$stand_in/muster-train-model-cuda.so" ]; then
    # A program takes the plugins that stand beside it.
    cp "$top_builddir/trainer/muster-train" "$stand_in"/*.so .
    program=$PWD/muster-train device=cuda
    all_lose nccl
else
    skip "NCCL" "muster-train was built without oneDNN"
fi
ok "nothing is left" no_leftovers
finish
