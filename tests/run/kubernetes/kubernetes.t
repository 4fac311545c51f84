#!/bin/sh
# muster k8s on a real cluster: jobs run there, end as they should, and leave nothing.
# Most of the time is waiting, so the jobs run at the same moment.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/kubernetes/cluster.sh"

make_space "$space"
make_space "$space-c" # its controller is killed again and again
make_space "$space-d" # has contrib's controller as it is

# A claim that Pods share, with what the training needs.
data=
if [ -n "$kube" ] && "$kube" node mkdir -m 777 "/var/tmp/$space" && [ -x "$top_builddir/trainer/muster-train" ]; then
    data="--data claim:/data --tensorboard --logdir /data/logs"
    "$kube" node sh -c "cat >/var/tmp/$space/ds.json" <<END
{ "train_batch_size": 12, "steps_per_print": 1, "optimizer": { "type": "AdamW", "params": { "lr": 8e-3 } },
  "zero_optimization": { "stage": 1, "offload_optimizer": { "device": "cpu" } },
  "tensorboard": { "enabled": true, "output_path": "/data/logs", "job_name": "good" } }
END
    "$kube" node sh -c "cat >/var/tmp/$space/text" <"$top_srcdir/contrib/examples/seasons.txt"
    k apply -f - >/dev/null <<END
apiVersion: v1
kind: PersistentVolume
metadata: {name: $space}
spec:
  accessModes: [ReadWriteMany]
  capacity: {storage: 1Gi}
  storageClassName: ""
  claimRef: {namespace: $space, name: claim}
  hostPath: {path: /var/tmp/$space}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteMany], storageClassName: "", volumeName: $space, resources: {requests: {storage: 1Gi}}}
END
fi

cat >job.yaml <<END
apiVersion: batch.tensorstack.dev/v1beta1
kind: DeepSpeedJob
metadata: {name: document, namespace: $space}
spec:
  worker:
    replicas: 2
    template:
      spec:
        containers:
          - name: worker
            image: $image
            imagePullPolicy: IfNotPresent
            resources: {limits: {cpu: 1, memory: 256Mi}, requests: {cpu: 100m, memory: 128Mi}}
  config:
    slotsPerWorker: 1
    localRank: false
    otherArgs: [--dead-after=30]
    run: {exec: [sh, -c, 'echo rank \$RANK; exit 7']}
  runPolicy: {cleanUpPolicy: All}
END

cat >mpi.yaml <<END
apiVersion: kubeflow.org/v1alpha2
kind: MPIJob
metadata: {name: mpi, namespace: $space}
spec:
  slotsPerWorker: 1
  cleanPodPolicy: All
  backoffLimit: 0
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: mpi
              image: $image
              env: [{name: WHERE, value: /tmp}]
              command: [sh, -c]
              args:
                - |
                  cd \$WHERE && mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot -x PATH \\
                    -mca btl ^openib sh -c 'echo "\$RANK of \$WORLD_SIZE in \$(pwd), \$OMPI_MCA_btl"'
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: mpi
              image: $image
              imagePullPolicy: IfNotPresent
              resources: {limits: {cpu: 1, memory: 256Mi}, requests: {cpu: 100m, memory: 128Mi}}
END

k create secret generic token --from-literal=value='s3cr"t \x' >/dev/null
begin image --workers 1 --image localhost/none:such -- a.py
submit node --workers 1 --selector no=such --max-wait-time 30 -- a.py
is "a job for a node that is not there" "$rc" 0
# shellcheck disable=SC2086
begin good --workers 3 --slots 2 --memory 512Mi --cpu 100m --env 'GREETING=hello world' \
    --env-from-secret TOKEN=token/value $data -- --label none --no_local_rank --no_python \
    sh -c 'echo "$GREETING, rank $RANK of $WORLD_SIZE on $(hostname): $TOKEN $(id -u)"
        [ ! -e /data/ds.json ] || exec muster-train --deepspeed_config /data/ds.json --model hello \
            --vocabulary 257 --positions 66 --width 32 --heads 4 --blocks 1 --data /data/text --steps 4'
