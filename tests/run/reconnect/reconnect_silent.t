#!/bin/sh
# A connection that is there, but silent, is replaced, and its last words are not taken for new ones.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

use_sshd 2

ticks_until_go

start muster exec --label none --heartbeat 0.5 --dead-after 8 -H node1 -- "$PWD/ticks"
wait_for 20 has_grown 100
hung=$(session_of node1)
kill -STOP "$hung"
ok "a session that hangs is given up" wait_for 20 says 1 'node1: reconnected after'
: >go
finish_run 20
kill -KILL "$hung"
is "... exit status 0" "$rc" 0
ok "... the output is complete" output_is_complete
ok "... nothing is left" wait_for 5 nothing_left

# A debugger holds the agent until it is asked to continue over a new connection, which breaks
# before it can answer. It has then let go of the old one, though that brings its last words.
cat >hold.py <<'END'
import ctypes, os, sys, time
SEIZE, INTERRUPT = 0x4206, 0x4207
pid, ptrace = int(sys.argv[1]), ctypes.CDLL(None).ptrace
if ptrace(SEIZE, pid, 0, 0) != 0 or ptrace(INTERRUPT, pid, 0, 0) != 0:
    sys.exit("not allowed here")
while not os.path.exists("release"):
    time.sleep(0.05)
END
is_held() {
    grep -q '^State:.t' "/proc/$1/status"
}
python3 -c 'import time; time.sleep(100)' &
test_pids="$test_pids $!"
: >release
python3 hold.py $! || { skip "a new connection that breaks" "ptrace is restricted here"; finish; }
rm -f go release
start muster exec -vv --label none --heartbeat 1 --dead-after 12 --reconnect 20 -H node1 -- \
    "$PWD/ticks"
wait_for 20 has_grown 100
agent=$(agents)
python3 hold.py "$agent" &
test_pids="$test_pids $!"
wait_for 5 is_held "$agent"
wait_for 20 grep -q 'node1: reconnecting: open' err
socket=$(socket_of "$agent")
ok "the second agent has asked to be let in" wait_for 5 is_waited_at "$socket"
kill -STOP "$(cat "$nodes_dir/node1/pid")"
break_connection node1 --newest
wait_for 20 says 1 'node1: reconnecting: running: connection lost'
: >release
ok "the old connection brings what the agent had sent" wait_for 10 grep -q 'node1: heard again' err
kill -CONT "$(cat "$nodes_dir/node1/pid")"
ok "... and is given up anyway" wait_for 20 says 1 'node1: reconnected after'
is "... not only when it is silent again" "$(grep -c 'node1: suspect' err)" 1
: >go
finish_run 20
is "... exit status 0" "$rc" 0
ok "... the output is complete" output_is_complete
ok "... nothing is left" wait_for 5 nothing_left
finish
