#!/bin/sh
# Row 34: the link is cut for longer than the lease, and heals. The node has ended its ranks before
# muster gave it up for good; nothing of the old run is there when the next one begins.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
# Start and end of every rank, on the clock that all share.
rank_does <<'END'
stamp() { read -r up _ </proc/uptime; echo "$1 $RUN $RANK ${up%.*}${up#*.}0" >>"$STAMPS"; }
stamp start
trap 'stamp end; exit 0' TERM
[ "$RUN" != second ] || { stamp end; exit 0; }
while :; do sleep 60 & wait; done
END
stamps=$PWD/stamps
control 4 --env STAMPS="$stamps" --env RUN=none ./rank
: >stamps
faulty_start 4 --heartbeat 0.5 --dead-after "$(lease 3)" --grace 2 --env STAMPS="$stamps" \
    --env RUN=first ./rank
node_cut 2
finish_run 20
returned=$(now_ms)
is "exit status" "$rc" 69
ok "the cut node ends its ranks by itself" wait_for 10 nothing_left
node_heal 2
faulty --env STAMPS="$stamps" --env RUN=second ./rank
is "the next run on the same nodes" "$rc" 0
ok "all ranks of both runs have said when they ended" lines stamps 16
last=$(sed -n 's/^end first [0-9]* //p' stamps | sort -n | tail -n 1)
first=$(sed -n 's/^start second [0-9]* //p' stamps | sort -n | head -n 1)
ok "none of the first was alive when the second began" test "$last" -lt "$first"
ok "the cut node had ended its ranks before muster returned" test "$last" -le "$returned"
ok "nothing is left" clean
finish