# shellcheck disable=SC2086
begin first --launcher worker0 --workers 2 --memory 512Mi --cpu 100m ${data%% --tensorboard*} -- \
    --label none --no_local_rank --no_python sh -c 'echo "rank $RANK of $WORLD_SIZE on $(hostname)"
        [ ! -e /data/ds.json ] || exec muster-train --deepspeed_config /data/ds.json --model hello \
            --vocabulary 257 --positions 66 --width 32 --heads 4 --blocks 1 --data /data/text --steps 2'
# Two workers, three, two.
begin elastic --workers 2 --max-workers 3 -- --grow-interval 1 --no_local_rank --no_python sh -c '
        echo "world $WORLD_SIZE"
        [ "$WORLD_SIZE" = 2 ] && [ "$MUSTER_GENERATION" -gt 0 ] || exec sleep 300'
# A page, which only kubectl port-forward reaches, and of another job what Prometheus reads.
begin page --workers 2 --job-backoff-limit 1 --dashboard -- --no_local_rank --no_python sh -c '
        echo "attempt $MUSTER_ATTEMPT <script>"; until [ -e /tmp/end ]; do sleep 0.2; done'
begin read --workers 1 --metrics annotation -- --no_local_rank --no_python sh -c \
    'until [ -e /tmp/end ]; do sleep 0.2; done'
begin long --workers 2 --job-backoff-limit 1 -- --no_local_rank --no_python sh -c '
        [ "$MUSTER_ATTEMPT" = 1 ] || { echo "here is $(ls /tmp/of-*)"; exit 0; }
        : >"/tmp/of-$RANK"; echo started; exec sleep 300'
for document in job:document mpi:mpi; do
    muster k8s submit -f "${document%:*}.yaml" --wait >"${document#*:}.out" 2>"${document#*:}.err" </dev/null &
    echo $! >"${document#*:}.pid"
    test_pids="$test_pids $!"
done

# The controller, in the other namespace, with the rights of its Role alone, killed after one second,
# after two ...: it does what a submit that was killed has left to do, and the rest of the job's life.
kubectl apply --namespace "$space-c" -f "$top_srcdir/contrib/kubernetes/controller.yaml" >/dev/null
kubectl delete --namespace "$space-c" deployment muster-controller >/dev/null
account=system:serviceaccount:$space-c:muster-controller
# All that it may do there, but for what everybody may.
rights() {
    kubectl --namespace "$space-c" auth can-i --list --as "$account" |
        sed -nE 's/^([a-z][^ ]*) +\[\] +\[([^]]*)\] +\[([^]]*)\] *$/\1 \2:\3/p' | grep -v '^selfsubject' |
        while IFS=: read -r right verbs; do
            # shellcheck disable=SC2086
            echo "$right:" $(printf '%s\n' $verbs | sort)
        done | LC_ALL=C sort
}
cat >wanted <<END
configmaps : create delete get list patch watch
deepspeedjobs.muster.dev : delete get list watch
deepspeedjobs.muster.dev/status : patch
deployments.apps : create get
events : create patch
leases.coordination.k8s.io : create
leases.coordination.k8s.io muster-controller: get update
networkpolicies.networking.k8s.io : create get
podgroups.scheduler.tensorstack.dev : create delete get
podgroups.scheduling.volcano.sh : create delete get
podgroups.scheduling.x-k8s.io : create delete get
pods : create delete get list patch watch
pods/log : get
secrets : create delete get
servicemonitors.monitoring.coreos.com : create get
services : create get
END
if [ -n "$kube" ]; then
    rights >rights 2>rights.err
    ok "the controller may do this, and nothing else" diff wanted rights || cat rights.err
else
    skip "all that the controller may do" "in this cluster everybody may do more, perhaps"
fi
while read -r answer question; do
    # shellcheck disable=SC2086
    is "may the controller $question? $answer" \
        "$(kubectl --namespace "$space-c" auth can-i --as "$account" $question 2>/dev/null)" "$answer"
