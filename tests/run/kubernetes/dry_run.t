#!/bin/sh
# muster k8s without a cluster: objects are printed, and errors say what to write.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_k8s() {
    [ -x "$top_builddir/k8s/muster-k8s" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}

# A muster without it, as one that was built so.
mkdir alone
cp "$top_builddir/launcher/muster" alone/
if [ ! -e /usr/local/libexec/muster/muster-k8s ]; then
    run alone/muster k8s list
    is "a build without it says so" "$rc" 127
    ok "and how to build it" grep -q 'configure --enable-kubernetes' err
fi

need k8s
run muster k8s
is "no subcommand" "$rc" 2
ok "... lists them" grep -q '^  submit' err
run muster k8s sumbit
is "a wrong one" "$rc" 2
ok "... is told the right one" grep -q 'did you mean submit?' err
run muster k8s submit --name j --image i --workers 2 --gpus 8 --dry-run -- train.py --lr 1
is "a dry run" "$rc" 0
is "... prints all objects" "$(grep '^kind: ' out | tr '\n' ' ')" \
    "kind: ConfigMap kind: Secret kind: Secret kind: ConfigMap kind: Service kind: NetworkPolicy kind: Pod kind: Pod kind: Pod "
ok "... but makes no key" not grep -q 'PRIVATE KEY' out
run muster k8s submit --name j --image i --dry-run -o json -- train.py
ok "... and JSON" python3 -c 'import json; assert len(json.load(open("out"))["items"]) == 8'
run muster k8s submit --name j --image i --dry-run --gang --queue q --tensorboard --data c:/training_logs -- a.py
is "... and what else is asked for" "$(grep -E '^(apiVersion: [^v]|kind: [PDS])' out | tr '\n' ' ')" \
    "kind: Secret kind: Secret apiVersion: scheduling.volcano.sh/v1beta1 kind: PodGroup kind: Service apiVersion: networking.k8s.io/v1 apiVersion: apps/v1 kind: Deployment kind: Service kind: Pod kind: Pod "
run muster k8s submit --name j --image i --dry-run --dashboard -- a.py
is "a page takes no object of its own" "$(grep -c '^kind: ' out) $(grep -n -- '- --metrics-listen=' out | wc -l)" "8 1"
ok "... and no port but of the launcher's own loopback" grep -q -- '- --metrics-listen=127.0.0.1:9464$' out
run muster k8s submit --name j --image i --dry-run --metrics servicemonitor --metrics-namespace mon -- a.py
is "Prometheus gets three objects" "$(awk '/^kind: / { kind = $2 } /^  name: j-metrics$/ { printf "%s ", kind }' out)" \
    "NetworkPolicy Service ServiceMonitor "
ok "... and the port of the Pod" grep -q -- '- --metrics-listen=0.0.0.0:9464$' out
run muster k8s submit --name j --image i --dry-run --metrics push -- a.py
is "another way to find it" "$rc $(cat err)" \
    "2 muster k8s: error: --metrics: must be annotation or servicemonitor, not 'push'"
run muster k8s submit --name j --image i --dry-run
is "a job of nothing" "$rc" 2
run muster k8s submit -f nowhere.yaml
is "a file that is not there" "$rc" 65
printf 'apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nspec: {wroker: {}}\n' >wrong.yaml
run muster k8s submit -f wrong.yaml
is "a wrong document" "$rc" 65
ok "... is told the field" grep -q 'wrong.yaml: spec.wroker: there is no such field; did you mean worker?' err
run muster k8s submit -f wrong.yaml --gpus 2
is "a document and options" "$rc" 2
run muster k8s get
is "get of nothing" "$rc" 2
mkdir empty
run env PATH="$PWD/empty" "$top_builddir/launcher/muster" k8s list
is "without kubectl" "$rc" 68
ok "... which is said" grep -q 'kubectl is not on PATH' err
if command -v kubectl >/dev/null; then
    run env KUBECONFIG="$PWD/none" muster k8s list
    is "without a cluster" "$rc" 68
    cat >config <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: space}}]
current-context: c
users: [{name: u, user: {}}]
END
    mkdir sockets
    start env -u XDG_RUNTIME_DIR KUBECONFIG="$PWD/config" TMPDIR="$PWD/sockets" muster k8s list
    has_socket() {
        [ -n "$(find sockets -type s)" ]
    }
    ok "a server that is away is waited for" wait_for 20 has_socket
    kill -INT "$pid"
    finish_run 10
    is "Ctrl-C ends that" "$rc" 130
    is "and leaves no socket" "$(ls sockets)" ""
    ok "nor a kubectl" no_leftovers
fi
finish
