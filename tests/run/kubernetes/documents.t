#!/bin/sh
# muster k8s controller makes jobs of custom resources, tells their status and goes with them. The API
# server is one in memory, which kubernetes.t compares with a real one.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

program=$top_builddir/tests/run/kubernetes/muster-k8s
need_program() {
    [ -x "$program" ] || { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need program

# said WHAT LINE
said() {
    is "$1" "$(grep "^${2%%:*}:" out)" "$2"
}
run_limit=500 run python3 "${script%/*}/documents.py" "$program"
is "the stories were told" "$rc" 0
said "a document becomes a job that runs" \
    "success: phase Succeeded true Initialized Completed"
said "its status has the conditions of T9k's" "conditions: Initialized Running ReplicaFailure \
Completed Failed each with lastTransitionTime message reason status type"
said "its Pods by role" "tasks: worker 0 2 launcher 0 1 of containers name node phase uid"
said "and their number by state" \
    "aggregate: creating deleted failed pending running succeeded unknown and 0"
said "a condition that stays keeps its time" "times of ReplicaFailure: 1"
said "nothing is written without a change" "written when nothing changes: 0"
said "all goes with the document" "left with the resource gone: []"
said "a server that is busy, and forgets, is asked again" "rude: phase Succeeded refused often: True \
Retry-After kept: True"
said "get has YAML" "yaml: True"
said "and more of each Pod" "wide: True"
said "get --watch tells what happens" "watched: DELETED  the job was deleted"
said "a job that fails twice" \
    "failure: true Initialized ReplicaFailure Failed backoffCount 1 exitCode 7"
said "takes its document along when its time to live is over" "time to live over: nothing left"
said "a pause in the document is one" "paused: phase Pending"
said "resume changes the document" "resume: 0 deepspeedjob.muster.dev/j resumed"
said "so does scale" "scale: 0 deepspeedjob.muster.dev/j scaled"
said "and a ScaleOut of ET's" "ScaleOut: 0 deepspeedjob.muster.dev/j scaled, then 3"
said "a ScaleIn of another worker than the last is none" "ScaleIn: 65 , then 3"
is "which has both" "$(grep '^its document' out)" "its document says 1 False"
said "delete deletes it" "delete: deepspeedjob.muster.dev/j deleted []"
said "what is wrong is in the status" "wrong: Invalid spec.config.autotune: is not supported: muster \
does not start deepspeed's tuner; write none"
said "a name that is taken, too" \
    "taken: ConfigMap j already exists and does not belong to this job; delete it, or choose another \
name"
said "what has it is not touched" "which is as it was: {'a': 'b'}"
said "a job that was submitted before keeps the name" \
    "submitted before: NameTaken j-launcher j-worker-0"
said "until it goes" "after that: j-launcher j-worker-0 j-worker-1"
said "somebody makes Secrets and a Pod behind the controller's back" "two at work meanwhile: j-worker-0"
said "which goes on with them" "two at work then: j-launcher j-worker-0 j-worker-1 Pending"
said "an elastic job goes on with other workers" "elastic: the same launcher True 3 \
['j-worker-0', 'j-worker-1', 'j-worker-2'] attempts 1"
said "and so it does when the controller is killed again and again" "killed: the same launcher True 3 \
['j-worker-0', 'j-worker-1', 'j-worker-2'] attempts 1"
said "which was often" "killed enough: True"
said "a controller that is killed again and again comes to the same end" \
    "killed often enough: True Succeeded backoffCount 1"
finish
