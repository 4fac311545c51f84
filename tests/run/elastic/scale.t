#!/bin/sh
# muster scale: an elastic run saves and goes on with more nodes or fewer; and it saves before it
# grows because nodes have come, or goes on as it was if they are gone by then.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec

# Rank 0 saves at a notice; what the notice said is in told-GENERATION.
script_file rank <<'END_OF_RANK'
#!/usr/bin/env python3
import json, os, time
env = os.environ
now, notice = env["MUSTER_GENERATION"], env["MUSTER_NOTICE_FILE"]
print("generation", now, "rank", env["RANK"], "of", env["WORLD_SIZE"], flush=True)
while env["RANK"] != "0" or not os.path.exists(notice):
    if os.path.exists("go"):
        raise SystemExit
    time.sleep(0.02)
told = json.load(open(notice))
with open("told-" + now, "w") as file:
    print(told["node"], told["reason"], file=file)
if os.path.exists("save"):
    open("save/latest", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
END_OF_RANK

# runs GENERATION RANKS
runs() {
    [ "$(grep -c "generation $1 rank .* of $2\$" out)" = "$2" ]
}

# shown: the nodes and ranks of the run in muster status, in its own line and in that of all runs.
shown() {
    muster status job | sed -n 's/, launched on.*//p'
    muster status | awk '/-job / { print $(NF - 2), $(NF - 1) }'
}
shows() {
    [ "$(shown | tr '\n' ';')" = "nodes: $1, ranks: $2;$1 $2;" ]
}

# scale WORDS...: what muster scale says, and its exit status.
scale() {
    said=$(muster scale "$@" 2>&1) && rc=0 || rc=$?
    echo "$rc ${said#*: [0-9]*-job: }"
}


{
mkdir save
start muster -v --grace 1 --label none --ckpt-marker 'save/late*' --name job --nnodes 1:3 --num_nodes 2 \
    -H node1:1,node2:1,node3:1,node4:1 ./rank
ok "a run of two nodes" wait_for 30 runs 0 2
is "more than MAX: refused, with what may be" "$(scale job --nodes 4)" \
    "2 4 nodes are more than --nnodes allows; allowed: 1, 2, 3"
is "it keeps its size" "$(scale job --nodes 2)" "0 it has 2 nodes, and keeps that number"
is "three nodes" "$(scale job --nodes 3)" "0 from 2 to 3 nodes, after a checkpoint within 300 s"
ok "the run grows" wait_for 30 runs 1 3
ok "... as muster status says" wait_for 20 shows 3 3
is "... the ranks were told" "$(cat told-0)" "muster muster scale: 3 nodes"
ok "... it waited for their checkpoint" wait_for 20 grep -Eq 'checkpoint written after .* of 300 s' err
ok "... one line says so" wait_for 20 grep -q 'generation 1: muster scale: 3 nodes; 3 ranks on 3 nodes' err
is "one node" "$(scale --within 200 job --nodes 1)" \
    "0 from 3 to 1 nodes, after a checkpoint within 200 s"
ok "the run shrinks" wait_for 30 runs 2 1
is "... the ranks knew which nodes go" "$(cat told-1)" "node[2-3] muster scale: 1 node"
ok "... and those have left" wait_for 30 grep -q 'node2: done -> ended' err
touch go
finish_run 30
is "it ends well" "$rc" 0
ok "... with the size that muster status shows" shows 1 1
is "a run that is over has no size: 2" "$(scale job --nodes 2 | cut -c 1)" 2
ok "nothing is left" no_leftovers

rm -r go told-* save
printf 'node1 slots=1\n' >hosts
start muster -v --grace 2 --label none --nnodes 1:2 --grow-interval 0 --name job --hostfile hosts ./rank
ok "a run of one node, without --ckpt-marker" wait_for 30 runs 0 1
printf 'node1 slots=1\nnode2 slots=1\n' >hosts.new
mv hosts.new hosts
ok "a host comes: the run grows" wait_for 30 runs 1 2
is "... the ranks were told before" "$(cat told-0)" \
    "muster more nodes are available: the world grows"
ok "... and had --grace" wait_for 20 grep -q 'the next generation starts after a checkpoint, in 2 s' err
ok "... of which nobody knows what came" wait_for 20 grep -q \
    'it is not known whether a checkpoint was written' err
touch go
finish_run 30
is "it ends well" "$rc" 0
rm go

rm told-*
printf 'node1 slots=1\n' >hosts
start muster -v --grace 2 --label none --nnodes 1:2 --grow-interval 0 --name job --ckpt-marker \
    'save/late*' --hostfile hosts ./rank
ok "a run of one node, with --ckpt-marker" wait_for 30 runs 0 1
printf 'node1 slots=1\nnode2 slots=1\n' >hosts.new
mv hosts.new hosts
ok "a host comes" wait_for 30 test -s told-0
printf 'node1 slots=1\n' >hosts.new
mv hosts.new hosts
ok "... and goes before they have saved" wait_for 30 grep -q 'node2: done -> ended' err
mkdir save
: >save/latest
ok "the run goes on as it was" wait_for 30 \
    grep -q 'the world grows: not now, since the next generation would have the same nodes' err
touch go
finish_run 30
is "... to its end" "$rc $(cat out)" "0 generation 0 rank 0 of 1"
rm -r go save

start muster --label none --max-restarts 1 --name job -H node1:1,node2:1 ./rank
ok "a run of a fixed size" wait_for 30 runs 0 2
is "... is not scaled: 2" "$(scale job --nodes 1)" "2 its number of nodes is fixed; only a run that was \
started with --nnodes MIN:MAX or --recovery elastic can be scaled"
touch go
finish_run 30
is "it ends well" "$rc" 0
is "how many?" "$(scale job)" \
    "2 muster: error: which run, how many nodes? muster scale [OPTIONS] RUN --nodes N"
ok "nothing is left" no_leftovers
}
finish
