#!/bin/sh
# Row 18: SIGKILL to all of muster's processes on a node at once. A PID namespace takes everything
# with it; without one the ranks themselves still go, since the kernel kills them with their parent.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

machinery_ranks
machinery_dies pidns,userns 100 'echo $agent; guard_of $agent'
ok "pidns: nothing is left" clean

# What each rank started by itself has nobody any more that could know of it.
rank_does <<'END'
exec sleep 60
END
control 4 -H node1:2,node2:2 ./rank
all_escaped() {
    :
}
machinery_dies subreaper 100 'echo $agent; guard_of $agent'
ok "subreaper: no rank is left" clean
finish
