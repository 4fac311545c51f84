#!/bin/sh
# --include, --exclude and the counts take of the hosts what DeepSpeed takes.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/start/plan.sh"

is "slots of one host" "$(filter -i worker-1:0,2)" "worker-1:0,2"
is "slots are sorted and merged" "$(filter -i worker-1:2,0@worker-1:0)" "worker-1:0,2"
is "order is the hostfile's" "$(filter -i worker-1:0@worker-0:1)" "worker-0:1 worker-1:0"
is "a bare host is all its slots" "$(filter -i worker-0)" "worker-0:0,1,2,3"
is "a bare host beside slots" "$(filter -i worker-0@worker-1:0,2)" "worker-0:0,1,2,3 worker-1:0,2"
is "exclude a slot" "$(filter -e worker-1:0)" "worker-0:0,1,2,3 worker-1:1,2,3"
is "exclude a host" "$(filter -e worker-0)" "worker-1:0,1,2,3"
for bad in '-i worker-1:9' '-i jeff' '-i jeff:0' '-e jeff' '-e worker-1:4' '-e worker-0@worker-1' \
    '-i worker-0:' '-i worker-0:0,' '-i worker-0:a' '-i worker-0:0-2' '-i worker-0:0:1' '-i @' \
    '-i worker-0 -e worker-1' '-i worker-0 --num_nodes=1' '-i worker-0 --num_nodes=0' \
    '-e worker-0:1 --num_gpus=1'; do
    # shellcheck disable=SC2086
    is "refused: $bad" "$(filter $bad)" "exit 2"
done
is "num_nodes" "$(filter --num_nodes 1)" "worker-0:0,1,2,3"
is "... of a run that may continue with others" "$(filter --num_nodes 1 --max-restarts 1)" \
    "worker-0:0,1,2,3"
is "... with -np" "$(filter --num_nodes 1 -np 5 --max-restarts 1)" "exit 2"
is "more nodes than there are, that may restart" "$(filter --num_nodes=9 --max-wait=1m)" "exit 2"
is "no nodes, that may restart" "$(filter --num_nodes=0 --max-restarts 1)" "exit 2"
is "more nodes than there are" "$(filter --num_nodes=9)" "exit 2"
ok "... says how many there are" grep -q -- '--num_nodes 9: there are only 2' err
is "no nodes" "$(filter --num_nodes=0)" "exit 2"
is "no GPUs" "$(filter --num_gpus=0)" "exit 2"
ok "... says so" grep -q -- '--num_gpus 0 leaves nothing to run on' err
is "num_gpus replaces the slots" "$(filter --num_gpus=2)" "worker-0:0,1 worker-1:0,1"
is "num_accelerators is the same" "$(filter --num_accelerators=1)" "worker-0:0 worker-1:0"
is "-np takes the first slots" "$(filter -np 5)" "worker-0:0,1,2,3 worker-1:0"
finish