done <<END
yes create pods
yes get pods --subresource log
yes update leases/muster-controller
no update leases/other
no list secrets
no watch secrets
no patch secrets
no get secrets --namespace default
no list secrets --namespace kube-system
no list pods --all-namespaces
no create pods --namespace default
no patch configmaps --namespace kube-system
no create pods --subresource exec
no get pods --subresource exec
no create pods --subresource attach
no create pods --subresource portforward
no create pods --subresource eviction
no create serviceaccounts --subresource token
no impersonate users
no create rolebindings
no patch roles
no get nodes
no list nodes
no get nodes --subresource proxy
no list namespaces
no create persistentvolumes
no patch customresourcedefinitions
no list events
END
token_of_account() { # older clusters make one, after a moment, as a Secret
    kubectl --namespace "$space-c" create token muster-controller >token 2>/dev/null ||
        kubectl --namespace "$space-c" get secret "$(kubectl --namespace "$space-c" get serviceaccount \
            muster-controller --output 'jsonpath={.secrets[0].name}')" \
            --output 'jsonpath={.data.token}' 2>/dev/null | base64 -d >token
    [ -s token ]
}
ok "its account has a token" wait_for 20 token_of_account
kubectl config view --raw --minify --flatten >account
KUBECONFIG=account kubectl config set-credentials controller --token "$(cat token)" >/dev/null
KUBECONFIG=account kubectl config set-context --current --user controller >/dev/null
muster k8s check --namespace "$space-c" >may
is "who may all passes the check" $? 0
KUBECONFIG=account muster k8s check --namespace "$space-c" >may 2>&1
is "so does the controller" $? 0
ok "which lacks what it does not need" grep -q '^  shell .* pods/exec: you may not create$' may
ok "... as for a page" grep -qx '  dashboard, tensorboard pods/portforward: you may not create' may
ok "... but has what --metrics needs" grep -q '^  submit --metrics .* servicemonitors: yes$' may
KUBECONFIG=account muster k8s check --namespace default >may 2>&1
is "in another namespace it does not" $? 68
ok "and is told why" grep -q '^  submit .* secrets: you may not get, create, delete$' may
# begin_left NAMESPACE OPTIONS...: as from a submit that was killed after its first action.
begin_left() {
    left_in=$1
    shift
    # shellcheck disable=SC2086
    muster k8s submit --name left --namespace "$left_in" --image "$image" --image-pull-policy IfNotPresent \
        --shm 64Mi $patience --workers 2 --job-backoff-limit 1 "$@" --dry-run -- --no_local_rank \
        --no_python sh -c 'test "$MUSTER_ATTEMPT" = 2' | awk '/^---/ { n++ } n == 1' |
        kubectl create --namespace "$left_in" -f - >/dev/null
}
begin_left "$space-c" --ttl-after-finished 1
begin_left "$space-d"
if [ -n "$kube" ]; then # in a cluster of others nodes are not ours to label
    kubectl label nodes --all --overwrite karpenter.sh/capacity-type=spot >/dev/null
    sed "s|NAMESPACE|$space-d|" "$top_srcdir/contrib/kubernetes/nodes.yaml" >nodes.yaml
    kubectl apply -f nodes.yaml >/dev/null
fi
sed "s|REGISTRY/muster-controller:1|$image|" "$top_srcdir/contrib/kubernetes/controller.yaml" |
    kubectl apply --namespace "$space-d" -f - >/dev/null
has_anchor() {
    kubectl get --namespace "$space-c" configmap left >/dev/null 2>&1
}
ok "there is the beginning of a job" has_anchor
look_after() {
    lives=0
    while has_anchor && [ "$lives" -lt 20 ]; do
        lives=$((lives + 1))
        KUBECONFIG=account TMPDIR=$tmp timeout -s KILL "$lives" muster k8s controller \
            --namespace "$space-c" --identity test >>controller 2>&1
    done
}
look_after &
test_pids="$test_pids $!"

