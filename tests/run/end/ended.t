#!/bin/sh
# A run that is ended by its time, its user or the death of a process of muster: nothing is left.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

four="-H node1:2,node2:2"

# Everything a run may leave behind: children, daemons of their own session, deaf ones.
script_file stubborn <<'END'
#!/bin/sh
trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 100; done' &
(sleep 1000 &)
echo ready
while :; do sleep 100; done
END

all_ready() {
    lines out 4
}

# shellcheck disable=SC2086
{
run muster --timeout 1 --grace 1 $four sleep 1000
is "--timeout: 124" "$rc" 124
ok "... nothing is left" no_leftovers

start muster --grace 20 $four sh -c 'trap "echo stopping; exit 0" TERM; echo ready; while :; do sleep 0.1; done'
wait_for 20 all_ready
kill -INT "$pid"
finish_run 15
is "Ctrl-C: 130" "$rc" 130
is "... every rank got TERM and time for it" "$(grep -c stopping out)" 4
ok "... nothing is left" no_leftovers

start muster --grace 600 $four ./stubborn
wait_for 20 all_ready
kill -INT "$pid"
ok "the user is told what a second Ctrl-C does" wait_for 5 grep -q 'repeat to kill now' err
is "deaf ranks stay during the grace" "$(leftovers | grep -c 'sh ./stubborn')" 4
kill -INT "$pid"
finish_run 15
is "second Ctrl-C kills: 130" "$rc" 130
ok "... nothing is left, daemons included" no_leftovers

start muster --grace 1 $four ./stubborn
wait_for 20 all_ready
kill -TERM "$pid"
finish_run 15
is "SIGTERM to muster: 143" "$rc" 143
ok "... nothing is left" no_leftovers

start muster --grace 1 $four ./stubborn
wait_for 20 all_ready
kill -KILL "$pid"
ok "kill -9 of muster: everything ends" wait_for 30 nothing_left
wait "$pid" 2>/dev/null

start muster --grace 1 $four ./stubborn
wait_for 20 all_ready
agent=$(leftovers | sed -n 's/ .*muster-agent.*//p' | head -n 1)
ok "an agent is found" test -n "$agent" && kill -KILL "$agent"
finish_run 30
is "kill -9 of an agent: 69" "$rc" 69
ok "... its node is named" grep -Eq 'node[12]' err
ok "... everything ends" wait_for 30 nothing_left
}
finish
