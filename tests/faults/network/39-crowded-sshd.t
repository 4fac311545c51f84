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
echo 'MaxStartups 10:30:100' >"$nodes_dir/crowd/sshd_extra"
nodes_hosts 1 >"$nodes_dir/hosts"
node_start_in_namespace crowd "$(node_address 1)"
sed -i 's/^Host crowd/Host crowd*/' "$nodes_dir/ssh_config"
use_nodes
unset MUSTER_HOSTFILE
began=$(now_ms)
run muster exec -S -H 'crowd[01-64]' -- echo up
now_ms >ended_ms
ended 0
is "64 of 64 are up" "$(grep -c ': up$' out)" 64
within "all of them" 20 "$began"
ok "sshd did drop connections" grep -q 'drop connection' "$nodes_dir/crowd/sshd.log"
finish
