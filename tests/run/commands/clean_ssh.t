#!/bin/sh
# muster clean over SSH: a node that does not answer, and an agent that has lost its SSH session.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

use_sshd 1

# One node does not answer
cat >>"$nodes_dir/ssh_config" <<END
Host nowhere
    HostName 127.0.0.1
    Port 1
END
stale sleep 1007
unset MUSTER_HOSTFILE
run muster clean --kill --grace 1 -H node1:1,nowhere:1
is "a node that does not answer: 68" "$rc" 68
ok "... and the other one is cleaned" is_gone "$stale"

rank_until_killed
# A run whose SSH session was killed, and which has its launcher back: its agent has lost its
# parent for good.
start muster --reconnect 10 -H node1:2 "$PWD/rank"
wait_for 20 all_ready
agent=$(pgrep -x muster-agent | sort -n | head -n 1)
kill -KILL "$(ps -o ppid= -p "$agent" | tr -d ' ')"
ok "a run is reconnected" wait_for 20 grep -q "node1: reconnected" err
cp out out.run
cp err err.run
ok "... and its agent an orphan" test "$(ps -o ppid= -p "$agent" | tr -d ' ')" = 1
launcher=$pid
run muster clean --kill --grace 1 -H node1:1
is "... it continues: 0" "$rc" 0
ok "... and is shown so" grep -Eq '^node1 +running +run' out
ok "... its agent is there" alive "$agent"
kill -INT "$launcher"
wait_for 20 is_gone "$launcher"
ok "nothing is left" no_leftovers
finish
