#!/bin/sh
# muster k8s on a real cluster: jobs run there, end as they should, and leave nothing.
#
# MUSTER_TEST_KUBE names a script that starts a cluster and takes images: its commands are up, env
# and image NAME DIR CMD. Without it, KUBECONFIG names a cluster and MUSTER_TEST_KUBE_IMAGE an image
# of contrib/kubernetes/Dockerfile that it has.
# SPDX-License-Identifier: Apache-2.0
kube=${MUSTER_TEST_KUBE:-} kubeconfig=${KUBECONFIG:-} image=${MUSTER_TEST_KUBE_IMAGE:-}
kube_dir=${KUBE_DIR:-} # lib.sh clears the environment
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_cluster() {
    command -v kubectl >/dev/null || { echo "kubectl is missing"; return 1; }
    [ -x "$top_builddir/k8s/muster-k8s" ] ||
        { echo "muster-k8s was not built (libcurl or libyaml is missing)"; return 1; }
    [ -n "$kube" ] || { [ -n "$kubeconfig" ] && [ -n "$image" ]; } ||
        { echo "no cluster: set MUSTER_TEST_KUBE, or KUBECONFIG and MUSTER_TEST_KUBE_IMAGE"; return 1; }
}
need cluster

space=muster-test-$$
[ -z "$kubeconfig" ] || export KUBECONFIG="$kubeconfig"
[ -z "$kube_dir" ] || export KUBE_DIR="$kube_dir"
if [ -n "$kube" ]; then
    image=localhost/muster:test
    started=yes
    "$kube" up >up.log 2>&1 || { started=no && sed 's/^/# /' up.log; } # it may be up already
    eval "$("$kube" env)"
    "${script%/*}/image" "$top_builddir" "$tmp/root"
    "$kube" image "$image" "$tmp/root" '["/bin/sh"]' >image.log 2>&1 || sed 's/^/# /' image.log
fi

# The strictest standard: what a user without any rights may start.
kubectl create namespace "$space" >/dev/null
kubectl label namespace "$space" pod-security.kubernetes.io/enforce=restricted >/dev/null
leave() {
    left_with=$?
    kubectl delete namespace "$space" --wait=false >/dev/null 2>&1
    [ "${started-}" != yes ] || "$kube" down >/dev/null 2>&1
    (exit "$left_with")
    test_cleanup
}
trap leave EXIT

k() {
    kubectl --namespace "$space" "$@"
}

# submit NAME OPTIONS...
submit() {
    name=$1
    shift
    run_limit=150 run muster k8s submit --name "$name" --namespace "$space" --image "$image" \
        --image-pull-policy IfNotPresent --shm 64Mi "$@"
}

in_space() {
    command=$1
    shift
    muster k8s "$command" --namespace "$space" "$@"
}

# left NAME: what is there with the job's label.
left() {
    k get pods,secrets,configmaps,services,networkpolicies --selector "muster.dev/job=$1" --output name 2>&1 |
        grep -v '^No resources'
}

has_phase() {
    [ "$(k get pod "$1" --output 'jsonpath={.status.phase}' 2>/dev/null)" = "$2" ]
}

k create secret generic token --from-literal=value='s3cr"t \x' >/dev/null
submit good --workers 3 --slots 2 --memory 256Mi --cpu 100m --env 'GREETING=hello world' \
    --env-from-secret TOKEN=token/value --wait -- --label none --no_local_rank --no_python \
    sh -c 'echo "$GREETING, rank $RANK of $WORLD_SIZE on $(hostname): $TOKEN $(id -u)"'
is "a job ends with 0" "$rc" 0
is "each rank has run" "$(grep -c '^hello world, rank [0-5] of 6 on good-worker-[0-2]: ' out)" 6
ok "with its secret, as an ordinary user" grep -qF ': s3cr"t \x 1000' out
ok "what is waited for is said" grep -q 'waiting for' err
is "no Secret is left then" "$(k get secrets --output name | grep good)" ""
is "get says how it ended" "$(in_space get good | grep Status)" "Status:    SUCCEEDED"
ok "so does list" sh -c "muster k8s list -n $space | grep -q '^good  *SUCCEEDED'"
is "logs has its output" "$(in_space logs good | grep -c '^hello world')" 6
is "and its last line alone" "$(in_space logs good --tail 1 | wc -l)" 1
none_runs() {
    [ -z "$(k get pods --selector muster.dev/job=good --field-selector status.phase=Running --output name)" ]
}
ok "no worker holds its GPUs" wait_for 30 none_runs
is "delete says so" "$(in_space delete good)" "deepspeedjob.muster.dev/good deleted"
is "nothing is left of the job" "$(left good)" ""

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
    run: {exec: [sh, -c, 'echo rank \$RANK; exit 7']}
  runPolicy: {cleanUpPolicy: All}
END
run_limit=150 run muster k8s submit -f job.yaml --wait
is "a T9k document runs, with worker 0 as launcher, and its status is ours" "$rc" 7
ok "the log was here before the Pods went" grep -q 'rank [01]$' out
ok "the end is named" grep -q 'document-worker-0: exit status 7' err
no_pod() {
    [ -z "$(k get pods --selector "muster.dev/job=$1" --output name 2>/dev/null)" ]
}
ok "cleanUpPolicy All: no Pod is left" wait_for 60 no_pod document
is "get still tells" "$(in_space get document | grep Status)" "Status:    FAILED"
in_space delete document >/dev/null

start muster k8s submit --name long --namespace "$space" --image "$image" --image-pull-policy IfNotPresent \
    --shm 64Mi --workers 2 --job-backoff-limit 1 --wait -- --no_local_rank --no_python sh -c '
        [ "$MUSTER_ATTEMPT" = 1 ] || { echo "here is $(ls /tmp/of-*)"; exit 0; }
        : >"/tmp/of-$RANK"; echo started; exec sleep 300'
