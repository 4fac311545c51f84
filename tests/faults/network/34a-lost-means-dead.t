#!/bin/sh
# Beside row 34: when muster says that a node is lost, nothing of the run is alive there, though its
# ranks ignore TERM and --grace is long: after a line that is cut in one direction only, and after
# a whole node was stopped.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
rank_does <<'END'
[ "$RANK" -lt 2 ] || trap '' TERM
exec sleep 100
END
control 4 ./rank

# lost_run LEASE
lost_run() {
    faulty_start 4 --heartbeat "$(($1 / 4))" --dead-after "$1" --grace 30 ./rank
    on_node2=$(run_on node2)
    ok "node2 has an agent, a guard and ranks" test "$(echo "$on_node2" | wc -l)" -ge 4
}

node2_is_empty() {
    for process in $on_node2; do
        is_gone "$process" || return 1
    done
}

# lost WHAT LEASE: muster says so before half a lease more is over.
lost() {
    finish_within "$1: muster returns after the lease and 3 s," "$(($2 + 3)).5"
    ok "$1: nothing of the run is left on node2 when it does" node2_is_empty
    says "node2 +running +nothing heard for ($(seq -s '|' "$2" "$(($2 * 3 / 2 - 1))")) s"
    is "exit status" "$rc" 69
}

# one_way WHAT LEASE COMMAND: COMMAND add and COMMAND del a route that leads nowhere.
one_way() {
    lost_run "$2"
    since=$(now_ms)
    "$3" add
    lost "$1" "$2"
    "$3" del
    ok "nothing is left" clean
}

from_muster() {
    ip route "$1" blackhole "$(node_address 2)/32"
}

to_muster() {
    on_node node2 ip route "$1" blackhole 10.99.255.254/32
}

loses() {
    tc qdisc "$1" dev port2 root tbf rate 1kbit burst 16 latency 1ms
}

one_way "nothing leaves for the node" 8 from_muster
one_way "nothing comes from the node" 8 to_muster
# The same when packets are sent and get lost, while those of the node arrive: no packet fits into the
# bucket.
! loses add 2>/dev/null || {
    loses del
    one_way "nothing arrives at the node" 8 loses
}

# Nobody can look after the node before it thaws.
lost_run 4
# shellcheck disable=SC2086
kill -STOP $on_node2
node_cut 2
finish_run 20
is "a node was stopped: exit status" "$rc" 69
since=$(now_ms)
# shellcheck disable=SC2086
kill -CONT $on_node2
ok "... its ranks ignore TERM, but do not live on" wait_for 10 node2_is_empty
now_ms >ended_ms
within "... they are gone" 1 "$since"
node_heal 2
ok "nothing is left" clean
finish
