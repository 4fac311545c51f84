# cluster.sh - a real cluster for a test script, in lib.sh's place: it sources that
#
# MUSTER_TEST_KUBE names a script that starts a cluster and takes images: its commands are up, down,
# env, image NAME DIR CMD and node CMD. Without it, KUBECONFIG names a cluster and
# MUSTER_TEST_KUBE_IMAGE an image of contrib/kubernetes/Dockerfile that it has. Scripts have the
# cluster one after the other: one of them stops its API server.
# SPDX-License-Identifier: Apache-2.0
kube=${MUSTER_TEST_KUBE:-} kubeconfig=${KUBECONFIG:-} image=${MUSTER_TEST_KUBE_IMAGE:-}
kube_dir=${KUBE_DIR:-} # lib.sh clears the environment
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_cluster() {
    command -v kubectl >/dev/null || { echo "kubectl is missing"; return 1; }
    [ -x "$top_builddir/k8s/muster-k8s" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
    [ -n "$kube" ] || { [ -n "$kubeconfig" ] && [ -n "$image" ]; } ||
        { echo "no cluster: set MUSTER_TEST_KUBE, or KUBECONFIG and MUSTER_TEST_KUBE_IMAGE"; return 1; }
}
need cluster

# On a busy machine 15 s without a heartbeat are not the end of a node.
patience="--env MUSTER_DEAD_AFTER=30"
space=muster-test-$$
spaces=
[ -z "$kubeconfig" ] || export KUBECONFIG="$kubeconfig"
[ -z "$kube_dir" ] || export KUBE_DIR="$kube_dir"
if [ -n "$kube" ]; then
    exec 9<"$kube"
    flock 9
fi
cluster_leave() {
    left_with=$?
    # shellcheck disable=SC2086
    [ -z "$spaces" ] || kubectl delete namespace $spaces --wait=false >/dev/null 2>&1
    kubectl delete persistentvolume "$space" --wait=false >/dev/null 2>&1
    [ "${started-}" != yes ] || "$kube" down >/dev/null 2>&1
    [ -z "$kube" ] || flock -u 9 # what a killed command has left may have it, too
    (exit "$left_with")
    test_cleanup
}
trap cluster_leave EXIT

if [ -n "$kube" ]; then
    image=localhost/muster:test
    started=yes
    "$kube" up >up.log 2>&1 9>&- || { started=no && sed 's/^/# /' up.log; } # it may be up already
    eval "$("$kube" env)"
    "${script%/*}/image" "$top_builddir" "$tmp/root"
    "$kube" image "$image" "$tmp/root" '["/bin/sh"]' >image.log 2>&1 || sed 's/^/# /' image.log
fi

# make_space NAME [LEVEL]: a namespace, with the strictest standard if no other is named: what a
# user without any rights may start.
make_space() {
    kubectl create namespace "$1" >/dev/null
    kubectl label namespace "$1" "pod-security.kubernetes.io/enforce=${2-restricted}" >/dev/null
    spaces="$spaces $1"
}

k() {
    kubectl --namespace "$space" "$@"
}

in_space() {
    command=$1
    shift
    muster k8s "$command" --namespace "$space" "$@"
}

# submit NAME OPTIONS...
submit() {
    name=$1
    shift
    # shellcheck disable=SC2086
    set -- muster k8s submit --name "$name" --namespace "$space" --image "$image" \
        --image-pull-policy IfNotPresent --shm 64Mi $patience "$@"
    run_limit=150 run "$@"
}

# begin NAME OPTIONS...: submit it and wait for it in the background.
begin() {
    begun=$1
    shift
    begin_as "$begun" "$begun" --wait "$@"
}

# begin_as FILE NAME OPTIONS...: of that job; what it prints is in FILE.out and FILE.err.
begin_as() {
    as=$1
    begun=$2
    shift 2
    # shellcheck disable=SC2086
    MUSTER_TEST_TAG=$tag muster k8s submit --name "$begun" --namespace "$space" --image "$image" \
        --image-pull-policy IfNotPresent --shm 64Mi $patience "$@" >"$as.out" 2>"$as.err" </dev/null &
    echo $! >"$as.pid"
    test_pids="$test_pids $!"
}

# end NAME: its exit status is in rc, its output in out and err.
end() {
    pid=$(cat "$1.pid")
    finish_run 200
    cp "$1.out" out
    cp "$1.err" err
}

# left NAME [NAMESPACE]: what is there with the job's label.
left() {
    kubectl get deployments,pods,secrets,configmaps,services,networkpolicies --namespace "${2-$space}" \
        --selector "muster.dev/job=$1" --output name 2>&1 | grep -v '^No resources'
}

no_pod() {
    [ -z "$(k get pods --selector "muster.dev/job=$1" --output name 2>/dev/null)" ]
}
