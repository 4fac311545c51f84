#!/bin/sh
# When a connection cannot be made again, the run ends: at once, or after the window, and with both
# reasons. Without its launcher it ends too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

use_sshd 2

start muster --reconnect 0 --grace 1 sh -c 'echo ready; exec sleep 1000'
wait_for 20 lines out 4
break_connection node1
finish_run 20
is "--reconnect 0: a broken connection ends the run: 69" "$rc" 69
ok "... at once, with the reason" grep -q 'node1 *running *connection lost' err
wait_for 20 nothing_left

# shellcheck disable=SC2086
start muster exec --dead-after 30 --reconnect 20 --grace 1 -H node1 -- sh -c \
    'echo ready; exec sleep 1000'
wait_for 20 lines out 1
agent=$(agents)
break_connection node1
wait_for 20 says 1 'node1: reconnected after'
kill -KILL "$agent"
finish_run 20
is "the agent is killed behind the second one: 69" "$rc" 69
ok "... with both reasons" grep -q \
    "node1 *running *muster-agent exited .*; reconnecting: the run's agent is no longer there" err
ok "... nothing is left" wait_for 5 nothing_left

start muster exec --dead-after "$(stretched 2)" --heartbeat 0.5 --reconnect 1 --grace 1 -H node2 -- sh -c \
    'echo ready; exec sleep 1000'
wait_for 20 lines out 1
session=$(session_of node2)
kill -KILL "$(cat "$nodes_dir/node2/pid")"
kill -KILL "$session"
finish_run 20
is "a node whose sshd is gone: 69" "$rc" 69
ok "... with both reasons" grep -q \
    'node2 *running *connection lost: .*; reconnecting: connect: .*refused' err
ok "... and ends its ranks by itself" wait_for 10 nothing_left

# ---- the launcher does not come back ----
start muster --reconnect 1 --dead-after 1000 --grace 1 -H node1:2 sh -c 'trap "" TERM; echo ready; while :; do sleep 60; done'
wait_for 20 lines out 2
since=$(now_ms)
kill -KILL "$pid"
ok "kill -9 of muster: everything ends" wait_for 20 nothing_left
took=$(($(now_ms) - since))
took_at_most "... within a second and the grace" 2.7 "$took"
finish
