#!/bin/sh
# What goes wrong with jobs on a real cluster, one after the other: each ends as documented, and the
# message names Pod and reason.
# Most of the time is waiting, so the jobs run at the same moment.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/kubernetes/cluster.sh"

make_space "$space"
make_space "$space-q" # has a quota
make_space "$space-h" privileged

kubectl create quota few --namespace "$space-q" --hard=pods=2 >/dev/null
has_quota() {
    [ "$(kubectl get quota few --namespace "$space-q" --output 'jsonpath={.status.hard.pods}')" = 2 ]
}

# Ranks that are there until somebody ends them; each says so.
stay='echo started; exec sleep 600'
for job in secret worker sshd launcher; do
    begin "$job" --workers 2 --job-backoff-limit "$([ "$job" = secret ] && echo 1 || echo 0)" -- \
        --no_local_rank --no_python sh -c "$stay"
done
begin deadline --workers 1 --deadline 5 -- --no_local_rank --no_python sh -c "$stay"
begin memory --workers 2 --memory 128Mi -- --no_local_rank --no_python sh -c \
    '[ "$RANK" = 1 ] || exec sleep 600; exec perl -e "\$x = \"a\" x 400_000_000"'
begin_as one twice --workers 1 --wait -- --label none --no_local_rank --no_python sh -c "echo one"
begin_as two twice --workers 1 --wait -- --label none --no_local_rank --no_python sh -c "echo two"
begin drained --workers 2 --job-backoff-limit 1 -- --no_local_rank --no_python sh -c \
    '[ "$MUSTER_ATTEMPT" = 1 ] || { echo "rank $RANK once more"; exit 0; }; echo started; exec sleep 600'
# Rank 0 saves when rank 1 was told, too.
begin evicted --workers 2 --max-workers 2 -- --ckpt-marker /tmp/saved --no_local_rank --no_python sh -c '
        [ "$MUSTER_GENERATION" = 0 ] || { echo "here are $WORLD_SIZE"; exit 0; }
        echo started; until [ -e "$MUSTER_NOTICE_FILE" ]; do sleep 0.2; done
        echo "rank $RANK was told"
        perl -MIO::Socket::INET -e "my (\$rank, \$at, \$port) = @ARGV;
            exit !IO::Socket::INET->new(Listen => 1, LocalPort => \$port)->accept if \$rank == 0;
            sleep 1 until IO::Socket::INET->new(qq(\$at:\$port))" "$RANK" "$MASTER_ADDR" "$MASTER_PORT"
        : >/tmp/saved; exec sleep 600'
submit debug --workers 2 --debug
is "debug mode is submitted without a command" "$rc" 0

cat >resumed.yaml <<END
apiVersion: batch.tensorstack.dev/v1beta1
kind: DeepSpeedJob
metadata: {name: resumed, namespace: $space-h}
spec:
  worker:
    replicas: 1
    template:
      spec:
        initContainers: [{name: first, image: $image, imagePullPolicy: IfNotPresent, command: [sh, -c, 'echo init']}]
        containers: [{name: worker, image: $image, imagePullPolicy: IfNotPresent}]
  config: {localRank: false, otherArgs: [--dead-after=30], run: {exec: [sh, -c, 'echo started; exec sleep 600']}}
  runMode:
    pause: {enabled: false, resumeSpecs: [{type: worker, skipInitContainer: true, command: [sh, -c], args: ["echo it goes on"]}]}
END
run_limit=90 run muster k8s submit -f resumed.yaml
is "a T9k document with resumeSpecs is submitted" "$rc" 0

ok "there is a quota" wait_for 60 has_quota
run_limit=90 run muster k8s submit --name quota --namespace "$space-q" --image "$image" --workers 3 -- a.py
is "a quota that is exceeded ends submit" "$rc" 73
ok "with Pod and reason" grep -q 'pods "quota-[a-z0-9-]*" is forbidden: exceeded quota: few' err
ok "which takes back what it has created" grep -q 'job quota was not submitted' err
none_of_quota() {
    [ -z "$(left quota "$space-q")" ]
}
ok "nothing of it is left" wait_for 60 none_of_quota

# both_started NAME
both_started() {
    [ "$(grep -c started "$1.out")" = 2 ]
}
# delete_pod NAME: as if its machine was gone.
delete_pod() {
    k delete pod "$1" --grace-period=0 --force >/dev/null 2>&1
}
for job in secret worker sshd launcher drained evicted; do
    ok "$job: the job runs" wait_for 120 both_started "$job"
done
k delete secret secret-worker-keys >/dev/null
delete_pod secret-worker-1
delete_pod worker-worker-1
delete_pod launcher-launcher
in_space shell sshd -i sshd-worker-1 -- sh -c 'for p in /proc/[0-9]*; do
        read -r name 2>/dev/null <"$p/comm" && [ "$name" = sshd ] && kill "${p#/proc/}"
    done; true' 2>sshd.shell