# The server in memory that killed.t has answers as this one.
python3 "${script%/*}/api_server.py" memory >memory.log 2>&1 9>&- &
test_pids="$test_pids $!"
kubectl proxy --unix-socket="$tmp/real" >proxy.log 2>&1 9>&- &
test_pids="$test_pids $!"
has_both() {
    [ -S memory ] && [ -S "$tmp/real" ]
}
ok "there are two API servers" wait_for 20 has_both
python3 "${script%/*}/api_questions.py" "$tmp/real" "$space" >real.answers 2>&1
python3 "${script%/*}/api_questions.py" memory default >memory.answers 2>&1
ok "they give the same answers" diff real.answers memory.answers
ok "to all questions" sh -c 'test "$(wc -l <real.answers)" -gt 30 && ! grep -q Traceback real.answers'

has_no_node() {
    k get pod node-worker-0 --output 'jsonpath={.status.conditions[*].reason}' | grep -q Unschedulable
}
ok "a node that is not there" wait_for 120 has_no_node
run_limit=150 run muster k8s attach --namespace "$space" node
is "ends the wait" "$rc" 75
ok "with the scheduler's reason" grep -q 'node-worker-0 did not start within 30 s: Unschedulable' err

end good
is "a job ends with 0" "$rc" 0
is "each rank has run" "$(grep -c '^hello world, rank [0-5] of 6 on good-worker-[0-2]: ' out)" 6
ok "with its secret, as an ordinary user" grep -qF ': s3cr"t \x 1000' out
ok "what is waited for is said" grep -q 'waiting for' err
is "no Secret is left then" "$(k get secrets --output name | grep good)" ""
is "get says how it ended" "$(in_space get good | grep Status)" "Status:    SUCCEEDED"
is "so does list" "$(muster k8s list -n "$space" -o json | python3 -c 'import json, sys
print(*(job["status"] for job in json.load(sys.stdin) if job["name"] == "good"))')" SUCCEEDED
is "... which can print names" "$(muster k8s list -n "$space" -o name | grep good)" deepspeedjob.muster.dev/good
ok "... and people read" sh -c "muster k8s list -n $space | grep -q '^good  *SUCCEEDED'"
is "... with -o wide what each waits for, too" \
    "$(muster k8s list -n "$space" -o wide | awk 'NR == 1 { print $NF }')" REASON
is "logs has its output" "$(in_space logs good | grep -c '^hello world')" 6
is "and its last line alone" "$(in_space logs good --tail 1 | wc -l)" 1
none_runs() {
    [ -z "$(k get pods --selector muster.dev/job=good,muster.dev/role=worker --field-selector status.phase=Running --output name)" ]
}
ok "no worker holds its GPUs" wait_for 30 none_runs
# The image has a program in TensorBoard's place, which shows the files.
forwards() {
    port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' forward)
    [ -n "$port" ] && curl -sf "http://127.0.0.1:$port/" >page
}
if [ -n "$data" ]; then
    ok "it has trained" grep -q global_step=4 out
    muster k8s tensorboard --namespace "$space" good --port $((20000 + $$ % 20000)) >forward 2>&1 &
    board=$!
    test_pids="$test_pids $board"
    ok "its TensorBoard is at a port here" wait_for 60 forwards
    file=$(grep -m1 -o 'good/events.out.tfevents[^ ]*' page)
    ok "and has the event file" sh -c "curl -sf http://127.0.0.1:$port/$file | grep -q Train/Samples/train_loss"
    kill "$board"
else
    skip "TensorBoard" "it takes \$MUSTER_TEST_KUBE and muster-train"
fi
is "delete says so" "$(in_space delete good)" "deepspeedjob.muster.dev/good deleted"
is "nothing is left of the job" "$(left good)" ""

end first
is "so does one whose first worker is the launcher" "$rc" 0
is "each of its ranks has run" "$(grep -c '^rank [01] of 2 on first-worker-[01]$' out)" 2
[ -z "$data" ] || ok "and trained" grep -q global_step=2 out
in_space delete first >/dev/null

