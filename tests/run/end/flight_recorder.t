#!/bin/sh
# --flight-recorder: the records of PyTorch's flight recorder are read where a run hangs or fails, and
# say which collective ranks do not agree about.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is missing"
export PYTHONDONTWRITEBYTECODE=1
torch=$here/end/flight_torch.py
run_limit=120

# hangs WAY: a run of four ranks on two nodes.
hangs() {
    run muster --flight-recorder --hang-timeout 2 --heartbeat 0.2 --dead-after 30 --grace 1 \
        -H node1:2,node2:2 "$torch" "$1"
}

# says TEXT: a line of the report.
says() {
    grep -qF "muster: flight recorder: $1" err
}

group='group default_pg (ranks 0-3): '
hangs skips
is "a run that hangs" "$rc" 124
ok "a rank has left out a collective" \
    says "${group}rank 2 has not entered all_reduce (train.py:42 step), number 120, but ranks 0-1,3 have"
dir=$(sed -n 's|^muster: all stacks are in \(.*\)/stacks.txt$|\1|p' err)
ok "... stacks.txt says it as well" grep -q '^flight recorder: .*rank 2 has not entered' "$dir/stacks.txt"
is "... the records are kept" "$(json "$dir/flight_recorder.json" '[len(d), d["2"]["groups"][0]["calls"][-1]["seq"]]')" \
    "[4, 119]"
ok "... and where ranks are, as always" grep -q '^ranks\? .* on node' "$dir/stacks.txt"
hangs late
ok "... also if PyTorch needs a while to write that" says "${group}rank 2 has not entered"
hangs other
ok "a rank has entered another one" \
    says "${group}different collectives as number 120: ranks 0-1,3: all_reduce (train.py:42 step); rank 2: broadcast (train.py:50 step)"
hangs sizes
ok "... with another size" \
    says "${group}the sizes differ as number 120: ranks 0-1,3: all_reduce (train.py:42 step) of sizes [[1024]]; rank 2: all_reduce (train.py:42 step) of sizes [[2048]]"
hangs slow
ok "all have entered it, and it does not end" \
    says "${group}all have entered all_reduce (train.py:42 step), number 120, but it has not ended on ranks 1-3"
hangs cut
ok "a record that is cut" says "no record of rank 2: "
ok "... the others are read" says "${group}all have entered all_reduce (train.py:42 step), number 120, but"
hangs evil
ok "a record that wants to run a program" says "no record of rank 2: ValueError: it names posix.system: that is no record"
ok "... does not" test ! -e evil
hangs none
is "no rank writes records" "$rc $(grep -c 'flight recorder' err)" "124 0"
ok "... where the ranks are, is known" grep -q '^muster: all stacks are in' err

all_wait() {
    [ "$(grep -c waits out)" = 4 ]
}
start muster --flight-recorder --grace 1 --name recorded -H node1:2,node2:2 "$torch" skips
ok "a run that nothing watches" wait_for 30 all_wait
muster stacks recorded >stacks
ok "... muster stacks shows it" \
    grep -qF "flight recorder: ${group}rank 2 has not entered all_reduce (train.py:42 step), number 120, but" stacks
muster stop recorded >stopped 2>&1
finish_run 30

run muster --flight-recorder --json report.json --grace 1 --max-restarts 1 --restart-delay 0 -H node1:2,node2:2 "$torch" fails
is "ranks that fail after a timeout of their own" "$rc" 6
is "... leave their records: for the restart, and at the end" \
    "$(grep -c 'rank 2 has not entered all_reduce (train.py:42 step), number 120, but ranks 0-1,3 have' err)" 2
is "... in JSON, too" "$(json report.json 'len(d["flight_recorder"]), "rank 2 has not" in d["flight_recorder"][0]')" "(1, True)"
run muster -H node1:1 sh -c 'env | grep "^TORCH_.*\(FR\|NCCL\)_" || echo none'
is "without the option nothing is set" "$(cat out)" none
run muster --flight-recorder -H node1:1 --env TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$PWD/mine-" \
    sh -c 'env | grep "^TORCH_.*\(FR\|NCCL\)_" | sed "s/=.*record-/=record-/" | sort'
is "what the user has set counts" "$(sed 's/^node1:0: //' out)" "TORCH_FR_BUFFER_SIZE=2000
TORCH_FR_DUMP_ON_TIMEOUT=1
TORCH_NCCL_DEBUG_INFO_PIPE_FILE=record-
TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/mine-
TORCH_NCCL_DUMP_ON_TIMEOUT=1
TORCH_NCCL_TRACE_BUFFER_SIZE=2000"
ok "nothing is left" no_leftovers
finish
