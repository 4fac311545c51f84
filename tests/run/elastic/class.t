#!/bin/sh
# What a run cost: the class of a machine that only its cloud knows, and spares, which wait.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec

# cloud KIND: metadata.py answers on this machine, of which all nodes are.
cloud() {
    python3 "$here/commands/metadata.py" "$1" >ready &
    service=$!
    test_pids="$test_pids $service"
    ok "a cloud: $1" wait_for 20 grep -q ready ready
}

told() {
    [ "$(grep -c "$1" err)" = "$2" ]
}

{
ip link set lo up
ip addr add 169.254.169.254/32 dev lo
printf 'node1 slots=1\nnode2 slots=1 class=on-demand\nnode3 slots=1\n' >hosts
cloud safe
start muster -v --spot aws --json end.json --spares 1 --hostfile hosts \
    sh -c 'until [ -e go ]; do sleep 0.2; done'
ok "all agents hear what kind of machine they are on" wait_for 30 told \
    'spot, according to its cloud' 3
ok "the spare is there" wait_for 30 told 'checked; it waits for a place' 1
touch go
finish_run 30
is "the run ends well" "$rc" 0
is "the classes: what the hostfile says counts first" "$(json end.json \
    '" ".join(sorted(n["node"] + ":" + n["class"] for n in d["cost"]["nodes"]))')" \
    "node1:spot node2:on-demand node3:spot"
ok "the spare was paid for, and waited" json_says end.json \
    '[(n["waiting_s"] > 0, n["useful_s"]) for n in d["cost"]["nodes"]
      if n["node"] == "node3"] == [(True, 0)]'

rm go
kill "$service"
cloud notice
start muster -v --spot aws --json end.json --spares 1 --hostfile hosts \
    sh -c 'until [ -e go ]; do sleep 0.2; done'
ok "a spare is taken away: it leaves" wait_for 30 told 'node3 leaves now: no rank runs there' 1
ok "the others are to go, too" wait_for 30 told 'node[12] leaves in .* (EC2 takes it away' 2
ok "... it has left" wait_for 30 told 'node3: done -> ended' 1
touch go
finish_run 30
is "the run ends well" "$rc $(grep -c 'spare lost\|did not ask for it' err)" "0 0"

rm go
kill "$service"
cloud azure
start muster -v --spot azure --json end.json -H node1:1 sh -c 'until [ -e go ]; do sleep 0.2; done'
ok "Azure: it says what kind of machine this is" wait_for 30 told 'spot, according to its cloud' 1
touch go
finish_run 30
is "the run ends well" "$rc" 0

rm go
kill "$service"
cloud gcp
start muster --spot gcp --max-wait 1000 -H node1:1 sh -c 'until [ -e go ]; do sleep 0.2; done'
ok "Google: of the 30 s the first is over when the answer came twice" wait_for 30 told \
    'node1 leaves in [12]\{0,1\}[0-9] s (Google Cloud takes it away)' 1
touch go
finish_run 30
is "the run ends well" "$rc" 0

# goes CLOUD ADDRESS TITLE: in an hour, by its own address, questions and time.
goes() {
    rm go
    kill "$service"
    ip addr add "$2/32" dev lo
    cloud "$1"
    start muster --spot "$1" --max-wait 1000 -H node1:1 sh -c 'until [ -e go ]; do sleep 0.2; done'
    ok "$3: a machine goes when its service says" wait_for 30 told \
        "node1 leaves in 3[56][0-9][0-9] s ($3 takes it away)" 1
    touch go
    finish_run 30
    is "the run ends well" "$rc" 0
}
goes alibaba 100.100.100.200 "Alibaba Cloud"
goes tencent 169.254.0.23 "Tencent Cloud"
goes volcengine 100.96.0.96 Volcengine
ok "nothing is left" no_leftovers
}
finish