end document
is "a T9k document runs, with worker 0 as launcher, and its status is ours" "$rc" 7
ok "the log was here before the Pods went" grep -q 'rank [01]$' out
ok "the end is named" grep -q 'document-worker-0: exit status 7' err
ok "cleanUpPolicy All: no Pod is left" wait_for 60 no_pod document
in_space get document >shown
ok "get still tells" grep -q '^Status:    FAILED' shown
ok "and has the last lines of the Pod that failed" grep -q '^  .*rank [01]$' shown
in_space delete document >/dev/null

end mpi
is "an MPIJob of v1alpha2 runs" "$rc" 0
is "as mpirun would start it, where its line says" "$(grep -c '[01] of 2 in /tmp, ^openib$' out)" 2
ok "what was changed is named" grep -q "warning: .*Launcher: 'cd .WHERE' becomes the workers' workingDir" err
in_space delete mpi >/dev/null

ok "a job runs" wait_for 90 grep -q started long.out
ok "a worker has no key but its own, and no token" in_space shell long -i long-worker-1 -- sh -c \
    '! ls /etc/muster/key/id_ed25519 2>/dev/null && ! ls /var/run/secrets/kubernetes.io 2>/dev/null'
# With all keys that it has, its own host key.
tries="ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i /etc/muster/host/host_key"
in_space shell long -i long-worker-1 -- sh -c "$tries -p 2222 long-worker-0.long.$space.svc true" >tried 2>&1
is "it cannot log into another" "$? $(grep -c 'Permission denied (publickey' tried)" "255 1"
in_space shell long -i long-worker-1 -- sh -c "$tries -p 2222 long-launcher.long.$space.svc true" >tried 2>&1
is "nor into the launcher" "$? $(grep -c 'Connection refused' tried)" "255 1"
run muster k8s shell --namespace "$space" long -i long-worker-9
is "there is no shell in a Pod that is not there" "$rc" 68
run muster k8s top --namespace "$space" long
if [ "$rc" = 0 ]; then
    ok "top shows what its Pods use" grep -q '^long-worker-0 ' out
else
    is "without metrics-server top says so" "$(cat err)" \
        "muster k8s: error: the cluster has no metrics-server, which measures what Pods use"
fi
# listens JOB: the addresses and ports at which its launcher's Pod does.
listens() {
    in_space shell "$1" -- cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == "0A" { print $2 }'
}
is "its launcher listens nowhere" "$(listens long)" ""
run muster k8s dashboard --namespace "$space" long
is "so there is no page" "$rc $(grep -c 'serves no page: it was submitted without --dashboard' err)" "68 1"

# To the launcher of that moment: a page that is not there yet, or not any more, is asked for again.
port=$((20000 + $$ % 20000 + 1)) page_pid=
page_comes() {
    [ -n "$page_pid" ] && kill -0 "$page_pid" 2>/dev/null || {
        muster k8s dashboard --namespace "$space" page --port "$port" >forward.page 2>&1 9>&- &
        page_pid=$!
        test_pids="$test_pids $page_pid"
    }
    curl -sf --max-time 5 -o page.html "http://localhost:$port/" && grep -q '<title>' page.html
}
ok "muster k8s dashboard brings the page of a run" wait_for 120 page_comes || sed 's/^/# /' forward.page
ok "... and says where" grep -q "^The page of job page: http://localhost:$port/ until Ctrl-C$" forward.page
has_figures() {
    curl -sf --max-time 5 "http://localhost:$port/metrics" >figures && grep -q '^muster_ranks.*"running".* 2$' figures
}
ok "... with the figures" wait_for 60 has_figures
has_event() {
    curl -sN --max-time 5 "http://localhost:$port/events" >events
    grep -q '^data: .*"page-worker-1"' events
}
ok "... and an event of the server's" wait_for 60 has_event
# has_line ATTEMPT: in which rank 1 printed it.
has_line() {
    curl -sf --max-time 5 "http://localhost:$port/rank?n=1" >line && grep -qF "attempt $1 <script>" line
}
ok "... and what a rank has printed" wait_for 60 has_line 1 || sed 's/^/# /' line
is "to another name it is refused" \
    "$(curl -s --max-time 5 -o page.other -w '%{http_code}' --header 'Host: example.com' "http://localhost:$port/")" 403
