#!/bin/sh
# A way on which large packets are lost, as where interfaces have another MTU than the switch: ranks
# connect, and wait for ever. It is said before the start, again when the run fails or hangs, and by
# muster doctor; muster check has a test of its own (check_faults.t).
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 3
command -v tc >/dev/null || skip_all "tc is missing"

# lossy N M: another way from node N to node M, for packets of at most 1000 bytes.
lossy() {
    ip link add direct netns "node$1" type veth peer name direct netns "node$2" &&
        ip -n "node$2" link set direct up &&
        ip netns exec "node$1" tc qdisc add dev direct root tbf rate 100mbit burst 1000 latency 50ms &&
        ip -n "node$1" link set direct up &&
        ip -n "node$1" route add "10.99.0.$(($2 + 1))/32" dev direct src "10.99.0.$(($1 + 1))"
}
says() {
    grep -Eq -e "$1" err
}
warning='large packets from node1 at 10\.99\.0\.2 do not arrive, small ones do: .*ping -M do -s 1472 node1$'

run muster -H node1:1,node2:1,node3:1 true
is "a good network: nothing is said" "$rc $(cat err)" "0 "

lossy 1 2 2>tc-error || skip_all "tc cannot do that here: $(cat tc-error)"
run muster -H node1:1,node2:1,node3:1 sh -c 'echo up'
is "from the first node to another: the run starts" "$rc $(wc -l <out)" "0 3"
is "... and muster warns" "$(grep -c . err)" 1
ok "... of that node, and what to do" says "^muster: warning: node2: $warning"
run muster --json end.json -H node1:1,node2:1,node3:1 false
is "the run fails" "$rc" 1
is "... and the report says it again" "$(grep -Ec "node2: $warning" err)" 2
is "... to programs as well" "$(json end.json "[c['hosts'] for c in d['cautions']]")" "[['node2']]"
run muster -H node2:1,node1:1,node3:1 true
is "to the first node: small packets are enough at the start" "$rc $(cat err)" "0 "
run muster doctor --full -H node1,node2,node3
ok "doctor finds it" grep -Eq '^FAIL *node2 *network *large packets from node1 do not arrive, small ones do' out
ip -n node1 link del direct

# Two other nodes: only a hang makes muster look at all pairs.
lossy 3 2
start muster --json end.json -H node1:1,node2:1,node3:1 --hang-timeout 2 --grace 1 \
    sh -c 'echo up; exec sleep 1000'
finish_run 60
is "a run hangs" "$rc" 124
ok "... the pair is named, and which way" says \
    '^muster: node2 cannot reach node3 \(10\.99\.0\.3 -> 10\.99\.0\.4: large packets from there do not arrive, small ones do; compare the MTU on the way\)'
is "... no other" "$(grep -c 'not arrive' err)" 1
is "... to programs as well" "$(json end.json "[(u['from'], u['to']) for u in d['unreached']]")" \
    "[('node2', 'node3')]"
ok "nothing is left" no_leftovers
finish
