#!/bin/sh
# Row 39: an sshd that drops connections when many come at once. All nodes come up anyway.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need world
need sshd
nodes_prepare
nodes_bridge
node_files crowd
node_wire crowd 1
# Three of ten are dropped, however many handshakes a slow machine has at a time.
echo 'MaxStartups 10:30:1000' >"$nodes_dir/crowd/sshd_extra"
nodes_hosts 1 >"$nodes_dir/hosts"
node_start_in_namespace crowd "$(node_address 1)"
sed -i 's/^Host crowd/Host crowd*/' "$nodes_dir/ssh_config"
use_nodes
unset MUSTER_HOSTFILE
# Ten that never log in: from then on sshd drops connections, however fast it is.
python3 -c 'import socket, sys, time
held = [socket.create_connection((sys.argv[1], int(sys.argv[2]))) for _ in range(10)]
print(*[s.recv(4) for s in held], flush=True)
time.sleep(1000)' "$(node_address 1)" 22 >held &
holder=$!
test_pids="$test_pids $holder"
wait_for 20 test -s held
began=$(now_ms)
run muster exec -S -H 'crowd[01-64]' -- echo up
now_ms >ended_ms
kill "$holder"
wait "$holder" 2>/dev/null || :
ended 0
is "64 of 64 are up" "$(grep -c ': up$' out)" 64
within "all of them" 20 "$began"
ok "sshd did drop connections" grep -q 'drop connection' "$nodes_dir/crowd/sshd.log"
finish
