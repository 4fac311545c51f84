#!/bin/sh
# Row 2: two ranks on two nodes fail 50 ms apart. The first one decides, by time and not by who is
# heard first, and the second is reported too. Nodes have clocks of their own.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need time_namespaces
world_nodes 1
node_ahead node2 2

# Rank 3 fails 50 ms after rank 0, or before it: both wait for the same moment of the clock that
# all nodes of this machine share.
rank_does <<'END'
exec python3 -c '
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
rank, moment = os.environ["RANK"], float(os.environ["MOMENT"])
late = {"0": float(os.environ["LATE0"]), "3": float(os.environ["LATE3"])}.get(rank)
if late is None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(60)
while time.time() < moment + late:
    time.sleep(0.001)
os._exit(3 if rank == "0" else 4)'
END
control 4 ./rank

# In which order: RANK CODE LATE0 LATE3.
ordered() {
    moment=$(python3 -c 'import sys, time; print(time.time() + float(sys.argv[1]))' "$(stretched 0.7)")
    faulty --grace 5 --env MOMENT="$moment" --env LATE0="$3" --env LATE3="$4" ./rank
    is "rank $1 failed first: $2" "$rc $(json end.json 'd["first_failure"]["rank"]')" "$2 $1"
}
# The same answer each time: MUSTER_TEST_WIDE=yes asks a hundred times.
turns=2
[ "${MUSTER_TEST_WIDE:-}" != yes ] || turns=50
for turn in $(seq $turns); do
    ordered 0 3 0 "$(stretched 0.05)"
    ordered 3 4 "$(stretched 0.05)" 0
done
ended 4
says 'rank 3 on node2 failed first: exit 4' 'ended after that:.*rank 0 exit 3'
finish
