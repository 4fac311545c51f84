#!/bin/sh
# Row 58: agent and ranks share a control group whose memory runs out. The kernel takes a rank, not
# the agent.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need world
world_memory 128

# Small steps in all ranks: none of them is much larger than the others.
rank_does <<'END'
cat /proc/self/oom_score_adj >"adj-$RANK"
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
is "the kernel was asked to take ranks first" "$(sort -u adj-*)" 500
finish
