#!/bin/sh
# Row 35: two nodes cannot reach each other, but muster reaches both. At the start that is an error
# that says so; in the middle of a run it is no reason to end it, but when ranks then wait for each
# other for --hang-timeout, the report names the pair.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 3 wait
# By routes: an error at once.
part() {
    on_node node1 ip route "$1" blackhole "$(node_address 2)/32"
    on_node node2 ip route "$1" blackhole "$(node_address 1)/32"
}
# By the bridge between them: silence.
isolate() {
    bridge link set dev port1 isolated "$1" && bridge link set dev port2 isolated "$1"
}
faulty_start 6 --heartbeat "$(stretched 0.3)" --dead-after "$(stretched 1.5)" ./rank
part add
# Longer than the lease.
time_passes "$(stretched 2.5)"
: >go
finish_run 20
ended 0
is "nothing was said" "$(cat err)" ""
faulty ./rank
ended 68
says 'no address of node1 is reached.*not node2.*firewall'
ok "no rank was started" all_ran 0
part del
control 6 ./rank

# Ranks that wait for each other.
rank_does <<'END'
exec sleep 1000
END
hangs() {
    faulty_start 6 --heartbeat 0.3 --hang-timeout 2 --grace 1 ./rank
    since=$(now_ms)
    "$@"
    finish_within "$*: it ends" 20
    is "... with 124" "$rc" 124
    ok "... and nothing is left" clean
}
hangs true
says 'hang: no output' 'muster: all 3 nodes can reach each other$'
ok "--json knows of no pair" json_says end.json 'd["unreached"] == []'
hangs part add
a=$(node_address 1)
b=$(node_address 2)
says "^muster: node1 and node2 cannot reach each other \($a -> $b: the route there is a black hole\)" \
    '[|] ranks? [0-9,-]+ on .*node'
is "... and no other pair" "$(grep -c 'not reach' err)" 1
ok "stacks.txt has it too" grep -q 'node1 and node2' "$HOME"/.local/state/muster/runs/*/stacks.txt
ok "... and --json, from both sides" json_says end.json \
    '[(u["from"], u["to"]) for u in d["unreached"]] == [("node1", "node2"), ("node2", "node1")]'
part del
{ isolate on && isolate off; } 2>/dev/null || skip_all "no isolated bridge ports in this kernel"
hangs isolate on
says "node1 and node2 cannot reach each other \($a -> $b: timed out\)"
is "... and no other pair" "$(grep -c 'not reach' err)" 1
finish
