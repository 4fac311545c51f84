#!/bin/sh
# Beside row 16: an agent that is stopped, and so neither dead nor alive. Its guard ends what it
# had started, whoever else has given it up; once it is continued it leaves, too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

ranks_wait
control 4 -H node1:2,node2:2 ./rank

# Only these are left of the run.
agent_alone() {
    [ "$(leftovers | cut -d' ' -f1 | tr '\n' ' ')" = "$1 " ]
}

agent_is_stopped() {
    layers_missing "$1" && return
    layers "$1"
    rm -f go
    faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after 4 -H node1:2,node2:2 ./rank
    agent=$(agent_of 0)
    kill -STOP "$agent"
    since=$(now_ms)
    finish_within "$1: muster returns" 8
    is "$1: exit status" "$rc" 69
    says 'node1 +running +nothing heard for [4-6] s'
    ok "$1: nothing but the agent is left" wait_for 4 agent_alone "$agent"
    run muster clean -H node1:1
    ok "$1: muster clean shows it" grep -Eq "left +agent +$agent " out
    kill -CONT "$agent"
    ok "$1: once it is continued, nothing at all" clean_within 5
}

agent_is_stopped pidns,userns
agent_is_stopped subreaper
finish