ok "a job runs" wait_for 90 grep -q started out
ok "a worker has no key but its own, and no token" k exec long-worker-1 -- sh -c \
    '! ls /etc/muster/key/id_ed25519 2>/dev/null && ! ls /var/run/secrets/kubernetes.io 2>/dev/null'
ok "it cannot log into another" k exec long-worker-1 -- sh -c \
    "! ssh -o BatchMode=yes -o StrictHostKeyChecking=no -p 2222 long-worker-0.long.$space.svc true 2>/dev/null"
k delete pod long-worker-1 --grace-period=0 --force >/dev/null 2>&1
finish_run 150
is "a deleted worker ends the run, which is tried again, and succeeds" "$rc" 0
is "with a new worker under the old name, and the other one as it was" \
    "$(grep -o 'here is .*' out | sort | tr '\n' ' ')" "here is  here is /tmp/of-0 "
ok "that is said, with the worker" grep -q 'long-worker-1.*retry 1 of 1' err
is "and kept" "$(in_space get long -o json | grep backoffCount)" '    "backoffCount": 1,'
in_space delete long >/dev/null
is "nothing is left of it" "$(left long)" ""

submit held --workers 1 -- --no_local_rank --no_python sh -c '[ "$WORLD_SIZE" = 2 ] || exec sleep 300'
is "without --wait it comes back" "$rc" 0
ok "in Arena's words" grep -q 'has been submitted successfully' out
submit held --workers 1 -- other.py
is "the name is taken" "$rc" 73
ok "which is said" grep -q 'a job held exists already' err
is "a job is paused" "$(in_space pause held)" "deepspeedjob.muster.dev/held paused"
ok "it has no Pods then" no_pod held
is "which get says" "$(in_space get held | grep Reason)" "Reason:    paused"
is "it is given another worker" "$(in_space scale held --workers 2)" "deepspeedjob.muster.dev/held scaled"
is "and resumed" "$(in_space resume held)" "deepspeedjob.muster.dev/held resumed"
ok "it runs with two" wait_for 90 has_phase held-launcher Succeeded
in_space delete held >/dev/null
is "nothing is left of it" "$(left held)" ""

# The controller with the rights of its Role alone, killed after one second, after two ...: it does
# what a submit that was killed has left to do, and the rest of the job's life.
k apply -f "$top_srcdir/contrib/kubernetes/controller.yaml" >/dev/null
k delete deployment muster-controller >/dev/null
account=system:serviceaccount:$space:muster-controller
can_i() {
    # shellcheck disable=SC2086
    is "may the controller $1? $2" "$(k auth can-i --as "$account" $1 2>/dev/null)" "$2"
}
can_i 'create pods' yes
can_i 'patch configmaps' yes
can_i 'list secrets' no
can_i 'create pods --subresource exec' no
can_i 'create rolebindings' no
can_i 'create pods --namespace default' no
token_of_account() { # older clusters make one, after a moment, as a Secret
    k create token muster-controller >token 2>/dev/null ||
        k get secret "$(k get serviceaccount muster-controller --output 'jsonpath={.secrets[0].name}')" \
            --output 'jsonpath={.data.token}' 2>/dev/null | base64 -d >token
    [ -s token ]
}
ok "its account has a token" wait_for 20 token_of_account
kubectl config view --raw --minify --flatten >account
KUBECONFIG=account kubectl config set-credentials controller --token "$(cat token)" >/dev/null
KUBECONFIG=account kubectl config set-context --current --user controller >/dev/null
# As from a submit that was killed after its first action.
muster k8s submit --name left --namespace "$space" --image "$image" --image-pull-policy IfNotPresent \
    --shm 64Mi --workers 2 --job-backoff-limit 1 --ttl-after-finished 1 --dry-run -- --no_local_rank \
    --no_python sh -c 'test "$MUSTER_ATTEMPT" = 2' | awk '/^---/ { n++ } n == 1' | k create -f - >/dev/null
lives=0
has_anchor() {
    k get configmap left >/dev/null 2>&1
}
ok "there is the beginning of a job" has_anchor
look_after() {
    lives=$((lives + 1))
    KUBECONFIG=account timeout -s KILL "$lives" muster k8s controller --namespace "$space" >>controller 2>&1
    ! has_anchor
}
ok "the job comes to its end, and is deleted" wait_for 120 look_after
ok "after two attempts" grep -q "$space/left: .*retry 1 of 1" controller
ok "the second was good" grep -q "$space/left: Succeeded" controller
none_left() {
    [ -z "$(left left)" ]
}
ok "nothing is left of it" wait_for 60 none_left

image=localhost/none:such
submit image --workers 1 --wait -- a.py
is "a wrong image ends the wait" "$rc" 68
ok "with Pod and reason" grep -qE 'Pod image-(worker-0|launcher) cannot start: (ErrImagePull|ImagePullBackOff)' err
submit node --workers 1 --selector no=such --max-wait-time 3 --wait -- a.py
is "so does a node that is not there" "$rc" 75
ok "with the scheduler's reason" grep -q 'node-worker-0 did not start within 3 s: Unschedulable' err
is "prune deletes none that has ended just now" "$(in_space prune --since 1h)" ""
is "nor without a time" "$(in_space prune 2>&1 | grep -c 'since=TIME is missing')" 1
is "but each that has ended before" "$(in_space prune --since 0 | sort | tr '\n' ' ')" \
    "deepspeedjob.muster.dev/image deleted deepspeedjob.muster.dev/node deleted "
none_of_both() {
    [ -z "$(left image; left node)" ]
}
ok "nothing is left at all" wait_for 60 none_of_both
finish
