#!/bin/sh
# Row 36a: a node loses its power, and the run can go on: a spare takes its place, an elastic world
# closes up, any other waits, but not for ever. No rank of the lost node's generation lives when the
# next one begins.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 3
# A spare may still be looking for its agent when the run ends: its shell reads the end of file.
control_is_clean="clean_within 5"
# A lock on the file of its generation is held as long as a rank of it lives.
rank_does <<'END'
exec 9>>"ran/alive-$MUSTER_GENERATION"
flock -s 9
[ "$RANK" != 0 ] || [ "$MUSTER_GENERATION" = 0 ] || flock -n ran/alive-0 true || echo >ran/two
: >"ran/begun-$MUSTER_GENERATION-$RANK"
while [ ! -e "ran/go-$MUSTER_GENERATION" ]; do sleep 0.2; done
END
begun() {
    [ "$(ls ran | grep -c "begun-$1-")" = "$2" ]
}
# try KIND RANKS NODE ARGUMENTS...: that node loses its power when so many ranks run.
try() {
    kind=$1
    ranks=$2
    lost=$3
    shift 3
    control "$ranks" "$@" ./rank
    ran_reset
    start muster --json end.json --env FAULT=yes --heartbeat 0.5 \
        --dead-after "$(lease "$(stretched 3)")" --grace 1 "$@" ./rank
    ok "$kind: every rank runs" wait_for 30 begun 0 "$ranks"
    node_cut "$lost"
    # shellcheck disable=SC2046
    kill -KILL $(below "$(cat "$nodes_dir/node$lost/pid")") 2>/dev/null
}
# goes_on RANKS: as the next generation, and ends well.
goes_on() {
    ok "$kind: $1 ranks go on" wait_for 30 begun 1 "$1"
    : >ran/go-1
    finish_run 30
    ended 0
    ok "$kind: no two generations lived at once" not test -e ran/two
    node_heal "$lost"
    node_start_in_namespace "node$lost" "$(node_address "$lost")"
}

try "a spare" 4 2 --spares 1 -H node1:2,node2:2,node3:2
goes_on 4
says 'generation 1: node node2 lost \(.*\); node3 takes its place; 4 ranks on 2 nodes'

try "elastic, and rank 0's node" 6 1 --nnodes 1:3 -H node1:2,node2:2,node3:2
goes_on 4
says 'generation 1: node node1 lost \(.*\); 4 ranks on 2 nodes'

try "waiting" 4 3 --max-wait 2 -H node1:2,node3:2
finish_run 30
ended 75
says 'generation 1: node node3 lost \(.*\); waiting for a node, for 2 s' \
    'node3 is missing, and no node took its place within 2 s .*; muster resume 2.* starts the run'
ok "waiting: nothing has begun again" not begun 1 1
finish
