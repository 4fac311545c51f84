#!/bin/sh
# An elastic run keeps the global batch of its ds_config: worlds that cannot are left out, and the
# ranks get the accumulation steps of those that can.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec

script_file rank <<'END_OF_RANK'
#!/usr/bin/env python3
import os, time
env = os.environ
print("generation", env["MUSTER_GENERATION"], "of", env["WORLD_SIZE"], "steps",
      env.get("MUSTER_GRADIENT_ACCUMULATION_STEPS", "none"), flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
END_OF_RANK

# runs GENERATION RANKS STEPS
runs() {
    [ "$(grep -c "generation $1 of $2 steps $3\$" out)" = "$2" ]
}

# job OPTIONS...: a run of up to four nodes.
job() {
    rm -f go
    start muster --grace 1 --label none --name batch --nnodes 1:4 "$@"
}

four=node1:1,node2:1,node3:1,node4:1
ds=--deepspeed_config=ds.json
{
echo '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,} // 16 on four' >ds.json
job -H $four ./rank $ds
ok "four nodes: the steps of the file" wait_for 30 runs 0 4 2
is "three do not keep it: refused" "$(muster scale batch --nodes 3 2>&1 | sed 's/.*-batch: //')" \
    "3 nodes with 3 ranks: the batch size of its ds_config does not allow that; allowed: 1, 2, 4"
muster drain --within 0 batch node4 >told
ok "without one of them two go on, with twice the steps" wait_for 30 runs 1 2 4
ok "... which is said" wait_for 20 grep -q \
    'generation 1: node node4 leaves .*; 2 ranks on 2 nodes; accumulation steps: 4' err
ok "... and why no more" wait_for 20 grep -q \
    'more nodes are available, but a larger world would not keep the global batch 16' err
muster drain --within 0 batch node1 >told
ok "another one is gone: the third takes part" wait_for 30 runs 2 2 4
touch go
finish_run 30
is "it ends well" "$rc" 0

job --allow-batch-change -H $four ./rank --ds_config ds.json
ok "--allow-batch-change: four nodes" wait_for 30 runs 0 4 2
muster scale --within 0 batch --nodes 3 >told
ok "... and three, with what the file says" wait_for 30 runs 1 3 2
ok "... and a warning" grep -q 'with 3 ranks the global batch changes from 16 to 12' err
touch go
finish_run 30
is "it ends well" "$rc" 0

touch go
echo '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2}' >ds.json
run muster --label none --nnodes 1:3 -H node1:1,node2:1,node3:1 ./rank $ds
is "the first world suits it, too" "$(cat out)" "generation 0 of 2 steps 2
generation 0 of 2 steps 2"
ok "... which is said" grep -q \
    'starting on 2 of 3 nodes: the batch sizes in ds.json suit no larger world' err
run muster --label none --nnodes 3:4 -H node1:1,node2:1,node3:1 ./rank $ds
is "no world suits it: 2" "$rc" 2
ok "... and why" grep -q 'the batch sizes in ds.json do not suit any number of ranks' err
run muster --label none --nnodes 1:3 -H node1:1,node2:1,node3:1 ./rank --deepspeed_config none.json
is "a file that is elsewhere is not checked" "$rc $(grep -c 'steps none' out) \
$(grep -c 'the batch size is not checked: none.json' err)" "0 3 1"
run muster --label none -H node1:1 ./rank $ds
is "a world of a fixed size has what the file says" "$(cat out)" "generation 0 of 1 steps none"
ok "nothing is left" no_leftovers
}
finish
