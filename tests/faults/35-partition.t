#!/bin/sh
# Row 35: two nodes cannot reach each other, but muster reaches both. At the start that is an error
# that says so; in the middle of a run it is no reason to end it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

world_nodes 2
rank_does <<'END'
while [ ! -e go ]; do sleep 0.05; done
END
rm -f go
control 4 ./rank
part() {
    on_node node1 ip route "$1" blackhole "$(node_address 2)/32"
    on_node node2 ip route "$1" blackhole "$(node_address 1)/32"
}
faulty_start 4 --heartbeat 0.3 --dead-after 1.5 ./rank
part add
# Longer than the lease.
time_passes 2.5
: >go
finish_run 20
ended 0
is "nothing was said" "$(cat err)" ""
faulty ./rank
ended 68
says 'no address of node1 is reached.*not node2.*firewall'
ok "no rank was started" all_ran 0
part del
control 4 ./rank
finish
