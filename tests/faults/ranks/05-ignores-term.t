#!/bin/sh
# Row 5: a rank ignores SIGTERM. It gets SIGKILL when the grace is over: not before, not long after.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<'END'
trap '' TERM
[ "$RANK" != 0 ] || while [ ! -e fail ]; do sleep 0.2; done
[ "$RANK" != 0 ] || exit 9
while :; do sleep 60; done
END
rm -f fail
control 4 -H node1:2,node2:2 ./rank
faulty_start 4 --grace 2 -H node1:2,node2:2 ./rank
: >fail
finish_run 30
ended 9
ok "the deaf ones were killed 2 s after" json_says end.json \
    'all(1.9 <= r["end"] - d["results"][0]["end"] for r in d["results"][1:])'
timed "... not later" json_says end.json \
    'all(r["end"] - d["results"][0]["end"] <= 2 + 0.5 * slow for r in d["results"][1:])'
ok "... by SIGKILL" json_says end.json 'all(r["signal"] == 9 for r in d["results"][1:])'
says 'rank 0 on node1 failed first: exit 9' 'ranks 1-3 by SIGKILL'
finish
