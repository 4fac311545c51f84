#!/bin/sh
# The example of a training that survives: stock PyTorch on three nodes. It saves on notice, a rank
# is killed, later two nodes, and the loss goes on behind the step that was saved, as if nothing had
# happened. With MUSTER_TEST_WIDE=yes a single node is lost, too, that of rank 0, a link for a minute,
# and torchrun restarts it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need torch
own_namespaces
use_netns 6
example=$top_srcdir/contrib/examples/train_elastic.py
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 USE_LIBUV=0
# Debian 13 builds PyTorch without libuv, but leaves its use the default.
common="--label none --grace 2 --restart-delay 0 --env OMP_NUM_THREADS=1 --env USE_LIBUV=0"
steps=60

# What is done twice is the same twice, but for the order of sums.
curve() {
    sed -n 's/^step \([0-9]*\): loss \([0-9.]*\)$/\1 \2/p' "$1"
}
same_curve() {
    { curve alone && curve out; } | awk -v steps="$steps" '
        NR <= steps { loss[$1] = $2; next }
        { d = $2 - loss[$1]; seen[$1] = 1 }
        d > 2e-5 || d < -2e-5 { print "# step " $1 ": " $2 ", not " loss[$1]; bad = 1 }
        END { for (i = 1; i <= steps; i++) if (!seen[i]) bad = 1; exit bad }'
}
has_step() {
    curve out | awk -v wanted="$1" '$1 >= wanted { found = 1 } END { exit !found }'
}
# The interpreter of a rank, in whichever namespace it is.
rank_pid() {
    for process in $(grep -lsxz "RANK=$1" /proc/[0-9]*/environ); do
        process=${process%/environ}
        if grep -qsF "$example" "$process/cmdline"; then
            echo "${process#/proc/}"
            return
        fi
    done
}

run_limit=120
run env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \
    python3 "$example" --steps $steps --checkpoint "$PWD/alone.pt"
is "one rank, without muster, undisturbed: 0" "$rc" 0
cp out alone
ok "... the loss falls" sh -c 'sed -n "s/.*loss //p" alone | awk "
    NR == 1 { first = \$1 } { last = \$1 } END { exit !(NR == '$steps' && last < first / 2) }"'

# shellcheck disable=SC2086
start muster $common --max-restarts 2 --json end.json -H node1,node2,node3 "$example" \
    --steps $steps --every 1000 --pause 0.1 --checkpoint "$PWD/model.pt"
ok "three nodes train" wait_for 120 has_step 12
kill -USR1 "$(rank_pid 1)"
ok "a notice to one rank: it is saved at once" wait_for 30 grep -q '^saved behind step' out
saved=$(sed -n 's/^saved behind step \([0-9]*\): USR1$/\1/p' out)
kill -KILL "$(rank_pid 2)"
finish_run 180
is "a rank is killed: the training comes to its end" "$rc" 0
ok "... after one restart" \
    grep -q 'generation 1: rank 2 on node3: killed by SIGKILL; 3 ranks on 3 nodes .*; restart 1 of 2' err
is "... behind the last step that was saved" "$(grep ' begin behind ' out | tr '\n' ';')" \
    "3 ranks begin behind step 0;3 ranks begin behind step $saved;"
ok "... with the loss of the undisturbed run at each step" same_curve
ok "nothing is left" no_leftovers

# Two nodes lose their power at once, rank 0's among them, and spares take their places.
node_kill() {
    for node; do
        ip link set "port$node" down
    done
    for node; do
        # shellcheck disable=SC2046
        kill -KILL $(ip netns pids "node$node")
    done
}
# shellcheck disable=SC2086
start muster $common --spares 2 --heartbeat 0.5 --dead-after 3 --json end.json \
    -H "node[1-5]" "$example" --steps $steps --every 10 --pause 0.1 --checkpoint "$PWD/nodes.pt"
