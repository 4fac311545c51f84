#!/bin/sh
# Row 7: a rank exits well and leaves a child behind, as data loaders do.
# None of it outlives the run, whichever layer contains it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

rank_does <<END
[ "\$RANK" != 1 ] || exec "$top_builddir/tests/faults/escape" child "$tag" "$PWD/escaped"
END
control 4 -H node1:2,node2:2 ./rank
for layer in pidns cgroup subreaper; do
    [ "$layer" != cgroup ] || [ -n "$group_dirs" ] || {
        skip "$layer: nothing is left" "needs root"
        continue
    }
    layers "$layer"
    rm -f escaped
    faulty -v -H node1:2,node2:2 ./rank
    ok "$layer: something stayed behind" test -e escaped
    ok "$layer: it is what contained the ranks" grep -q "node1: containment $layer" err
    ended 0
    ok "$layer: muster returned 2.5 s after the last rank's end at most" json_says end.json \
        'd["end"] - max(r["end"] for r in d["results"]) < 2.5'
done
finish
