#!/bin/sh
# Row 45a: all ranks start again, and on one node the working directory has gone meanwhile. The node
# is not lost: muster says what it lacks, and another node takes its place. Where there is none, it
# is tried once more (this needs 30 s, and MUSTER_TEST_WIDE=yes), and then the run ends.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 3
rank_does <<END
while [ ! -e $PWD/go ]; do sleep 0.2; done
END
mkdir -p data/deep empty
restarts="--max-restarts 2 --restart-on killed,memory --restart-delay 0 --grace 1"
: >go
control 4 --nnodes 2 $restarts --cwd "$PWD/data/deep" "$PWD/rank"
rm go
gone='could not start its ranks \(cannot enter the working directory .*/data/deep'

faulty_start 4 --nnodes 2 $restarts --cwd "$PWD/data/deep" "$PWD/rank"
on_node node2 mount --bind "$PWD/empty" "$PWD/data"
rank_kill 3
ok "another node takes its place" wait_for 30 all_ran 4
says "node node2 $gone.*No such file" 'node3 takes its place'
says_not 'node2 lost'
: >go
finish_run 30
ended 0
on_node node2 umount "$PWD/data"

if [ "${MUSTER_TEST_WIDE:-}" = yes ]; then
    rm go
    faulty_start 4 -H node1:2,node2:2 $restarts --cwd "$PWD/data/deep" "$PWD/rank"
    on_node node2 mount --bind "$PWD/empty" "$PWD/data"
    rank_kill 3
    ok "it is tried again" wait_for 90 grep -q 'node2: cannot take part now: prepare' err
    finish_run 60
    ended 126
    says "node node2 $gone" 'node2 could not start its ranks, nor could any node' 'muster resume'
fi
finish
