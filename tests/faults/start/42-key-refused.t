#!/bin/sh
# Row 42: nodes refuse our key. All of them are in one table, with what was tried and what they
# would take.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 3 sleep
: >nobody
for node in node1 node3; do
    kill "$(cat "$nodes_dir/$node/pid")"
    wait_for 5 is_gone "$(cat "$nodes_dir/$node/pid")"
    echo "AuthorizedKeysFile $PWD/nobody" >"$nodes_dir/$node/sshd_extra"
done
node_start_in_namespace node1 "$(node_address 1)"
node_start_in_namespace node3 "$(node_address 3)"
faulty ./rank
within "muster returns" 20 "$began"
ended 77
says 'node\[1,3\] +authenticate +' '2 of 3 nodes failed; nothing was started' \
    "tried .*$nodes_dir/id" 'publickey'
ok "no rank was started" all_ran 0
finish
