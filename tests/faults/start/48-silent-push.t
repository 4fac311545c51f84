#!/bin/sh
# Row 48: a node falls silent while the agent is pushed to it. What is limited is its silence, not the
# push: on a thin line that may take as long as it needs.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"
nodes_agents= # it is about sending one

run_limit=120
# While the node is cut off muster gives up, and the kernel forgets the connection: only this sshd can
# find out that its client is gone.
mkdir -p "$nodes_dir/node2"
printf 'ClientAliveInterval 5\nClientAliveCountMax 10\n' >"$nodes_dir/node2/sshd_extra"
world_nodes 2
ranks_wait
: >go
limit=$(stretched 1)
agent=$top_builddir/agent/muster-agent

# The push takes three times as long as the node may be silent.
thin_line() {
    bytes_per_s=$(awk -v size="$(stat -c %s "$agent")" -v limit="$limit" \
        'BEGIN { printf "%d", size / (6 * limit) }')
    tc qdisc add dev port2 root tbf rate "$((bytes_per_s * 8))bit" burst 16kb latency 400ms \
        2>/dev/null || skip_all "no tbf in this kernel"
}

forget_agents() {
    rm -rf "$nodes_dir/node1/home/.cache" "$nodes_dir/node2/home/.cache"
}

some_have_come() {
    [ "$(cat "$nodes_dir"/node2/home/.cache/muster/*/.* 2>/dev/null | wc -c)" -gt 300000 ]
}

thin_line
for transport in ssh openssh; do
    if [ "$transport" = ssh ] || [ "${MUSTER_TEST_WIDE:-}" = yes ]; then
        forget_agents
        ran_reset
        run muster --transport "$transport" --connect-timeout "$limit" ./rank
        is "$transport: a push that goes on has no limit: 0" "$rc" 0
        ok "... and every rank ran" all_ran 4
    fi
    forget_agents
    ran_reset
    start muster --transport "$transport" --connect-timeout "$limit" --env FAULT=yes ./rank
    ok "$transport: a part of the agent has come" wait_for 60 some_have_come
    since=$(now_ms)
    node_cut 2
    # With ssh, after what it has taken, and sshd's window.
    finish_within "... muster ends soon after the node is cut off" "$(stretched 16)"
    is "... with 68" "$rc" 68
    says 'node2 +(agent|connect) +' 'the node (fell silent|took no more of the agent)'
    ok "... no rank was started" all_ran 0
    node_heal 2
    ok "... and nothing is left" clean_within 60
done
tc qdisc del dev port2 root
forget_agents
control 4 ./rank
finish
