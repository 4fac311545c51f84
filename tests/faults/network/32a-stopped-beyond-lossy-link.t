#!/bin/sh
# Beside row 32: behind a link that loses packets an agent is stopped. Its machine acknowledges what
# muster sends, and the link is bad: that gives the node twice the lease, but not more.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

has_lost() {
    [ "$(grep -c lost line)" -gt 5 ]
}

agent_on() {
    for process in $(run_on "$1"); do
        [ "$(name_of "$process")" != muster-agent ] || { echo "$process"; return; }
    done
}

world_control 2 wait
lossy_line 2 32
rm -f go
faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after 8 ./rank
agent=$(agent_on node2)
: >bad
ok "packets are lost" wait_for 10 has_lost
kill -STOP "$agent"
since=$(now_ms)
finish_within "muster returns" 30
is "exit status" "$rc" 69
# ... by the kernel, when the lease is over there, and muster may hear of that while the link is bad;
# or a new connection does not find it then.
killed="muster-agent was killed by SIGKILL|the run's agent is no longer there"
killed="$killed|muster-agent received no answer in time"
says "node2 +running +(nothing heard for (8|9|1[0-7]) s|$killed)"
rm bad
kill -CONT "$agent" 2>/dev/null
ok "once the agent is continued, nothing is left" clean_within 10
finish
