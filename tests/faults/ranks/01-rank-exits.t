#!/bin/sh
# Row 1: one rank exits with 7. All others are stopped at once, and its code is the run's.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

four="-H node1:2,node2:2"
rank_does <<'END'
[ "$RANK" != 2 ] || exit 7
exec sleep 1000
END
# shellcheck disable=SC2086
{
control 4 $four ./rank
faulty $four ./rank
}
ended 7
says 'rank 2 on node2 failed first: exit 7'
timed "every other rank was told to stop within 1 s" json_says end.json \
    'all(r["end"] - d["results"][2]["end"] < slow for r in d["results"])'
ok "... by the signal that lets it save its work" json_says end.json \
    'all(r["signal"] == 15 and r["after_stop"] for r in d["results"] if r["rank"] != 2)'
timed "muster returns 0.5 s after the last of them at most" json_says end.json \
    'd["end"] - max(r["end"] for r in d["results"]) < 0.5 * slow'
finish
