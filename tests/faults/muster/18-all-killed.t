#!/bin/sh
# Row 18: SIGKILL to all of muster's processes on a node at once. A PID namespace takes everything
# with it; without one the ranks themselves still go, since the kernel kills them with their parent,
# and what they have started is ended by another agent before muster returns.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

machinery_ranks
if machinery_dies pidns,userns 100 'echo $agent; guard_of $agent'; then
    ok "pidns: nothing is left" clean
    says "cleaned up: node1: nothing of the run was left"
fi

sleeps() {
    pgrep -x sleep >/dev/null
}

# Stopped first: one that outlives the other for a moment would end everything.
all_at_once='guard=$(guard_of $agent); kill -STOP $agent $guard; echo $agent $guard'
machinery_dies cgroup,subreaper 10000 "$all_at_once"
ok "cgroup: nothing is left, nor the group itself" clean
if [ -n "$group_dirs" ]; then
    # Only the control group tells still whose they are.
    rank_does <<EOF
"$top_builddir/tests/faults/escape" hidden "$tag" "$PWD/escaped-\$RANK"
while :; do sleep 60; done
EOF
    control 4 -H node1:2,node2:2 ./rank
    machinery_dies cgroup,subreaper 10000 "$all_at_once"
    ok "cgroup: no daemon without name and environment is left" clean
    says "cleaned up: node1: 4 processes of the run had to be killed"
    machinery_ranks
else
    skip "cgroup: no daemon without name and environment is left" "no control groups here"
fi
machinery_dies subreaper 10000 "$all_at_once"
ok "subreaper: nothing is left" clean
# Two daemons, and the two sleeps of the ranks' shells.
says \
    "cleaned up: node1: 4 processes of the run had to be killed: pid [0-9]+ \((escape|sleep) .*, pid"
ok "... --json has it" json_says end.json \
    "[(n['cleaned']['ended'], n['cleaned']['left']) for n in d['node_failures']] == [(4, 0)]"
ok "... the other node's ranks were told, and ended in order" json_says end.json \
    "all(r['signal'] == 15 and r['after_stop'] for r in d['results'] if r['node'] == 'node2')"

# The same over SSH, and a process of another run of ours, which has its agent.
if [ -n "$world" ] && need_sshd >/dev/null; then
    world_nodes 2
    rm -f escaped-*
    for node in node1 node2; do
        echo "export MUSTER_TEST_CONTAIN=subreaper" >"$nodes_dir/$node/home/.bashrc"
    done
    MUSTER_AGENT=$test_agent
    export MUSTER_AGENT
    start muster -H node2:1 sleep 1000
    other=$pid
    ok "another run" wait_for 20 sleeps
    sleep=$(pgrep -x sleep)
    # With the SSH session the connection is cut, and made again: nobody is there any more.
    for names in muster-agent "sshd sshd-session muster-agent"; do
        rm -f escaped-*
        faulty_start 4 --grace 2 ./rank
        ok "over SSH, $names: every rank has a daemon" wait_for 10 all_escaped
        session=$(pgrep -P "$(cat "$nodes_dir/node1/pid")" | head -n 1)
        victims=$(for process in $(below "$session"); do
            case " $names " in *" $(name_of "$process") "*) echo "$process" ;; esac
        done)
        since=$(now_ms)
        # shellcheck disable=SC2086
        kill -STOP $victims
        # shellcheck disable=SC2086
        kill -KILL $victims
        finish_within "over SSH: muster returns" 10
        is "over SSH: exit status" "$rc" 69
        says "cleaned up: node1: 4 processes of the run had to be killed"
    done
    ok "... and nothing else" test -e "/proc/$sleep"
    kill -INT "$other"
    wait_for 20 is_gone "$other"
    ok "over SSH: nothing is left" clean
    unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
    MUSTER_TRANSPORT="exec"
    export MUSTER_TRANSPORT
else
    skip "over SSH" "needs root and sshd"
fi

# Ranks that have started nothing.
rank_does <<'END'
exec sleep 1000
END
control 4 -H node1:2,node2:2 ./rank
all_escaped() {
    :
}
machinery_dies subreaper 100 'echo $agent; guard_of $agent'
ok "subreaper: no rank is left" clean
finish
