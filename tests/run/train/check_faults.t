#!/bin/sh
# muster check on nodes with networks of their own, with something broken: the verdict names it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

need trainer
run muster-train check --backend gloo -n 1 barrier
if grep -q 'built without Gloo' err; then
    skip_all "muster-train was built without Gloo"
fi
own_namespaces
use_netns 3

# check OPTIONS...: one rank on each of three nodes.
check() {
    run muster check --grace 2 -H node1,node2,node3 --quick -- "$@"
}
# prepared SCRIPT OPTIONS...: the same, with a shell before each rank.
prepared() {
    script=$1
    shift
    run muster --label none --grace 2 -H node1,node2,node3 \
        sh -c "$script"'; exec muster-train check --quick "$@"' sh "$@"
}
# slow add|del: what goes into and out of node3's network, at 20 Mbit/s, or less on a busy machine,
# where the others get little more than 100.
slow() {
    if [ "$1" = add ]; then
        slowness
        set -- add tbf rate "$((2000000 / slowness_percent))kbit" burst 16k latency 50ms
    fi
    action=$1
    shift
    # shellcheck disable=SC2086
    ip netns exec node3 tc qdisc $action dev eth0 root "$@" &&
        tc qdisc $action dev port3 root "$@"
}

check --json result.json
is "three nodes alike: 0" "$rc" 0
is "... is said first" "$(sed -n '1s/ on .*//p' out)" "check passed: 3 ranks"
ok "... on one screen" test "$(wc -l <out)" -le 25
is "... nothing else is said" "$(complaints)" ""
is "all layers are run" "$(json result.json "[l['state'] for l in d['layers']]")" "$(
    python3 -c "print(['ok'] * 7)")"
is "each pair is measured, both ways" "$(json result.json \
    "sorted((p['from'], p['to']) for p in d['pairs'] if p['gbs'] > 0 and p['gbs_both_ways'] > 0
        and p['latency_us'] > 0)")" \
    "[('node1', 'node2'), ('node1', 'node3'), ('node2', 'node1'), ('node2', 'node3'), ('node3', 'node1'), ('node3', 'node2')]"

if command -v tc >/dev/null && slow add 2>tc-error; then
    check --json result.json --html page.html
    is "a node with a slow line: 7" "$rc" 7
    ok "... it is named" grep -q '^  node node3 is slow: it sends at most 0\.' out
    is "... no other" "$(grep -c '^  [nt].* is slow' out)" 1
    is "... also to programs" "$(json result.json "(d['failed_layer'], d['status'],
        {'node3' in (p['from'], p['to']) for p in d['pairs'] if p['slow']})")" \
        "('pairs', 7, {True})"
    ok "... values are right" grep -q '^values *ok' out
    ok "... and on the page" grep -q '<li>node node3 is slow' page.html
    slow del
else
    skip "a node with a slow line" "tc cannot limit a line here: $(cat tc-error 2>/dev/null)"
fi

ip -n node2 route add unreachable 10.99.0.4/32
check -T "$(stretched 2)"
is "a pair that is cut: 6" "$rc" 6
ok "... it is named, with the addresses" grep -Eq \
    '^  node2 at 10.99.0.3 .eth0. and node3 at 10.99.0.4 .eth0. do not reach each other: ' out
ok "... it is the second layer" grep -q '^check FAILED at reach: ' out
ip -n node2 route del unreachable 10.99.0.4/32

# busy: megabytes have gone between node2 and node3, which the communicator has sent.
busy() {
    ip netns exec node2 ss -Htin state established dst 10.99.0.4 |
        grep -Eq 'bytes_(acked|received):[0-9]{7}'
}
start muster check --grace 2 -H node1,node2,node3 --full -- -e 1G -T "$(stretched 1)"
ok "the pairs are being measured" wait_for 20 busy
ip -n node2 route add unreachable 10.99.0.4/32
ip -n node3 route add unreachable 10.99.0.3/32
finish_run 60
ok "a pair that is cut later: the communicator breaks" sh -c "grep -q '^check FAILED at ' out && [ $rc = 3 -o $rc = 4 ]"
is "... and the verdict begins with the pair" "$(sed -n '2s/ do not reach .*//p' out)" \
    "  node2 at 10.99.0.3 (eth0) and node3 at 10.99.0.4 (eth0)"
