#!/bin/sh
# A real cluster takes contrib's custom resource, refuses documents that are wrong, and makes a job of
# one that is right.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/kubernetes/cluster.sh"

# With the definition all jobs of a cluster go.
need_own_cluster() {
    [ -n "$kube" ] || { echo "others use this cluster: set MUSTER_TEST_KUBE"; return 1; }
    kubectl api-versions >api-versions || return 1
}
need own_cluster

definition=$top_srcdir/contrib/kubernetes/deepspeedjob.yaml
make_space "$space"
kubectl apply --validate=false -f "$definition" >applied 2>&1 || sed 's/^/# /' applied
sed "s|REGISTRY/muster-controller:1|$image|" "$top_srcdir/contrib/kubernetes/controller.yaml" |
    k apply -f - >/dev/null

# document NAME CONFIG [MORE]: given to the API server; what that says is in the file said.
document() {
    k apply -f - >said 2>&1 <<END
apiVersion: muster.dev/v1beta1
kind: DeepSpeedJob
metadata: {name: $1}
spec:
  worker:
    replicas: 2
    template: {spec: {containers: [{name: worker, image: $image, imagePullPolicy: IfNotPresent}]}}
  config: {localRank: false, $2}
  ${3-}
END
}

# refused WHAT MESSAGE CONFIG [MORE]
refused() {
    ok "refused: $1" not document wrong "$3" "${4-}"
    ok "... which is said" grep -qF "$2" said || sed 's/^/# /' said
}

phase_is() {
    [ "$(k get dsj own --output 'jsonpath={.status.phase}')" = "$1" ]
}

nothing_of_it() {
    [ -z "$(left own "$space")" ]
}

ok "the definition is taken" kubectl wait --for condition=established --timeout 60s \
    customresourcedefinition/deepspeedjobs.muster.dev
if kubectl get customresourcedefinition deepspeedjobs.muster.dev --output json |
    grep -q '"x-kubernetes-validations"'; then
    refused "two programs" "must have exactly one of python, module and exec" \
        "run: {python: [a], module: [b]}"
    refused "none" "must have either run or customCommand" "slotsPerWorker: 1"
    refused "an option that is muster's" "belong to localRank, autotune" \
        "run: {python: [a]}, otherArgs: [--no_local_rank]"
    refused "an elastic job of no size" "must have minReplicas and maxReplicas" \
        "run: {python: [a]}" "elastic: {enabled: true}"
    ok "a document is taken" document own \
        "otherArgs: [--dead-after=30], run: {exec: [sh, -c, 'echo rank \$RANK']}"
    ok "it cannot become another program" not document own "run: {exec: ['true']}"
    ok "... which is said" grep -q 'cannot be changed' said || sed 's/^/# /' said
    ok "the controller makes a job of it, which succeeds" wait_for 180 phase_is Succeeded || {
        k get dsj,pods 2>&1
        k logs deployment/muster-controller 2>&1
    } | sed 's/^/# /'
    is "with the output of both ranks" "$(muster k8s logs --namespace "$space" own | grep -c 'rank [01]$')" 2
    ok "kubectl shows what it is" sh -c "kubectl get dsj --namespace $space own | grep -q '^own  *Succeeded  *2 '"
    k delete dsj own >/dev/null
    ok "all goes with it" wait_for 60 nothing_of_it || left own "$space" | sed 's/^/# /'
else
    skip "what CEL refuses, and a job by kubectl apply" "this API server has no CEL for custom resources"
fi
kubectl delete -f "$definition" --wait=false >/dev/null 2>&1
finish
