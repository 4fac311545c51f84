#!/bin/sh
# muster k8s in a Pod talks to the API server itself, with the Pod's service account and without
# kubectl, and tells its token to nobody else. The API server is one in memory.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

program=$top_builddir/tests/run/kubernetes/muster-k8s
need_program() {
    [ -x "$program" ] || { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
    command -v openssl >/dev/null || { echo "openssl is missing"; return 1; }
}
need program

run_limit=500 run python3 "${script%/*}/in_cluster.py" "$program"
is "the stories were told" "$rc" 0
# said WHAT STORY PATTERN: its line is that.
said() {
    ok "$1" grep -q "^$2: $3\$" out || grep "^$2: " out | sed 's/^/# /'
}
no_kubectl='68 muster k8s: error: kubectl is not on PATH; muster k8s reaches the cluster through it | '
said "a job is submitted and waited for" submit '0 .*the log of j-launcher.*'
said "... in the Pod's namespace" in training
said "get shows it" get '0 .*j | '
said "delete deletes it" delete '0 .*'
said "another namespace can be named" "in another" '0 default'
said "so does a controller" controller '{"state":"Succeeded"'
said "... in the Pod's namespace" "it says" "looking after the jobs of namespace training"
said "a token of another cluster is refused" token '68 .*the cluster refuses (401): Unauthorized | '
said "a server with a foreign certificate is no cluster" stranger '68 .*[cC]ertificate.*'
said "... which is not asked again, and learns nothing" "at once" 'True \[\]'
said "KUBECONFIG is for kubectl" KUBECONFIG "$no_kubectl"
said "so is --context" context "$no_kubectl"
said "so is ~/.kube/config" "file at home" "$no_kubectl"
said "and so is all outside of Pods" "no Pod" "$no_kubectl"
said "the Pod's cluster hears nothing of that" asked '\[\]'
finish
