#!/bin/sh
# muster stop ends a run, and muster tells of one that died.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

# shellcheck disable=SC2086
{
detach $four sleep 1001
first=$id
if need_root >/dev/null && unshare --pid --fork true 2>/dev/null; then
    run unshare --pid --fork muster stop
    is "from another PID namespace it cannot be stopped: 70" "$rc" 70
    ok "... but seen" status_says 'd["exit_status"] is None'
else
    skip "from another PID namespace it cannot be stopped: 70" "needs root and PID namespaces"
fi
detach $four sleep 1001
run muster stop
is "stop asks which of two: 2" "$rc" 2
ok "... and shows them" grep -q "^$first  .* sleep 1001" err
ok "... and stops none" status_says 'd["exit_status"] is None'
run muster stop "$first"
is "stop with a name: 0" "$rc" 0
run muster stop
is "stop of the only one: 0" "$rc" 0
ok "both ended by SIGTERM" status_says 'd["exit_status"] == 143'
ok "nothing is left" no_leftovers
run muster stop "$id"
is "a run that is over stays so: 0" "$rc" 0
run muster attach
is "nothing to attach to: 2" "$rc" 2
ok "... and what there is" grep -q "^$id  .* ended 143" err
detach --grace 60 -H node1:1 sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
ok "the rank is deaf" wait_for 10 grep -q deaf "$kept/stdout"
start muster stop
ok "stop waits for the grace" wait_for 10 grep -q Terminated "$kept/stderr"
MUSTER_TEST_TAG=$tag muster stop >stop2
finish_run 20
is "a second one kills" "$rc $(cat out)" "0 $id has ended"
start muster $four sleep 1002
ok "a run in the foreground" wait_for 10 sh -c 'muster status | grep -Eq "running .* sleep 1002"'
MUSTER_TEST_TAG=$tag muster stop >stop2
finish_run 20
is "... is stopped as well" "$rc" 143

# ---- another signal ----
detach -H node1:2,node2:1 sh -c 'trap "echo took it" USR1; echo ready; while :; do sleep 0.1; done'
ok "three ranks are ready" wait_for 10 lines "$kept/stdout" 3
run muster kill -s USR1 "$id"
is "muster kill -s USR1: 0" "$rc $(cat out)" "0 signal 10 was sent to the ranks on 2 nodes"
ok "... each rank has got it" wait_for 10 lines "$kept/stdout" 6
is "... and only that" "$(sed 's/.*: //' "$kept/stdout" | sort | uniq -c | xargs)" "3 ready 3 took it"
run muster kill -USR1 "$id"
ok "muster kill -USR1, as kill(1) has it, is the same" wait_for 10 lines "$kept/stdout" 9
run muster kill "$id"
is "muster kill stops a run: 0" "$rc $(cat out)" "0 $id has ended"
run muster kill -s USR1 "$id"
is "no signal to a run that is over: 2" "$rc" 2
ok "... says so" grep -q "$id is not running" err

detach -q $four sh -c 'echo ready; exec sleep 1004'
ok "four ranks are ready" wait_for 10 lines "$kept/stdout" 4
run muster kill -9 "$id"
is "muster kill -9: 0" "$rc $(cat out)" "0 signal 9 was sent to the ranks on 2 nodes"
ok "... of which they end" wait_for 20 status_says 'd["exit_status"] == 137'
is "... and the report says who has sent it" "$(sed -n 's/^  hint: //p' "$kept/stderr")" \
    "muster kill has sent this signal to all ranks"

# ---- muster itself dies ----
detach -q $four sleep 1003
ok "its ranks are known" wait_for 10 status_says 'len(d["ranks"]) == 4'
kill -KILL "$(launcher)"
ok "its lock tells that it is dead" wait_for 5 status_says 'd["state"] == "died"'
ok "no rank is said to be silent" status_says 'all(r["silent_s"] is None for r in d["ranks"])'
run muster attach "$id"
is "attach: 69" "$rc" 69
ok "... and why" grep -q "$id: muster itself died" err
run muster stop "$id"
is "stop: nothing to do" "$rc" 0
ok "its ranks end" wait_for 20 nothing_left
}
finish
