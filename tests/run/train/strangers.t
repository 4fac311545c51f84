#!/bin/sh
# Strangers connect to the ports of muster-train's ranks, before the other ranks do and during the
# training: say nothing, rubbish, or what a rank would say. The training is that of a run alone.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

run muster-train check --backend gloo -n 1 barrier
if grep -q 'built without Gloo' err; then
    skip_all "muster-train was built without Gloo"
fi
sed -i 's/"train_batch_size": 6/"train_batch_size": 8/' ds.json
losses_of() {
    sed -n 's|^.*step .* loss \([0-9.]*\) .*|\1|p' "$1"
}
# A program takes the plugin beside it. Rank 0 comes when the strangers are there.
mkdir held
cp "$top_builddir/trainer/muster-train" held/
cp "$top_builddir/tests/run/train/held_gloo.so" held/muster-train-gloo.so
export MUSTER_TEST_GO="$PWD/go" MUSTER_TEST_GLOO="$top_builddir/trainer/muster-train-gloo.so"
# ranks STEPS: on two nodes; the one with number 0 is late. Each may have fewer descriptors than there
# are strangers.
ranks() {
    # shellcheck disable=SC2016
    start muster --label none --grace 5 -H node1:2,node2:2 sh -c '
        ulimit -n 48
        echo $$ >'"$PWD"'/pid.$RANK
        [ "$RANK" = 0 ] && exec '"$PWD"'/held/muster-train "$@"
        exec muster-train "$@"' sh --deepspeed_config "$PWD/ds.json" --model gpt2 \
        --vocabulary 257 --positions 16 --width 32 --heads 2 --blocks 3 --length 16 \
        --data "$PWD/text" --steps "$1" --device cpu --timeout "$(stretched 60)"
}

: >go
ranks 300
finish_run 60
is "alone: 0" "$rc" 0
losses_of out >alone
is "... it trains" "$(grep -c . alone)" 300

rm -f go pid.*
: >met
ranks 300
python3 "$here/train/strangers.py" "$PWD/stop" pid.1 pid.2 pid.3 pid.0 >met 2>met.err &
strangers=$!
test_pids="$test_pids $strangers"
all_met() {
    for rank; do grep -q "^met pid.$rank " met || return 1; done
}
ok "strangers are at the ports of the ranks that wait" wait_for 60 all_met 1 2 3
is "... which wait" "$(losses_of out)" ""
: >go
ok "... and then at that of the late one" wait_for 60 all_met 0
finish_run 120
is "the training ends with 0" "$rc" 0
losses_of out >beside
ok "... and has the same losses" cmp alone beside
is "... and nothing to complain about" "$(grep -c 'muster-train: ' err)" 0
: >stop
ok "the strangers leave" wait_for 30 is_gone "$strangers"
is "... without a complaint" "$(cat met.err)" ""
# Anyone may ask for a proof, which is of no use to him: the called rank's answer has 40 bytes.
ok "... and have heard no more than an answer" [ "$(sed -n 's/^heard //p' met)" -le 40 ]
ok "nothing is left" no_leftovers
finish
