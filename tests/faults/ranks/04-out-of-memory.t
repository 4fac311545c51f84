#!/bin/sh
# Row 4: the kernel kills a rank that needs more memory than its control group has. The report
# brings the evidence.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need world
world_memory 64

# The kernel takes the largest, as a rule; on a loaded machine it took another one besides.
rank_does <<'END'
[ "$RANK" = 1 ] || exec sleep 1000
echo 1000 >/proc/self/oom_score_adj
exec python3 -c 'bytearray(128 << 20)'
END
control 4 -H node1:2,node2:2 ./rank
faulty -H node1:2,node2:2 ./rank
ended 137
says 'rank 1 on node1 failed first: killed by SIGKILL.*(OOM|out of memory)' 'oom_kill [0-9]+.+[0-9]+' \
    'limit 64 MiB'
ok "... in --json too" json_says end.json '"oom_kill" in d["results"][1]["oom"]'
ok "... and not once more, from the kernel's log" \
    not grep -qE '^muster: node(1|\[1-2\]): kernel, .*ran out of memory' err
ok "only that rank was hit" json_says end.json \
    'all(r["after_stop"] for r in d["results"] if r["rank"] != 1)'
timed "the others were stopped within 1.5 s" json_says end.json \
    'all(r["end"] - d["results"][1]["end"] < 1.5 * slow for r in d["results"])'

# A container may see its own group at the top of the hierarchy, and read its path from outside.
case $dir in
*/memory/*) top=/sys/fs/cgroup/memory ;;
*) top=/sys/fs/cgroup ;;
esac
mount --bind "$dir" "$top"
faulty -H node1:2,node2:2 ./rank
umount "$top"
ended 137
says 'rank 1 on node1 failed first: killed by SIGKILL.*(OOM|out of memory)' 'limit 64 MiB'
finish