# evict VERSION: as who drains a node does it, for this Pod alone.
evict() {
    echo "{\"apiVersion\": \"$1\", \"kind\": \"Eviction\", \"metadata\":
        {\"name\": \"evicted-worker-1\", \"namespace\": \"$space\"}}" >eviction.json
    kubectl create --raw "/api/v1/namespaces/$space/pods/evicted-worker-1/eviction" -f eviction.json >evict.log 2>&1
}
evict policy/v1 || evict policy/v1beta1 || sed 's/^/# /' evict.log

end one
one=$rc
end two
is "of two submits of one name one is refused" "$(printf '%s\n' "$one" "$rc" | sort -n | tr '\n' ' ')" "0 73 "
ok "... with the reason" grep -qE \
    'just created a job twice;|the job twice was already submitted|a job twice already exists' one.err two.err
is "and the other one's command has run" "$(cat one.out two.out | grep -cE '^(one|two)$')" 1

end launcher
is "a launcher that is deleted is a lost run" "$rc" 69
ok "with its Pod" grep -q 'Pod launcher-launcher was deleted' err
end worker
is "a worker that is deleted, too" "$rc" 69
ok "with its Pod" grep -q 'error: job worker: .*Pod worker-worker-1 was deleted' err
pods_of_worker() {
    k get events --field-selector involvedObject.kind=Pod,involvedObject.name=worker-worker-1 --output \
        'jsonpath={range .items[*]}{.involvedObject.uid}{"\n"}{end}' | sort -u | grep -c .
}
is "in whose place there is none for that run" "$(pods_of_worker)" 1
end evicted
is "an elastic job goes on without a worker that is evicted" "$rc $(grep -o 'here are .*' out)" "0 here are 1"
ok "which is a notice" grep -q "evicted-worker-1.* leaves in 30 s (its machine, Pod or login session is \
ending: muster's agent received SIGTERM" out
is "... to all ranks" "$(grep -c 'rank [01] was told$' out)" 2
ok "... which save" grep -q 'checkpoint written after' out
end sshd
is "one whose sshd was killed, too" "$rc" 69
ok "with its Pod, and what that says" grep -q \
    'Pod sshd-worker-1 has ended, .*sshd has exited: no more ranks can start here' err
ok "of which get has the last line" wait_for 60 sh -c \
    "muster k8s get --namespace $space sshd | grep -q 'sshd has exited: no more ranks can start here'"
end secret
is "a Secret that was deleted is no way to replace a Pod" "$rc" 68
ok "which is said" grep -q 'Secret secret-worker-keys was deleted' err
end deadline
is "the deadline ends a run" "$rc" 124
ok "with the Pod" grep -q 'Pod deadline-launcher: exit status 124' err
end memory
is "a rank that takes too much memory ends the run" "$rc" 137
ok "with its Pod, and the reason" grep -q 'rank 1 on memory-worker-1: .*OOM.*, limit 128 MiB' err

# The nodes of its Pods are drained, as before maintenance, but of this job alone: there may be no
# other nodes for the rest.
drain() {
    # shellcheck disable=SC2046
    set -- "$1" $(k get pods --selector "muster.dev/job=$1" --output 'jsonpath={.items[*].spec.nodeName}' |
        tr ' ' '\n' | sort -u)
    job=$1
    shift
    kubectl drain "$@" --pod-selector "muster.dev/job=$job" --force --delete-emptydir-data \
        --ignore-daemonsets --timeout 60s >drain.log 2>&1 || sed 's/^/# /' drain.log
    kubectl uncordon "$@" >>drain.log 2>&1
}
drain drained
end drained
is "its nodes are drained: the run ends, and is tried again" "$rc" 0
ok "which is said" grep -q 'Pod drained-launcher: .*retry 1 of 1' err
is "the second time to its end" "$(grep -c 'rank [01] once more$' out)" 2

# ---- debug mode; and a worker that is another one, under the same name ----

both_ready() {
    [ "$(k get pods --selector "muster.dev/job=$1,muster.dev/role=worker" --output \
        'jsonpath={.items[*].status.containerStatuses[*].ready}')" = "true true" ]
}
ok "debug: its Pods are ready" wait_for 120 both_ready debug
in_debug() {
    run_limit=90 run muster k8s shell --namespace "$space" debug -- muster --label none --no_local_rank --no_python "$@"
}
for time in first second; do
    in_debug sh -c 'echo "rank $RANK of $WORLD_SIZE on $(hostname)"'
    is "a run in it, for the $time time" "$rc $(sort out | tr '\n' ' ')" \
        "0 rank 0 of 2 on debug-worker-0 rank 1 of 2 on debug-worker-1 "
done
ok "get says what it is" sh -c "muster k8s get --namespace $space debug | grep -q 'debug mode'"
# The impostor has everything of that worker but its host key.
ssh-keygen -q -t ed25519 -N '' -f foreign
k get secret debug-worker-keys --output json | python3 -c 'import base64, json, sys
secret = json.load(sys.stdin)
secret["metadata"] = {"name": "foreign"}
secret["data"]["host-1"] = base64.b64encode(open("foreign", "rb").read()).decode()
print(json.dumps(secret))' >foreign.json
k create -f foreign.json >/dev/null
k get pod debug-worker-1 --output json | python3 -c 'import json, sys
pod = json.load(sys.stdin)
old = pod["metadata"]
pod["metadata"] = {name: old[name] for name in ("name", "labels", "ownerReferences")}
del pod["status"]
for name in "nodeName", "tolerations", "priority", "serviceAccount":
    pod["spec"].pop(name, None)
for volume in pod["spec"]["volumes"]:
    if volume["name"] == "muster-host":
        volume["secret"]["secretName"] = "foreign"
print(json.dumps(pod))' >impostor.json
delete_pod debug-worker-1
gone() {
    ! k get pod debug-worker-1 >/dev/null 2>&1
}
ok "its worker is gone" wait_for 60 gone
k create -f impostor.json >/dev/null
ok "and another one is there" wait_for 120 both_ready debug
refused() { # names may be the old one's for a moment
    in_debug sh -c :
    [ "$rc" = 77 ]
}
ok "a worker with a foreign host key is refused" wait_for 60 refused
ok "by its name" grep -q 'debug-worker-1' err
in_space delete debug >/dev/null

# ---- the node's network ----

in_h() {
    command=$1
    shift
    muster k8s "$command" --namespace "$space-h" "$@"
}
# shellcheck disable=SC2086
run_limit=150 run muster k8s submit --name net --namespace "$space-h" --image "$image" --workers 1 \
    --image-pull-policy IfNotPresent --shm 64Mi $patience --hostNetwork --wait -- --label none --no_local_rank --no_python sh -c \
    'wc -l </proc/net/dev'
is "a worker has the network of its node" "$rc" 0
ok "which is said" grep -q 'warning: hostNetwork: ' err
interfaces=$(sed -n 's/^\([0-9][0-9]*\)$/\1/p' out)
ok "where there are more interfaces than a Pod's two" test "${interfaces:-0}" -gt 4
nodes=$(kubectl get nodes --output name | wc -l)
# Nobody acts on the job before the scheduler has said why it waits.
run_limit=150 run muster k8s submit --name many --namespace "$space-h" --image "$image" --workers "$((nodes + 1))" \
    --image-pull-policy IfNotPresent --shm 64Mi --hostNetwork --max-wait-time 30 -- a.py
is "a node has one such worker: more are submitted" "$rc" 0
no_ports() {
    kubectl get pods --namespace "$space-h" --selector muster.dev/job=many,muster.dev/role=worker --output \
        'jsonpath={.items[*].status.conditions[*].message}' | grep -q 'free ports'
}
ok "and one has no place" wait_for 120 no_ports
run_limit=150 run muster k8s attach --namespace "$space-h" many
is "which ends the job after the longest wait" "$rc" 75
ok "which the scheduler says, of the Pod" grep -q 'Pod many-worker-[0-9]* did not start.*free ports' err

# ---- another command after a pause ----

runs() {
    in_h logs resumed 2>/dev/null | grep -q started
}
ok "it runs" wait_for 120 runs
is "it is paused" "$(in_h pause resumed)" "deepspeedjob.muster.dev/resumed paused"
is "and resumed" "$(in_h resume resumed)" "deepspeedjob.muster.dev/resumed resumed"
run_limit=150 run muster k8s attach --namespace "$space-h" resumed
is "then another command runs, to its end" "$rc $(grep -c 'it goes on$' out)" "0 1"
is "without init containers" \
    "$(kubectl get pod resumed-worker-0 --namespace "$space-h" --output 'jsonpath={.spec.initContainers}')" ""

# ---- the API server does not answer for 30 s ----

if [ -n "$kube" ]; then
    submit outage --workers 2 -- --no_local_rank --no_python sh -c 'echo started; sleep 35; echo "rank $RANK ends"'
    began=$rc
    muster k8s attach --namespace "$space" outage >outage.out 2>outage.err </dev/null &
    echo $! >outage.pid
    test_pids="$test_pids $!"
    ok "a job runs" wait_for 120 both_started outage
    "$kube" node pkill -STOP -x kube-apiserver
    sleep 30 # the fault itself
    "$kube" node pkill -CONT -x kube-apiserver
    end outage
    is "while the API server is away, a run goes on" "$began $rc" "0 0"
    is "and its output is here in the end" "$(grep -c 'rank [01] ends$' out)" 2
else
    skip "an API server that is away" "it takes \$MUSTER_TEST_KUBE"
fi
finish