ip -n node2 route del unreachable 10.99.0.4/32
ip -n node3 route del unreachable 10.99.0.3/32

# From node3 to node2 another way, on which what is larger than 1000 bytes is lost, as where
# interfaces have another MTU than the switch.
lossy() {
    ip link add direct netns node3 type veth peer name direct netns node2 &&
        ip -n node2 link set direct up &&
        ip netns exec node3 tc qdisc add dev direct root tbf rate 100mbit burst 1000 latency 50ms &&
        ip -n node3 link set direct up &&
        ip -n node3 route add 10.99.0.3/32 dev direct src 10.99.0.4
}
if command -v tc >/dev/null && lossy 2>tc-error; then
    check -T "$(stretched 2)"
    is "a link that loses large packets: 6" "$rc" 6
    ok "... it is named, and its direction, and what to compare" grep -q \
        "^  node2 does not reach node3 at 10.99.0.4 (eth0), although the reverse works: \
it connects, but large .* MTU" out
    ip -n node3 link del direct
else
    skip "a link that loses large packets" "tc cannot do that here: $(cat tc-error 2>/dev/null)"
fi

ip -n node2 link add a-first type veth peer name a-peer
ip -n node2 link set a-peer up
ip -n node2 addr add 192.168.77.1/24 dev a-first
ip -n node2 link set a-first up
# shellcheck disable=SC2016
prepared '[ "$RANK" != 1 ] || export GLOO_SOCKET_IFNAME=a-first' -T "$(stretched 2)"
is "an interface that leads nowhere: 6" "$rc" 6
ok "... node, address and interface are named" grep -q \
    '^  node2 cannot be reached at 192.168.77.1 (a-first) from 2 of 2 nodes: ' out
ok "... and how this node differs" grep -q \
    '^  GLOO_SOCKET_IFNAME: eth0 on node1, node3; a-first on node2' out

# Two nodes with one address: what answers is not who is meant.
ip -n node3 link add a-first type veth peer name a-peer
ip -n node3 link set a-peer up
ip -n node3 addr add 192.168.77.1/24 dev a-first
ip -n node3 link set a-first up
# shellcheck disable=SC2016
prepared '[ "$RANK" = 0 ] || export GLOO_SOCKET_IFNAME=a-first' -T "$(stretched 2)"
is "two nodes with one address, as docker0 has: 6" "$rc" 6
ok "... both are named" sh -c "grep -q 'node2.* at 192.168.77.1' out && grep -q 'node3.* at 192.168.77.1' out"

# Another version: a copy of the program that says so of itself.
version=$(muster-train --version | cut -d' ' -f2)
sed "s/muster-train $version/muster-train 9.9.9/g" "$(command -v muster-train)" >other
chmod +x other
if [ "${#version}" = 5 ] && [ "$(./other --version)" = "muster-train 9.9.9" ]; then
    # shellcheck disable=SC2016
    prepared '[ "$RANK" != 1 ] || exec '"$PWD"'/other check --quick'
    is "a node with another version: 5" "$rc" 5
    ok "... it is named, with both" grep -q "^  node2 has muster-train 9.9.9, node1 has $version: " out
else
    skip "a node with another version" "the version in the program cannot be changed"
fi

# shellcheck disable=SC2016
run muster --label none --grace 2 -H node1,node2:2,node3 \
    sh -c '[ "$RANK" != 2 ] || exec sleep 100; exec muster-train check -T 1'
is "a rank that never comes: 4" "$rc" 4
ok "... it is the verdict" grep -q '^  PMI barrier: not all 4 ranks arrived within 1 s' out
ok "... its node's other rank names it" grep -q 'within 1 s: rank 2 on this node did not' err

# Without a check to send beside the agent, muster check takes the muster-train beside itself: one
# that hangs on node2.
mkdir bin
cp "$(command -v muster)" "$top_builddir/agent/muster-agent" bin
script_file bin/muster-train <<END
#!/bin/sh
[ "\$RANK" != 1 ] || exec sleep 100
exec $(command -v muster-train) "\$@"
END
run bin/muster check --agent "$PWD/bin/muster-agent" --grace 2 -H node1,node2,node3 -- -T 1
is "a node of which nothing comes: 4" "$rc" 4
ok "... is named" grep -q \
    '^muster: not all ranks on node2 had arrived; the other nodes waited for them' err
ok "nothing is left" no_leftovers
finish
