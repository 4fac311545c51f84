#!/bin/sh
# Row 61: a node that hardly gets any CPU time. It is named, and the run continues.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
rank_does <<'END'
while [ ! -e go ]; do [ "$RANK" -gt 1 ] || sleep 0.05; done
END
rm -f go
control 4 --heartbeat 1.3 ./rank

# Everything on node2 gets 0.4 % of a core, all of it at the beginning of each second: sshd, agent
# and ranks together. A login there would take minutes, so it begins when all ranks run.
slow=$(cpu_group) || skip_all "no cpu controller here"
group_dirs="$group_dirs $slow"
cpu_limit() {
    if [ -e "$slow/cpu.max" ]; then
        echo "$1 1000000" >"$slow/cpu.max"
    else
        echo 1000000 >"$slow/cpu.cfs_period_us"
        echo "$1" | sed 's/max/-1/' >"$slow/cpu.cfs_quota_us"
    fi
}
cpu_limit 4000
faulty_start 4 --heartbeat 1.3 --dead-after 60 ./rank
for process in $(below "$(cat "$nodes_dir/node2/pid")"); do
    echo "$process" >"$slow/cgroup.procs"
done 2>/dev/null
ok "the node is named" wait_for 60 grep -q 'node2: slow: heartbeat round trips of up to' err
ok "the run continues" not is_gone "$pid"
cpu_limit max
: >go
finish_run 60
ended 0
is "it was said once" "$(grep -c 'node2: slow' err)" 1
says 'muster: slow: node2 \(heartbeat round trips of up to [0-9.]+ s'
says_not 'node1|lost|failed'
ok "--json has it too" json_says end.json \
    '[h["node"] for h in d["heartbeats"] if h["slow"]] == ["node2"]'
ok "... in figures" json_says end.json \
    'all((h["p99"] > 1 or not h["slow"]) and 0 < h["p50"] <= h["p99"] <= h["max"]
         and h["count"] > 3 for h in d["heartbeats"])'
finish
