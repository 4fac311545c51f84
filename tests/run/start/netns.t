#!/bin/sh
# Addresses and ports on nodes with networks of their own: what all nodes can reach is chosen.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 2
# An address that comes first and that nobody else can reach, as container bridges are.
ip -n node1 link add a-first type veth peer name a-peer
ip -n node1 link set a-peer up
ip -n node1 addr add 192.168.77.1/24 dev a-first
ip -n node1 link set a-first up
ip -n node2 link set eth0 down
ip -n node2 link set eth0 name ib7
ip -n node2 link set ib7 up

# of NAME ARGUMENTS...: its value in each rank, in rank order.
of() {
    name=$1
    shift
    run muster --label none "$@" sh -c "echo \$RANK \${$name-unset}"
    sort -n out | cut -d' ' -f2- | tr '\n' ' ' | sed 's/ $//'
}

is "MASTER_ADDR is the address that the other node reaches" "$(of MASTER_ADDR)" \
    "10.99.0.2 10.99.0.2 10.99.0.2 10.99.0.2"
is "MASTER_PORT is 29500 when free" "$(of MASTER_PORT)" "29500 29500 29500 29500"
is "NCCL's interface is each node's own" "$(of NCCL_SOCKET_IFNAME)" "=eth0 =eth0 =ib7 =ib7"
is "Gloo's too" "$(of GLOO_SOCKET_IFNAME)" "eth0 eth0 ib7 ib7"
is "the user's own stays" "$(of NCCL_SOCKET_IFNAME --env NCCL_SOCKET_IFNAME=lo)" "lo lo lo lo"
is "--master_addr stays" "$(of MASTER_ADDR --master_addr 10.9.9.9)" "10.9.9.9 10.9.9.9 10.9.9.9 10.9.9.9"
run muster -v sh -c 'echo $$ $(readlink /proc/self/ns/pid) $(cat /proc/sys/kernel/random/boot_id)'
if grep -q 'containment .*pidns' err; then
    is "machines of their own: a PID namespace each" "$(awk '{ print $3 }' out | sort -u | wc -l)" 2
    is "... and a process number for each rank" "$(awk '{ print $2 }' out | sort -u | wc -l)" 4
    ok "... in an order, node by node" sh -c "sort -n -k 1.5 out | awk '{ print \$2 }' | sort -nc"
else
    skip "machines of their own: a PID namespace each" "no PID namespaces here"
fi
# shellcheck disable=SC2016
run muster --label none --role a:2 sh -c 'echo $RANK $MUSTER_ROLE_A_ADDR $MUSTER_ROLE_B_ADDR $MASTER_ADDR $NCCL_SOCKET_IFNAME' : \
    --role b sh -c 'echo $RANK $MUSTER_ROLE_A_ADDR $MUSTER_ROLE_B_ADDR $MASTER_ADDR $NCCL_SOCKET_IFNAME'
is "each role has an address that all nodes reach, on its own first node" "$(sort out | tr '\n' '|')" \
    "0 10.99.0.2 10.99.0.3 10.99.0.2 =eth0|0 10.99.0.2 10.99.0.3 10.99.0.3 =ib7|1 10.99.0.2 10.99.0.3 10.99.0.2 =eth0|1 10.99.0.2 10.99.0.3 10.99.0.3 =ib7|"
is "ranks are on their nodes" "$(run muster --label none sh -c 'echo $RANK $(hostname)'
    sort out | tr '\n' ' ')" "0 node1 1 node1 2 node2 3 node2 "

# With CheckHostIP ssh refuses a host whose address is known with another key. node1 knows itself.
sed 's/^Host node1$/&\n CheckHostIP yes/; s/HostName 10.99.0.2$/HostName node1/' \
    "$nodes_dir/ssh_config" >by-name
printf '%s %s\n' node1 "$(cut -d' ' -f1-2 "$nodes_dir/node1/host_key.pub")" \
    10.99.0.2 "$(cut -d' ' -f1-2 "$nodes_dir/node2/host_key.pub")" >two_keys
sed -i "s|UserKnownHostsFile .*|UserKnownHostsFile $PWD/two_keys|" by-name
chmod 600 by-name
run muster exec --ssh-config by-name --hosts node1 -- true
is "CheckHostIP: another key is known for the address: 77" "$rc" 77
ok "... and ssh's reason is told" grep -q 'you have requested strict checking' err
sed -i '/CheckHostIP/d' by-name
run muster exec --ssh-config by-name --hosts node1 -- true
is "... without it the name's key counts" "$rc" 0

ip netns exec node1 python3 -c 'import socket, time
s = socket.socket()
s.bind(("", 29500))
s.listen()
time.sleep(100)' &
holder=$!
test_pids="$test_pids $holder"
wait_for 10 sh -c "ip netns exec node1 cat /proc/net/tcp | grep -q ':733C '"
port=$(of MASTER_PORT | cut -d' ' -f1)
ok "29500 is taken: another port" sh -c "[ '$port' != 29500 ] && [ '$port' -gt 1023 ]"
run muster --master_port 29500 true
ok "29500 is asked for and taken: an error" test "$rc" != 0
ok "... that names the port and its holder" grep -q "29500.*$holder" err
kill "$holder"

# Cut the link: the launcher notices, and so does the node.
start muster --heartbeat 0.5 --dead-after "$(stretched 3)" --grace 1 sh -c 'echo ready; exec sleep 1000'
wait_for 20 lines out 4
ip -n node2 link set ib7 down
finish_run 30
is "a silent node: 69" "$rc" 69
ok "... is named" grep -q node2 err
ok "... and ends its ranks by itself" wait_for 30 nothing_left

ip link set port2 down
run muster --connect-timeout "$(stretched 2)" true
is "an unreachable node: 68" "$rc" 68
ok "... is named, with the stage" grep -q 'node2.*connect' err
ok "... and no rank started anywhere" nothing_left
finish
