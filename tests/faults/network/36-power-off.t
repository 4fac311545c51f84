#!/bin/sh
# Row 36: a node loses its power: it is gone without a word. 3 s here, 15 by default.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 sleep
faulty_start 4 --heartbeat 0.5 --dead-after "$(stretched 3)" --grace 1 ./rank
since=$(now_ms)
node_cut 2
node2=$(below "$(cat "$nodes_dir/node2/pid")")
# shellcheck disable=SC2086
kill -KILL $node2
finish_within "muster returns" 5.5
ended 69
says 'node2 +running +nothing heard for [0-9]+ s' 'ranks 2-3 fate unknown'
ok "node1's ranks were stopped in order" json_says end.json \
    'all(r["signal"] == 15 for r in d["results"][:2])'
finish