is "its launcher listens at its own loopback alone" "$(listens page)" 0100007F:24F8
address=$(k get pod page-launcher --output 'jsonpath={.status.podIP}')
# ask ADDRESS: what another Pod gets of the figures there.
ask='my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 9464, Timeout => 10) or die "$!\n";
    print $s "GET /metrics HTTP/1.0\r\nHost: $ARGV[0]:9464\r\n\r\n"; print while <$s>'
ask() {
    in_space shell long -i long-worker-0 -- perl -MIO::Socket::INET -e "$ask" "$1" >asked 2>&1
}
ok "another Pod does not reach it" not ask "$address"
ok "... for that reason" grep -qE '^Connection (refused|timed out)' asked || sed 's/^/# /' asked
k delete pod page-launcher --grace-period=0 --force >/dev/null 2>&1
is_again() {
    page_comes && has_line 2
}
ok "after a retry the command brings that of the new launcher" wait_for 120 is_again || sed 's/^/# /' forward.page
for worker in 0 1; do
    in_space shell page -i "page-worker-$worker" -- sh -c ': >/tmp/end'
done
end page
is "the job ends" "$rc" 0
run muster k8s dashboard --namespace "$space" page
is "and its page with it" "$rc $(grep -c 'has ended (Succeeded), and its page with it; `muster k8s logs page`' err)" "68 1"
address=$(k get pod read-launcher --output 'jsonpath={.status.podIP}')
is_read() {
    ask "$address" && grep -q '^muster_ranks.*"running".* 1$' asked
}
ok "another job's figures are for other Pods, too" wait_for 60 is_read || sed 's/^/# /' asked
is "which find them by its annotations" "$(k get pod read-launcher --output \
    'jsonpath={.metadata.annotations.prometheus\.io/scrape} {.metadata.annotations.prometheus\.io/port}')" "true 9464"
in_space shell read -i read-worker-0 -- sh -c ': >/tmp/end'
end read
is "it ends, too" "$rc" 0
in_space delete page read >/dev/null
is "nothing is left of the two" "$(left page; left read)" ""

k delete pod long-worker-1 --grace-period=0 --force >/dev/null 2>&1

submit held --workers 1 -- --no_local_rank --no_python sh -c '[ "$WORLD_SIZE" = 2 ] || exec sleep 300'
is "without --wait it comes back" "$rc" 0
ok "in Arena's words" grep -q 'has been submitted successfully' out
submit held --workers 1 -- other.py
is "the name is taken" "$rc" 73
ok "which is said" grep -q 'a job held already exists' err
is "a job is paused" "$(in_space pause held)" "deepspeedjob.muster.dev/held paused"
ok "it has no Pods then" no_pod held
is "which get says" "$(in_space get held | grep Reason)" "Reason:    paused"
is "it is given another worker" "$(in_space scale held --workers 2)" "deepspeedjob.muster.dev/held scaled"
is "and resumed" "$(in_space resume held)" "deepspeedjob.muster.dev/held resumed"
run_limit=90 run muster k8s attach --namespace "$space" held
is "it runs with two, to which one can come back" "$rc" 0

launcher_uid() {
    k get pod elastic-launcher --output 'jsonpath={.metadata.uid}'
}
ok "an elastic job runs" wait_for 90 grep -q 'world 2$' elastic.out
before=$(launcher_uid)
is "it gets a third worker" "$(in_space scale elastic --workers 3)" "deepspeedjob.muster.dev/elastic scaled"
ok "and its run goes on with it" wait_for 90 grep -q 'world 3$' elastic.out
is "under the same launcher" "$(launcher_uid)" "$before"
is "it gives one away" "$(in_space scale elastic --workers 2)" "deepspeedjob.muster.dev/elastic scaled"
end elastic
is "and goes on without it, to a good end" "$rc" 0
ok "its ranks had a notice" grep -q 'elastic-worker-2.* leaves in 30 s (its host is no longer on the list)' out
ok "the launcher has let it go" grep -q 'node elastic-worker-2[^ ]* leaves (' out
is "that is one attempt" "$(in_space get elastic -o json | grep '"attempt"')" '    "attempt": 1,'
no_third() {
    ! k get pod elastic-worker-2 >/dev/null 2>&1
}
ok "its Pod is gone" wait_for 60 no_third
in_space delete elastic >/dev/null

