#!/bin/sh
# muster clean ends what a run leaves if its launcher is killed: agents that are stopped or wait for a
# rank, and ranks without an agent.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

# A stopped agent without a launcher
rank_until_killed
start muster -H node1:2 ./rank
wait_for 20 all_ready
agent=$(leftovers | sed -n 's/ .*muster-agent.*//p' | sort -n | head -n 1)
kill -STOP "$agent"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
clean
is "a stopped agent and its ranks: 1" "$rc" 1
ok "... is listed" row "$agent" "left +agent"
ok "... and they are" grep -Eq "left +process .*/rank" out
clean --kill
is "--kill ends them: 0" "$rc" 0
ok "nothing is left" wait_for 5 nothing_left

# All of muster is killed with only the weakest containment
script_file daemon <<'END'
#!/bin/sh
setsid sleep 1005 &
echo ready
while :; do sleep 0.1; done
END
MUSTER_AGENT=$test_agent MUSTER_TEST_CONTAIN=none start muster -H node1:2 ./daemon
wait_for 20 all_ready
# Stopped first: a guard that outlives its agent for a moment would end them.
muster=$(leftovers | sed -n 's/ .*muster-agent.*//p')
# shellcheck disable=SC2086
kill -STOP $muster
# shellcheck disable=SC2086
kill -KILL "$pid" $muster
wait "$pid" 2>/dev/null
wait_for 5 not pgrep -f '[.]/daemon' >/dev/null
clean
is "daemons of a run that lost all of muster: 1" "$rc $(grep -c 'left .*sleep 1005' out)" "1 2"
clean --kill
is "--kill ends them: 0" "$rc" 0
ok "nothing is left" wait_for 5 nothing_left

# An agent that has lost muster and waits for a deaf rank. Another user listens on a socket like its
# reconnect socket.
start muster --reconnect 0 --grace 60 --dead-after 2 --heartbeat 0.5 -H node1:1 \
    sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
wait_for 20 grep -q ready out
agent=$(pgrep -x muster-agent | sort -n | head -n 1)
deaf=$(pgrep -f 'echo ready' | tail -n 1)
id=$(tr '\0' '\n' <"/proc/$deaf/environ" | sed -n 's/^MUSTER_RUN_ID=//p')
python3 -c '
import os, socket, sys, time
os.setuid(65534)
squatter = socket.socket(socket.AF_UNIX)
squatter.bind("\0muster-" + sys.argv[1] + "-0-0123456789abcdef")
squatter.listen(64)
print("listens", flush=True)
time.sleep(1000)' "$id" >squatter &
test_pids="$test_pids $!"
wait_for 10 grep -q listens squatter
kill -KILL "$pid"
wait "$pid" 2>/dev/null
clean
ok "another user cannot vouch for an agent" row "$agent" "left +agent"
clean --kill
is "... it is ended: 0" "$rc" 0
ok "nothing is left" wait_for 5 nothing_left
finish
