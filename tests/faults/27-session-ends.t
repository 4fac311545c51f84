#!/bin/sh
# Row 27: the node ends the login session, and with it the agent: SIGTERM or SIGHUP to the agent.
# The report says that, and what can be done.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

rank_does <<'END'
exec sleep 60
END
control 4 -H node1:2,node2:2 ./rank
for signal in TERM HUP; do
    faulty_start 4 --grace 2 -H node1:2,node2:2 ./rank
    since=$(now_ms)
    kill -$signal "$(agent_of 0)"
    finish_within "SIG$signal: muster returns" 1.5
    ended 69
    says "node1 .*agent was killed by session end \(SIG$signal\)" 'hint: node1: .*loginctl'
done
finish