end long
is "a deleted worker ends the run, which is tried again, and succeeds" "$rc" 0
is "with a new worker under the old name, and the other one as it was" \
    "$(grep -o ':[01]: here is .*' out | sort | tr '\n' ' ')" ":0: here is /tmp/of-0 :1: here is  "
ok "that is said, with the worker" grep -q 'long-worker-1.*retry 1 of 1' err
is "and kept" "$(in_space get long -o json | grep backoffCount)" '    "backoffCount": 1,'
in_space delete long held >/dev/null
is "nothing is left of these" "$(left long; left held)" ""

not_anchor() {
    ! has_anchor
}
ok "the job of the controller comes to its end, and is deleted" wait_for 120 not_anchor
ok "after two attempts" grep -q "$space-c/left: .*retry 1 of 1" controller
ok "the second was good" grep -q "$space-c/left: Succeeded" controller
none_left() {
    [ -z "$(left left "$space-c")" ]
}
ok "nothing is left of it" wait_for 60 none_left

outcome_of_left() {
    kubectl get --namespace "$space-d" configmap left --output 'jsonpath={.data.outcome}' | grep -q '"state":"Succeeded"'
}
ok "the controller in the cluster does the same" wait_for 120 outcome_of_left || {
    kubectl get --namespace "$space-d" pods,events 2>&1
    kubectl logs --namespace "$space-d" deployment/muster-controller 2>&1
} | sed 's/^/# /'
if [ -n "$kube" ]; then
    is "the class of its nodes is in the hostfile" "$(kubectl get --namespace "$space-d" configmap left-hosts \
        --output 'jsonpath={.data.hostfile}' | grep -c '^left-worker-[01].* class=spot$')" 2
    kubectl delete -f nodes.yaml >/dev/null
    kubectl label nodes --all karpenter.sh/capacity-type- >/dev/null
else
    skip "the class of nodes in the hostfile" "others use this cluster"
fi
described() {
    kubectl describe --namespace "$space-d" configmap left >described
    grep -q "$1" described || { sed 's/^/# /' described; false; }
}
ok "kubectl describe tells of the retry" described 'Warning  *Retry .* muster-controller .*; retry 1 of 1$'
ok "and of the end" described 'Normal  *Succeeded .* muster-controller  *the run has succeeded$'
in_its_pod() {
    kubectl exec --namespace "$space-d" deployment/muster-controller -- "$@"
}
is "by its service account, without a kubectl proxy" "$(in_its_pod ls /tmp)" ""
in_its_pod muster k8s get left >in_pod 2>&1
is "so does a user in its Pod, in its namespace" "$? $(grep -c '^Status: *SUCCEEDED' in_pod)" "0 1"

end image
is "a wrong image ends the wait" "$rc" 68
ok "with Pod and reason" grep -qE 'Pod image-(worker-0|launcher) cannot start: (ErrImagePull|ImagePullBackOff)' err
ok "of which the events tell more" sh -c "muster k8s events -n $space image | grep -q 'Failed .*Pod/image-.*none:such'"
is "prune deletes none that has ended just now" "$(in_space prune --since 1h)" ""
is "nor without a time" "$(in_space prune 2>&1 | grep -c 'since=TIME is missing')" 1
is "but each that has ended before" "$(in_space prune --since 0 | sort | tr '\n' ' ')" \
    "deepspeedjob.muster.dev/image deleted deepspeedjob.muster.dev/node deleted "
none_of_both() {
    [ -z "$(left image; left node)" ]
}
ok "nothing is left at all" wait_for 60 none_of_both
finish
