#!/bin/sh
# A real cluster takes contrib's custom resource, refuses documents that are wrong, and makes a job of
# one that is right. The PodGroups of three schedulers have the fields that their definitions ask for;
# the schedulers are not there.
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
    refused "metrics by another way" "spec.metrics.via" "run: {python: [a]}" "metrics: {via: push}"
    refused "... and at the port of the sshd" "2222 is the port of the sshd" "run: {python: [a]}" \
        "metrics: {via: annotation, port: 2222}"
    ok "a document is taken" document own \
        "otherArgs: [--dead-after=30], run: {exec: [sh, -c, 'echo rank \$RANK']}" \
        "dashboard: true"
    ok "it cannot become another program" not document own "run: {exec: ['true']}"
    ok "... which is said" grep -q 'cannot be changed' said || sed 's/^/# /' said
    ok "the controller makes a job of it, which succeeds" wait_for 180 phase_is Succeeded || {
        k get dsj,pods 2>&1
        k logs deployment/muster-controller 2>&1
    } | sed 's/^/# /'
    is "with the output of both ranks" "$(muster k8s logs --namespace "$space" own | grep -c 'rank [01]$')" 2
    ok "kubectl shows what it is" sh -c "kubectl get dsj --namespace $space own | grep -q '^own  *Succeeded  *2 '"
    k describe dsj own >described 2>&1
    ok "and what became of it" grep -q 'Normal  *Succeeded .* muster-controller ' described || sed 's/^/# /' described
    k delete dsj own >/dev/null
    ok "all goes with it" wait_for 60 nothing_of_it || left own "$space" | sed 's/^/# /'
else
    skip "what CEL refuses, and a job by kubectl apply" "this API server has no CEL for custom resources"
fi

# ---- PodGroups ----

# group_definition GROUP VERSION FIELDS: as much of it as we write, and the API server drops the rest.
group_definition() {
    kubectl apply --validate=false -f - >>applied.groups 2>&1 <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podgroups.$1}
spec:
  group: $1
  names: {kind: PodGroup, listKind: PodGroupList, plural: podgroups, singular: podgroup}
  scope: Namespaced
  versions:
    - name: $2
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [minMember]
              properties: {minMember: {type: integer, format: int32, minimum: 1}, $3}
END
}
text='type: string, minLength: 1'
number='type: integer, format: int32, minimum: 0'
volcano=scheduling.volcano.sh plugins=scheduling.x-k8s.io t9k=scheduler.tensorstack.dev
group_definition "$volcano" v1beta1 "queue: {$text}, priorityClassName: {$text}"
group_definition "$plugins" v1alpha1 "scheduleTimeoutSeconds: {$number}"
group_definition "$t9k" v1beta1 "queue: {$text}, priority: {$number}"
for group in "$volcano" "$plugins" "$t9k"; do
    ok "$group has a definition" kubectl wait --for condition=established --timeout 60s \
        "customresourcedefinition/podgroups.$group" || sed 's/^/# /' applied.groups
done
# spec_of GROUP NAME: of the PodGroup, as the API server keeps it.
spec_of() {
    k get "podgroups.$1" "$2" --output json | python3 -c \
        'import json, sys; print(json.dumps(json.load(sys.stdin)["spec"], sort_keys=True))'
}
empty_group() {
    printf '%s\n' "apiVersion: $volcano/v1beta1" 'kind: PodGroup' 'metadata: {name: empty}' 'spec: {minMember: 0}' |
        k apply -f - >said 2>&1
}
ok "a group of nobody is refused, so the rest is checked, too" not empty_group
ok "... for that reason" grep -q 'spec.minMember' said || sed 's/^/# /' said
kubectl create priorityclass "$space" --value=1 >/dev/null
submit volcano --workers 3 --gang --queue batch --priority "$space" -- a.py
is "a job for Volcano" "$rc" 0
is "its PodGroup" "$(spec_of "$volcano" volcano)" \
    "{\"minMember\": 4, \"priorityClassName\": \"$space\", \"queue\": \"batch\"}"
is "... to which all Pods belong" "$(k get pods --selector muster.dev/job=volcano --output \
    'jsonpath={range .items[*]}{.metadata.annotations.scheduling\.k8s\.io/group-name} {.spec.schedulerName};{end}')" \
    "volcano volcano;volcano volcano;volcano volcano;volcano volcano;"
