#!/bin/sh
# muster resume begins with the world that the run had last: as many nodes, those that had a place,
# and the same global batch.
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

# A run of the name that $1 is, of node1 to nodeN.
job() {
    rm -f go
    start muster --grace 1 --reconnect 1 --label host --name "$@"
}

# runs GENERATION HOST... : one rank on each of them, and no others.
runs() {
    world=$1
    shift
    want=$(printf '%s\n' "$@" | sort)
    [ "$(sed -n "s/^\([a-z0-9]*\): generation $world of $# steps.*/\1/p" out | sort)" = "$want" ]
}

# status_says NAME TEXT: the world as muster resume will find it, with who is missing.
status_says() {
    id=$(ls "$HOME/.local/state/muster/runs" | grep -e "-$1\$") || return 1
    json "$HOME/.local/state/muster/runs/$id/status.json" '("%s %d of " % (d["state"], d["generation"]) +
        " ".join(n["host"] + "-" * (not n["is_here"]) for n in d["world"]["nodes"]) +
        ", %d wanted" % d["world"]["target"])' 2>/dev/null | grep -qx "$2"
}

# Kill the launcher of the run, and start it again.
resume() {
    kill -KILL "$pid"
    wait_for 10 is_gone "$pid"
    start muster resume "$1"
}

end_well() {
    touch go
    finish_run 30
    is "it ends well" "$rc" 0
}

{
four=node1:1,node2:1,node3:1,node4:1
echo '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}' >ds.json
job elastic --nnodes 1:4 --grow-interval 0 -H $four ./rank --deepspeed_config=ds.json
ok "an elastic run of four nodes" wait_for 30 runs 0 node1 node2 node3 node4
muster scale --within 0 elastic --nodes 2 >told
ok "... of two" wait_for 30 runs 1 node1 node2
ok "... as muster resume will find" wait_for 10 status_says elastic "running 1 of node1 node2, 2 wanted"
resume elastic
ok "resumed, it has two" wait_for 60 runs 2 node1 node2
is "... and their accumulation steps" "$(grep -c 'generation 2 of 2 steps 4' out)" 2
muster scale --within 0 elastic --nodes 4 >told
ok "... and may grow again" wait_for 30 runs 3 node1 node2 node3 node4
is "... with the steps of the first world" "$(grep -c 'generation 3 of 4 steps 2' out)" 4
end_well

job closed --nnodes 1:3 -H node1:1,node2:1,node3:1 ./rank
ok "an elastic run of three nodes" wait_for 30 runs 0 node1 node2 node3
muster drain --within 0 closed node1 >told
ok "one is to go: it closes up" wait_for 30 runs 1 node2 node3
ok "... which is known" wait_for 10 status_says closed "running 1 of node2 node3, 0 wanted"
resume closed
ok "resumed, it does without that one, too" wait_for 60 runs 2 node2 node3
end_well

job full --spares 1 -H node1:1,node2:1,node3:2 ./rank
ok "two nodes and a spare" wait_for 30 runs 0 node1 node2
muster drain --within 0 full node1 >told
ok "the spare, which is larger, takes a place" wait_for 30 runs 1 node3 node2
ok "... which is known" wait_for 10 status_says full "running 1 of node3 node2, 0 wanted"
resume full
ok "resumed, it has the same nodes, and as many ranks" wait_for 60 runs 2 node3 node2
end_well

job parked --max-wait 100 -H node1:1,node2:1 ./rank
ok "two nodes" wait_for 30 runs 0 node1 node2
muster drain --within 0 parked node1 >told
ok "without a spare it waits" wait_for 30 status_says parked 'restarting 1 of node1- node2, 0 wanted'
resume parked
ok "resumed, it takes the host that was to go: there is no other" wait_for 60 runs 2 node1 node2
kill -KILL "$pid"
wait_for 10 is_gone "$pid"
id=$(ls "$HOME/.local/state/muster/runs" | grep -e '-parked$')
python3 - "$HOME/.local/state/muster/runs/$id/status.json" <<'END'
import json, sys
status = json.load(open(sys.argv[1]))
status["world"] = {"nodes": [{"host": "node1"}, {"host": "node1", "ranks": -1}, 7], "batch": {}}
json.dump(status, open(sys.argv[1], "w"))
END
start muster resume parked
ok "a broken file says nothing: as at first" wait_for 60 runs 3 node1 node2
end_well
ok "nothing is left" no_leftovers
}
finish
