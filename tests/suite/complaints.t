#!/bin/sh
# Claims that muster says nothing hold on a busy machine, and on no other account.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"
. "$here/complaints.sh"

# The messages as the source has them: if one is worded anew, the filter has to be.
says() {
    ok "the source says: $2" grep -q -e "$2" "$top_srcdir/launcher/$1"
}
says node/node_frames.c '"%s: slow: heartbeat round trips of up to %.1f s '
says outcome/report.c '"muster: slow: %s (heartbeat round trips of up to %.1f s; '
says node/liveness.c '"%s: suspect: nothing heard for %.0f s"'
says node/liveness.c '"%s: heard again"'
says run/start_check.c '"%s: %zu %s still running, '
says run/start_check.c '"process of an earlier run is" : "processes of earlier runs are"'

cat >err <<'END'
muster: node1: slow: heartbeat round trips of up to 1.5 s (node, network or this machine overloaded?)
muster: slow: node[1-2] (heartbeat round trips of up to 1.5 s; see --json for all)
muster: node2: suspect: nothing heard for 6 s
muster: node2: heard again
muster: node1: 1 process of an earlier run is still running, for example pid 7 of run x (y)
muster: node1: 2 processes of earlier runs are still running, for example pid 7 of run x (y)
END
is "they are no complaints" "$(complaints)" ""
echo "muster: node2: lost: nothing heard for 15 s" >>err
is "everything else is one" "$(complaints)" "muster: node2: lost: nothing heard for 15 s"
echo "rank 1: it broke" >out
is "... of all files that are named" "$(complaints out err | wc -l)" 2
: >err
is "nothing is nothing" "$(complaints)" ""
finish