submit t9k --workers 2 --min-workers 1 --scheduler t9k-scheduler --queue batch --priority 7 -- a.py
is "an elastic one for T9k's scheduler" "$rc" 0
is "its PodGroup is of the fewest workers" "$(spec_of "$t9k" t9k)" '{"minMember": 2, "priority": 7, "queue": "batch"}'
# The scheduler that is there takes no notice of the group.
begin plugins --workers 2 --gang --scheduler default-scheduler --max-wait-time 100 -- --label none --no_local_rank \
    --no_python sh -c 'echo "rank $RANK"'
end plugins
is "one for the scheduler-plugins runs" "$rc $(grep -c '^rank [01]$' out)" "0 2"
is "its PodGroup" "$(spec_of "$plugins" plugins)" '{"minMember": 3, "scheduleTimeoutSeconds": 100}'
for job in volcano t9k plugins; do
    in_space delete "$job" >/dev/null
done
no_group() {
    [ -z "$(for group in "$volcano" "$plugins" "$t9k"; do k get "podgroups.$group" --output name; done 2>&1 | grep podgroup)" ]
}
ok "the groups go with their jobs" wait_for 120 no_group

# ---- Prometheus ----

submit monitored --workers 1 --metrics servicemonitor --metrics-namespace monitoring --label release=one -- a.py
is "without the Prometheus operator there are no ServiceMonitors" \
    "$rc $(grep -c 'the cluster has no ServiceMonitors: the Prometheus operator is not installed' err)" "73 1"
nothing_of_monitored() {
    [ -z "$(left monitored "$space")" ]
}
ok "... and no job" wait_for 60 nothing_of_monitored || left monitored "$space" | sed 's/^/# /'
# As much of its definition as we write, and what it asks for; the API server drops the rest.
kubectl apply --validate=false -f - >applied.monitors 2>&1 <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [endpoints, selector]
              properties:
                selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
                endpoints: {type: array, items: {type: object, properties: {port: {type: string}, path: {type: string}}}}
                targetLabels: {type: array, items: {type: string}}
END
ok "the operator's kind has a definition" kubectl wait --for condition=established --timeout 60s \
    customresourcedefinition/servicemonitors.monitoring.coreos.com || sed 's/^/# /' applied.monitors
submit monitored --workers 1 --metrics servicemonitor --metrics-namespace monitoring --label release=one -- \
    --no_local_rank --no_python sleep 1000
is "with it there is a job" "$rc" 0
is "its ServiceMonitor" "$(k get servicemonitor monitored-metrics --output json | python3 -c 'import json, sys
one = json.load(sys.stdin)
print(one["metadata"]["labels"]["release"], json.dumps(one["spec"], sort_keys=True))')" "one {\"endpoints\": \
[{\"path\": \"/metrics\", \"port\": \"metrics\"}], \"selector\": {\"matchLabels\": {\"muster.dev/job\": \
\"monitored\", \"muster.dev/role\": \"metrics\"}}, \"targetLabels\": [\"muster.dev/job\"]}"
is "... selects one Service" "$(k get services --selector muster.dev/job=monitored,muster.dev/role=metrics \
    --output 'jsonpath={.items[*].metadata.name} {.items[*].spec.ports[*].name}')" "monitored-metrics metrics"
is_its_launcher() {
    launcher=$(k get pod monitored-launcher --output 'jsonpath={.status.podIP}')
    [ -n "$launcher" ] && [ "$(k get endpoints monitored-metrics --output \
        'jsonpath={.subsets[*].addresses[*].ip}:{.subsets[*].ports[*].port}')" = "$launcher:9464" ]
}
ok "... which is the launcher's Pod alone" wait_for 120 is_its_launcher || k get endpoints,pods | sed 's/^/# /'
is "... and one namespace may read it" "$(k get networkpolicy monitored-metrics --output 'jsonpath={.spec.podSelector.matchLabels.muster\.dev/role} {.spec.ingress[*].from[*].namespaceSelector.matchLabels}')" \
    'launcher {"kubernetes.io/metadata.name":"monitoring"}'
in_space delete monitored >/dev/null
no_monitor() {
    [ -z "$(k get servicemonitors --output name)" ]
}
ok "it goes with its job" wait_for 120 no_monitor
kubectl delete customresourcedefinition servicemonitors.monitoring.coreos.com --wait=false >/dev/null
kubectl delete priorityclass "$space" >/dev/null
kubectl delete customresourcedefinition "podgroups.$volcano" "podgroups.$plugins" "podgroups.$t9k" --wait=false >/dev/null
kubectl delete -f "$definition" --wait=false >/dev/null 2>&1
finish
