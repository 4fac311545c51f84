#!/bin/sh
# Row 47: nodes take their own names for 127.0.1.1, as Debian sets them up. MASTER_ADDR is an
# address that the others reach even so.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
rank_does <<'END'
echo "$MASTER_ADDR $(getent ahostsv4 "$(hostname)" | sed -n '1s/ .*//p')"
END
sed -i 's/exit 0$/:/' rank
for node in node1 node2; do
    { echo "127.0.0.1 localhost"; echo "127.0.1.1 $node"; } >"$nodes_dir/$node/hosts"
    on_node $node mount --bind "$nodes_dir/$node/hosts" /etc/hosts
done
faulty --label none ./rank
ended 0
is "MASTER_ADDR, and what the name says" "$(sort -u out)" "$(node_address 1) 127.0.1.1"
ok "every rank ran" all_ran 4
finish
