#!/bin/sh
# Row 50: nodes whose clocks are a day apart. Leases do not notice, and times in the report are
# still those of this machine.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

need time_namespaces
world_nodes 1
rank_does <<'END'
[ "$RANK" != 2 ] || { sleep 2; exit 5; }
exec sleep 100
END
node_ahead node2 2
control 4 ./rank
# Longer than the lease.
faulty --heartbeat 0.3 --dead-after 1 ./rank
ended 5
says 'rank 2 on node2 failed first: exit 5 \(2\.[0-9] s after its start\)'
says_not 'suspect|lost'
ok "start and end are times of this machine" json_says end.json \
    'all(d["start"] - 0.1 <= r["start"] <= r["end"] <= d["end"] + 0.1 for r in d["results"])'
finish