ok "three nodes train, and two wait" wait_for 120 has_step 12
node_kill 1 3
finish_run 180
is "two nodes are killed: the training comes to its end" "$rc" 0
ok "... one line says what happened and what follows" \
    grep -Eq 'generation 1: .* lost .*node4 takes the place of node1; node5 takes .* of node3;' err
ok "... with the loss of the undisturbed run at each step" same_curve
ok "... behind a step that was saved" grep -Eq '^3 ranks begin behind step [1-9]0$' out
ok "nothing is left" no_leftovers
[ "${MUSTER_TEST_WIDE:-}" = yes ] || finish

# One node, and then the one of rank 0; each is there again when the other goes.
node_return() {
    ip link set "port$1" up
    node_start_in_namespace "node$1" "$(node_address "$1")"
}
for lost in 3 1; do
    node_return "$lost"
done
for lost in 2 1; do
    # shellcheck disable=SC2086
    start muster $common --spares 1 --heartbeat 0.5 --dead-after 3 -H "node[1-5]" "$example" \
        --steps $steps --every 10 --pause 0.1 --checkpoint "$PWD/node$lost.pt"
    ok "four nodes train, and one waits" wait_for 120 has_step 12
    node_kill "$lost"
    finish_run 180
    is "node$lost is killed: the training comes to its end" "$rc" 0
    ok "... one line says what happened and what follows" \
        grep -q "generation 1: node node$lost lost .*; node5 takes its place; 4 ranks on 4 nodes" err
    ok "... with the loss of the undisturbed run at each step" same_curve
    ok "... behind a step that was saved" grep -Eq '^4 ranks begin behind step [1-9]0$' out
    node_return "$lost"
done

# A node is to go: a spare continues behind the step that was saved for it.
# shellcheck disable=SC2086
start muster $common --name drained --spares 1 --ckpt-marker "$PWD/drained.pt" -H "node2,node[4-6]" \
    "$example" --steps $steps --every 1000 --pause 0.1 --checkpoint "$PWD/drained.pt"
ok "three nodes train, and one waits" wait_for 120 has_step 12
muster drain --within 60 drained node4 >told 2>&1
finish_run 180
is "one is drained: the training comes to its end" "$rc" 0
saved=$(sed -n 's/^saved behind step \([0-9]*\): muster drain$/\1/p' out)
is "... behind the step that was saved" "$(grep ' begin behind ' out | tr '\n' ';')" \
    "3 ranks begin behind step 0;3 ranks begin behind step $saved;"
ok "... with the loss of the undisturbed run at each step" same_curve

# Nothing can take a place: the run waits until the link is back.
# shellcheck disable=SC2086
start muster $common --recovery full --max-wait 10m -H "node2,node[4-6]" "$example" --steps $steps \
    --every 10 --pause 0.1 --checkpoint "$PWD/link.pt"
ok "four nodes train" wait_for 120 has_step 12
ip link set port5 down
ok "the link of one is cut: the run waits" wait_for 60 grep -q 'waiting for a node' err
sleep 45 # the link is down for a minute
ip link set port5 up
finish_run 300
is "it is back: the training comes to its end" "$rc" 0
ok "... with the loss of the undisturbed run at each step" same_curve
ok "nothing is left" no_leftovers

# The same script under torchrun.
command -v torchrun >/dev/null || skip_all "no torchrun"
# PyTorch 1.13 with Python 3.11 takes no other way to say "redirect nothing".
start torchrun --redirects 9:3 --tee 9:3 --nproc_per_node 2 --max_restarts 1 "$example" \
    --steps $steps --every 10 --pause 0.1 --checkpoint "$PWD/torchrun.pt"
ok "torchrun trains" wait_for 120 has_step 12
kill -KILL "$(rank_pid 1)"
finish_run 180
is "a rank is killed: the training comes to its end" "$rc" 0
ok "... behind a step that was saved" grep -Eq '^2 ranks begin behind step [1-9]0$' out
ok "... with the loss of the undisturbed run at each step" same_curve
finish
