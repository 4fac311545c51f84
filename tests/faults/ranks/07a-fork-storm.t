#!/bin/sh
# Row 7a: a rank forks without end, deaf to all signals, so that nothing is where it was found. It ends
# with its grace even where only the process tree contains it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<EOF
[ "\$RANK" != 1 ] || exec "$top_builddir/tests/faults/escape" storm "$tag" "$PWD/escaped"
EOF
control 2 --no-pidns -H node1:2 ./rank

# storm_from LAYERS: it ends 1 s after Ctrl-C.
storm_from() {
    layers "$1"
    rm -f escaped
    faulty_start 2 --no-pidns --grace 1 -H node1:2 ./rank
    ok "$1: the storm rages" wait_for 10 test -e escaped
    since=$(now_ms)
    kill -INT "$pid"
    finish_within "$1: muster returns" 2.5
    ended 130
    ok "$1: the rank was killed" json_says end.json 'd["results"][1]["signal"] == 9'
    is "$1: it says no more than that" "$(grep -Evc 'interrupted|ended after that: rank' err)" 0
}
storm_from subreaper
storm_from cgroup,subreaper

faulty --no-pidns --grace 0.5 --timeout 1 -H node1:2 ./rank
within "--timeout: muster returns" 3 "$began"
ended 124
finish
