#!/bin/sh
# Row 58: agent and ranks share a control group whose memory runs out. The kernel takes a rank, not
# the agent.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

need world
for dir in $group_dirs; do
    limit=
    [ ! -e "$dir/memory.max" ] || limit=$dir/memory.max
    [ ! -e "$dir/memory.limit_in_bytes" ] || limit=$dir/memory.limit_in_bytes
    [ -z "$limit" ] || break
done
[ -n "$limit" ] || skip_all "no memory controller here"
echo $((128 << 20)) >"$limit"
[ ! -e "${limit%/*}/memory.swap.max" ] || echo 0 >"${limit%/*}/memory.swap.max"

# Small steps in all ranks: none of them is much larger than the others.
rank_does <<'END'
exec python3 -c '
import time
held = []
while True:
    held.append(bytearray(4 << 20))
    time.sleep(0.01)'
END
control 4 -H node1:2,node2:2 ./rank
for turn in 1 2 3; do
    faulty --grace 2 -H node1:2,node2:2 ./rank
    ended 137
    says 'rank [0-3] on node[12] failed first: killed by SIGKILL.*(OOM|out of memory)' \
        'limit 128 MiB'
    says_not 'lost|muster-agent'
done
finish
