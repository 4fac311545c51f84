#!/bin/sh
# Row 23: Ctrl-C once stops, twice kills, three times leaves. Another run on the same nodes does
# not notice. One that comes while the run begins is heard, and heard once.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"
nodes_agents= # it is about sending one

rank_does <<'END'
[ "$RANK" = 0 ] || exec sleep 600
trap '' TERM
while :; do sleep 600; done
END
control 4 -H node1:2,node2:2 ./rank

# The other run: as the user would start it, with the same words.
mkdir other
MUSTER_TEST_TAG=$tag-other muster -H node1:2,node2:2 \
    sh -c 'while [ ! -e other/go ]; do sleep 0.2; done; : >"other/$RANK"' >other/out 2>&1 &
other=$!
test_pids="$test_pids $other"

faulty_start 4 --grace 1 -H node1:2,node2:2 ./rank
since=$(now_ms)
kill -INT "$pid"
finish_within "once: muster returns after the grace," 2.5
ended 130
ok "once: the others were told at once" json_says end.json \
    'all(r["signal"] == 15 for r in d["results"][1:])'
ok "... and the deaf one killed" json_says end.json 'd["results"][0]["signal"] == 9'
says 'interrupted: stopping everything \(KILL after 1 s; repeat to kill now\)'

faulty_start 4 --grace 600 -H node1:2,node2:2 ./rank
kill -INT "$pid"
ok "the second: a hint first" wait_for 5 grep -q 'repeat to kill now' err
since=$(now_ms)
kill -INT "$pid"
finish_within "twice: everything is killed" 1
ended 130

# Agents that cannot answer: nothing is left to do but to leave.
faulty_start 4 --grace 600 -H node1:2,node2:2 ./rank
stopped=$(agents)
# shellcheck disable=SC2086
kill -STOP $stopped
kill -INT "$pid"
wait_for 5 grep -q 'repeat to kill now' err
kill -INT "$pid"
wait_for 5 grep -q 'repeat to exit at once' err
since=$(now_ms)
kill -INT "$pid"
finish_within "three times: muster leaves" 1
is "exit status" "$rc" 130
# shellcheck disable=SC2086
kill -CONT $stopped
ok "... and the nodes clean up by themselves" clean_within 10
: >other/go
ok "the other run ended well" wait "$other"
is "... all of it, without a word" "$(ls other | tr '\n' ' ')$(cat other/out)" "0 1 2 3 go out "

# Once, as a terminal does it: to the whole process group, while the run begins.
bad=
for tenths_ms in $(seq 0 5 300); do
    start setsid muster -H node1:1,node2:1,node3:1,node4:1 sleep 600
    time_passes "0.$(printf %04d "$tenths_ms")"
    wait_for 5 kill -INT "-$pid" 2>/dev/null
    finish_run 5
    # Nothing but what ends the run, and no complaint.
    [ "$rc" = 130 ] && no_leftovers && ! grep -Eq 'killing|failed' err || bad="$bad $tenths_ms"
done
is "at any time of the start: 130, stopped once, and nothing is left" "$bad" ""

# While the agent is being pushed: what stores it on the node is gone before muster is, which waits
# five seconds for that, and then leaves anyway.
ended_cleanly() {
    echo "# exit status $rc, $took ms after Ctrl-C"
    [ "$rc" = 130 ] && { no_leftovers || { [ "$took" -ge 5000 ] && wait_for 10 nothing_left; }; }
}
if [ -n "$world" ] && need_sshd >/dev/null; then
    world_nodes 2
    bad=
    for attempt in $(seq 10); do
        rm -rf "$nodes_dir"/node[12]/home/.cache
        start muster -v sleep 600
        wait_for 20 grep -q 'pushing the agent' err
        since=$(now_ms)
        kill -INT "$pid"
        finish_run 10
        took=$(($(now_ms) - since))
        ended_cleanly || bad="$bad $attempt"
    done
    is "while the agent is pushed: 130, and nothing is left" "$bad" ""
    ok "... nor a part of it, nor other places for it" oracle
else
    skip "while the agent is pushed" "needs root and sshd"
fi
finish
