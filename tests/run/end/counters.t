#!/bin/sh
# What counters of GPUs and network ports show while ranks run is evidence, like what the kernel
# says: it is in the report of a failure, and the next generation does without the node.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/end/samples.sh"

MUSTER_TEST_SAMPLES_S=0.1
export MUSTER_RESTART_DELAY=0
port=sys/class/infiniband/mlx5_0/ports/1
run_limit=120

# well: nothing is wrong with the three nodes.
well() {
    rm -rf met.* s.[012]/sys s.[012]/gpu.looked
    gpus '' '' ''
    for node in 0 1 2; do
        mkdir -p "s.$node/$port/counters"
        echo "4: ACTIVE" >"s.$node/$port/state"
        echo "400 Gb/sec (4X NDR)" >"s.$node/$port/rate"
        echo 7 >"s.$node/$port/counters/link_downed"
        echo 0 >"s.$node/$port/counters/symbol_error"
    done
    MUSTER_HOSTFILE='' muster clean --suspects >/dev/null 2>&1
}

# In its first generation rank $fails waits until its node, $place, was sampled, runs $breaks, waits
# until it was sampled again, and fails; the others wait.
script_file job <<'END_OF_RANK'
#!/bin/sh
[ "$MUSTER_GENERATION" = 0 ] || exit 0
[ "$RANK" = "$fails" ] || exec sleep 1000
looked() {
    for time in 1 2; do
        rm -f "s.$place/gpu.looked"
        until [ -e "s.$place/gpu.looked" ]; do sleep 0.02; done
    done
}
looked
eval "$breaks"
looked
exit 1
END_OF_RANK
export place fails breaks

# evidence EXPRESSION: over the list of it in end.json, called e.
evidence() {
    json end.json "[$1 for e in d['evidence']]"
}

# --- one node

place=0 fails=1
# breaking COMMAND: node 0 does that while ranks run, and then a rank fails.
breaking() {
    well
    breaks=$1
    run muster --json end.json -H node1:2 ./job
    echo "$rc $(sed -En 's/^muster: node1: counters, [0-9:]{8}: //p' err)"
}
is "nothing breaks" "$(breaking :) $(evidence 'e["kind"]')" "1  []"
is "a link went down for a moment" "$(breaking "echo 8 >s.0/$port/counters/link_downed")" \
    "1 a network link went down (mlx5_0/1): check the cable and the switch"
is "... in JSON" "$(evidence '(e["source"], e["kind"], e["device"], e["severity"], e["count"], e["text"])')" \
    "[('counters', 'link', 'mlx5_0/1', 'error', 1, 'mlx5_0/1: link_downed: 7, now 8')]"
is "it is still down" "$(breaking "echo 1: DOWN >s.0/$port/state")" \
    "1 a network link went down (mlx5_0/1): check the cable and the switch"
is "its errors grow fast" "$(breaking "echo 500 >s.0/$port/counters/symbol_error")" \
    "1 many errors of a network link (mlx5_0/1): check the cable and the switch"
is "... a few are usual" "$(breaking "echo 5 >s.0/$port/counters/symbol_error")" "1 "
is "a counter is set back" "$(breaking "echo 0 >s.0/$port/counters/link_downed")" "1 "
is "ECC errors" "$(breaking 'echo ecc=2 >s.0/gpu')" \
    "1 uncorrected errors of a GPU's memory (GPU 1): if it happens again, have the GPU replaced"
is "a row must be remapped" "$(breaking 'echo pending >s.0/gpu')" \
    "1 a GPU has a row of its memory to remap (GPU 1): reset the GPU, or reboot the node"
is "an NVLink is down" "$(breaking 'echo down >s.0/gpu')" \
    "1 an NVLink is not active any more (GPU 1, link 3): reset the GPUs with their NVSwitches, or reboot the node"
is "a GPU is too hot: that is no reason to fail" "$(breaking 'echo reasons=64 >s.0/gpu') $(evidence '(e["kind"], e["severity"])')" \
    "1  [('gpu slowdown', 'notice')]"

# A GPU that is lost is not looked at any more.
script_file loses <<'END_OF_RANK'
#!/bin/sh
[ "$RANK" = 1 ] || exec sleep 1000
until [ -e s.0/gpu.looked ]; do sleep 0.02; done
echo lost >s.0/gpu
exec sleep 1000
END_OF_RANK
well
start muster -v --json end.json --name counters -H node1:2 ./loses
ok "a GPU is lost: muster hears of it at once" \
    wait_for 60 grep -q 'node1: counters: a GPU does not answer any more (GPU 1): reboot the node' err
run muster stop counters
finish_run 60
is "... and the report has it" "$(grep -c '^muster: node1: counters, .*: a GPU does not answer any more' err)" 1

# --- the last sample

# Until SIGUSR1 comes there is no second sample.
script_file last <<'END_OF_RANK'
#!/bin/sh
[ "$RANK" = 1 ] || exec sleep 1000
until [ -e go ]; do sleep 0.02; done
echo sampled
until [ -e break ]; do sleep 0.02; done
echo ecc=2 >s.0/gpu
exit 1
END_OF_RANK
well
MUSTER_TEST_SAMPLES_S=1000,1000
start muster --json end.json -H node1:2 ./last
ok "a node is sampled" wait_for 60 test -e s.0/gpu.looked
rm s.0/gpu.looked
ok "... by a child" sampler
kill -USR1 "$child"
ok "... once more" wait_for 60 test -e s.0/gpu.looked
: >go
ok "... of which the agent knows" wait_for 60 grep -q sampled out
: >break
finish_run 60
is "what breaks just before a rank fails is known, too" "$rc $(evidence 'e["kind"]')" "1 ['ecc']"
MUSTER_TEST_SAMPLES_S=0.1

# --- the next generation

place=1 fails=3
# left_out: [(node, reason)], of those that were left out.
left_out() {
    json end.json '[(s["node"], s["reason"]) for s in d["suspects"] if s["left_out"]]'
}
# spare COMMAND [OPTIONS...]: what follows if node 1 does that, its rank fails, and there is a spare.
spare() {
    well
    breaks=$1
    shift
    run muster --json end.json -H node1:2,node2:2,node3:2 --spares 1 --no_local_rank --max-restarts 3 "$@" ./job
    echo "$rc $(left_out)"
}
is "ECC errors: the node gives its place to a spare" "$(spare 'echo ecc=2 >s.1/gpu')" \
    '0 [('"'node2', "'"counters: uncorrected errors of a GPU'"'"'s memory (GPU 1): if it happens again, have the GPU replaced")]'
is "what was corrected is no reason" "$(spare 'echo reasons=64 >s.1/gpu')" "0 []"
fails=1
is "ECC errors, but another node failed first: it stays" "$(spare 'echo ecc=2 >s.1/gpu')" "0 []"
is "a broken GPU, though another node failed first" "$(spare 'echo down >s.1/gpu' | cut -c1-11)" "0 [('node2'"
is "... is no restart" "$(grep -c 'node3 takes the place of node2.*restarts used: 0 of 3' err)" 1
ok "nothing is left" no_leftovers
finish
