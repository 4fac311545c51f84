#!/bin/sh
# Beside row 16: an agent that is stopped, and so neither dead nor alive. Over SSH another agent
# continues it, and without a namespace its guard does. Else its guard ends what it had started,
# unless that is stopped, too; muster sends another agent, which ends what is left.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

ranks_wait
control 4 -H node1:2,node2:2 ./rank

# agent_is_stopped LAYERS WHAT PIDS: SIGSTOP to what the shell expression PIDS prints.
agent_is_stopped() {
    layers_missing "$1" && return
    layers "$1"
    rm -f go escaped-*
    faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after 4 -H node1:2,node2:2 ./rank
    agent=$(agent_of 0)
    # shellcheck disable=SC2046
    kill -STOP $(eval "$3")
    since=$(now_ms)
    finish_within "$1, $2: muster returns" 8
    says 'node1 +running +nothing heard for [4-6] s' \
        "cleaned up: node1: [0-9]+ processes of the run had to be killed: \
pid $agent \(muster-agent "
    ended 69
}

agent_is_stopped pidns,userns "the agent" 'echo $agent'
for layers in pidns,userns subreaper; do
    agent_is_stopped "$layers" "its guard, too" 'echo $agent $(guard_of $agent)'
done

layers subreaper
rm -f go
faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after 6 -H node1:2,node2:2 ./rank
kill -STOP "$(agent_of 0)"
since=$(now_ms)
: >go
finish_within "its guard continues it: muster returns" 6
ended 0

# Below an agent that is given up, what hides from us goes, too.
rank_does <<EOF
"$top_builddir/tests/faults/escape" hidden "$tag" "$PWD/escaped-\$RANK"
while [ ! -e go ]; do sleep 0.2; done
EOF
agent_is_stopped subreaper "hidden daemons" 'wait_for 10 all_escaped && echo $agent $(guard_of $agent)'

# One that runs, and has given up a muster that was stopped: its ranks hear of it, and are gone
# when the lease ends, whatever the grace.
rank_does <<'END'
trap ': >"told-$RANK"; sleep 5; : >"alive-$RANK"; exit 0' TERM
while :; do sleep 0.2; done
END
layers pidns,userns,cgroup,subreaper
faulty_start 2 --grace 20 --heartbeat 0.5 --dead-after 3 -H node1:2 ./rank
ranks=$(pgrep -P "$(guard_of "$(agent_of 0)")")
kill -STOP "$pid"
since=$(now_ms)
for rank in $ranks; do
    wait_for 20 is_gone "$rank"
done
now_ms >ended_ms
within "muster is stopped: the ranks end" 3.5 "$since"
kill -CONT "$pid"
finish_run 30
ended 69
says 'muster-agent received no answer in time and killed its ranks \(was muster stopped'
ok "... by TERM first" test -e told-0 -a -e told-1 -a ! -e alive-0 -a ! -e alive-1

# Over SSH, where muster tries to come back to it first.
if [ -n "$world" ] && need_sshd >/dev/null; then
    ranks_wait
    world_nodes 2
    rm -f go
    faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after "$(stretched 4)" ./rank
    # shellcheck disable=SC2046
    kill -STOP $(run_on node1 | while read -r pid; do
        [ "$(name_of "$pid")" != muster-agent ] || echo "$pid"
    done)
    since=$(now_ms)
    : >go
    finish_within "over SSH: another agent continues it, and muster returns" 9
    says 'node1: reconnected after'
    ended 0
else
    skip "over SSH" "needs root and sshd"
fi
finish
