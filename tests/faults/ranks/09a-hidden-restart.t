#!/bin/sh
# Row 9a: a rank is killed, with --max-restarts, and each has left a daemon behind that has no
# environment and another name. Nothing of that generation meets the next one, whichever layer
# contains it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# A daemon keeps the lock of its generation.
rank_does <<EOF
exec 9>>alive-\$MUSTER_GENERATION
flock -s 9
if [ "\$MUSTER_GENERATION" = 1 ]; then
    [ "\$RANK" != 0 ] || flock -n alive-0 true || echo "two generations are alive"
    exit 0
fi
"$top_builddir/tests/faults/escape" hidden "$tag" "$PWD/escaped-\$RANK"
while [ "\$(ls escaped-* | wc -l)" -lt 4 ]; do sleep 0.02; done
[ "\$RANK" != 1 ] || kill -KILL \$\$
while :; do sleep 60; done
EOF

# restarts_from LAYERS WORD
restarts_from() {
    layers_missing "$1" && return
    layers "$1"
    rm -f escaped-* alive-*
    faulty -v --grace 1 --max-restarts 1 --restart-delay 0 -H node1:2,node2:2 ./rank
    ok "$2: something stayed behind, on all ranks" test -e escaped-3
    ok "$2: it is what contained the ranks" grep -Eq "node1: containment (userns\+)?$2" err
    says 'generation 1: rank 1 on node1: killed by SIGKILL; .* restart 1 of 1'
    is "$2: none of it meets the next generation" "$(cat out)" ""
    ended 0
    hidden_kill
}

control 4 -H node1:2,node2:2 ./rank
restarts_from pidns,userns pidns
if [ -n "$group_dirs" ]; then
    restarts_from cgroup cgroup
else
    skip "cgroup: nothing of it meets the next generation" "needs root and control groups"
fi
restarts_from subreaper subreaper
finish
