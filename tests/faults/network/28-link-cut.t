#!/bin/sh
# Row 28: the link to a node is cut, both ways. muster declares it lost after --dead-after and stops
# the others; the node ends its ranks by itself. 3 s here, 15 by default.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 sleep
dead_after=$(lease 3)
faulty_start 4 --heartbeat 0.5 --dead-after "$dead_after" --grace 1 ./rank
on_node1=$(run_on node1)
ok "node1 has an agent, a guard and ranks" test "$(echo "$on_node1" | wc -l)" -ge 4
cut_at=$(date +%s.%N)
since=$(now_ms)
node_cut 2
finish_within "muster returns: after the lease," 5.5
ok "... not before" test "$took" -ge 2400
is "exit status" "$rc" 69
says 'node2: suspect: nothing heard' 'node2 +running +nothing heard for 3 s'
node1_is_empty() {
    for process in $on_node1; do
        is_gone "$process" || return 1
    done
}
ok "node1 had nothing left when muster returned" node1_is_empty
timed "node1's ranks were stopped 4 s after the cut at most" json_says end.json \
    "all(r['end'] - $cut_at < 4 * slow for r in d['results'][:2])"
ok "node2 ends its ranks by itself" wait_for 20 nothing_left
now_ms >ended_ms
within "... after the lease and the grace," 7 "$since"
node_heal 2
ok "nothing is left" clean
control 4 ./rank
finish
