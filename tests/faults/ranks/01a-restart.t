#!/bin/sh
# Row 1a: SIGKILL to a rank of a run with --max-restarts. All ranks start again, also while a
# connection is being made again. Without its agent a node cannot, so that the run waits for it, no
# longer than --max-wait. If muster is killed between two generations, the agents that wait for it
# leave.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# Where no control group counts, a kill for want of memory in any other script is taken for ours.
restarts="--max-restarts 2 --restart-on killed,memory"
world_control 2 wait $restarts
faulty_start 4 --grace 1 --reconnect 10 $restarts --restart-delay 0 ./rank
rank_kill 3
ok "a rank is killed: all start again" wait_for 20 all_ran 4
says 'generation 1: rank 3 on node2: killed by SIGKILL.*; 4 ranks on 2 nodes start again; restart 1 of 2'
session_kill node1
rank_kill 2
ok "... also while a connection is lost" wait_for 30 all_ran 4
says 'node1: connection lost, reconnecting' 'node1: reconnected' 'generation 2: .*; restart 2 of 2'
session_kill node2
ok "it is made again in the last generation, too" wait_for 20 grep -q 'node2: reconnected' err
: >go
finish_run 20
ended 0
ok "--json has them all" json_says end.json \
    '[g["exit_status"] for g in d["generations"]] == [137, 137, 0]'

rm go
faulty_start 4 --grace 1 $restarts --max-wait 1 -H node1:2,node2:2 --transport exec ./rank
kill -KILL "$(agent_of 1)"
finish_run 20
ended 75
says 'node node2 lost .*; waiting for a node, for 1 s at most' 'node2 is missing, and no node took'

faulty_start 4 --grace 1 $restarts --max-wait 1 --restart-delay 5 -H node1:2,node2:2 \
    --transport exec ./rank
rank_kill 1
ok "muster waits before it starts all again" wait_for 20 grep -q 'start again in 5 s' err
kill -KILL "$(agent_of 0)"
finish_run 30
ended 75
says 'a node is missing, and no node took'

faulty_start 4 --grace 1 --reconnect 1 $restarts --restart-delay 300 ./rank
rank_kill 1
ok "muster waits before it starts all again" wait_for 20 grep -q 'start again in 300 s' err
ok "... and none has started" all_ran 0
kill -KILL "$pid"
ok "muster is killed then: the agents leave" clean_within 20
finish
