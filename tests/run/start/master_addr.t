#!/bin/sh
# What the user says of the network is tried before the start: --master_addr and MASTER_ADDR, iface=
# and the variables of NCCL and Gloo. What is wrong is said then, again with a failure or a hang, and
# fails a check.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 2
ip -n node2 addr add 172.17.0.1/16 dev lo
both="-H node1:1,node2:1"

# --- --master_addr ---
# wrong ADDRESS HOSTS WHY: muster says so, and what to write, before the ranks run and when they fail.
wrong() {
    # shellcheck disable=SC2086
    run muster --label none --master_addr "$1" $both sh -c 'echo "$MASTER_ADDR" >&2; exit 3'
    said="$2: --master_addr $1 does not lead to node1, the first node ($3): write --master_addr=10.99.0.2, or leave it out"
    is "$1 is said before the start" "$(sed -n 1p err)" "muster: warning: $said"
    ok "... the run is the user's" grep -Fqx "$1" err
    is "... and it is said again when it fails" "$(tail -n 1 err)" "muster: $said"
    is "... whose status stays" "$rc" 3
}
wrong 127.0.0.1 node2 "Connection refused"
wrong 10.9.9.9 "node[1-2]" "Network is unreachable"
wrong node2 "node[1-2]" "Connection refused"
wrong 10.99.0.3 "node[1-2]" "Connection refused"
wrong nosuchhost "node[1-2]" "the name is not known there"
wrong fd00::1 "node[1-2]" "Network is unreachable"

# node2 has another network of that number, as each machine with docker does.
ip -n node1 addr add 172.17.0.1/16 dev lo
wrong 172.17.0.1 node2 "Connection refused"

# good ADDRESS VALUE: nothing is said, and the ranks get VALUE.
good() {
    # shellcheck disable=SC2086
    run muster --label none --master_addr "$1" $both sh -c 'echo "$MASTER_ADDR $GLOO_SOCKET_IFNAME"'
    is "$1 works: nothing is said" "$rc $(cat err)" "0 "
    is "... and the ranks get it" "$(sort -u out)" "$2 eth0"
}
good node1 node1
good 10.99.0.2 10.99.0.2
ip -n node1 addr add fd99::2/64 dev eth0 nodad
ip -n node2 addr add fd99::3/64 dev eth0 nodad
good '[fd99::2]' fd99::2
link=$(ip -n node1 -6 addr show dev eth0 scope link | sed -n 's|.*inet6 \([^/]*\)/.*|\1|p')
good "$link%eth0" "$link%eth0"
wrong "$link%none9" "node[1-2]" "No such device"
wrong "$link" "node[1-2]" "No such device"

# Interfaces are those by which the nodes reach the given address, not the first.
for node in 1 2; do
    ip -n "node$node" link add second type veth peer name "second$node" netns "$$"
    ip link set "second$node" up
    ip -n "node$node" addr add "10.98.0.$node/24" dev second
    ip -n "node$node" link set second up
done
ip link add name other type bridge
ip link set second1 master other
ip link set second2 master other
ip link set other up
# shellcheck disable=SC2086
run muster --label none --master_addr 10.98.0.1 $both sh -c 'echo "$MASTER_ADDR $NCCL_SOCKET_IFNAME"'
is "a second network: its interfaces" "$rc $(sort -u out)" "0 10.98.0.1 =second"

# shellcheck disable=SC2086
run muster check --html page.html --master_addr 127.0.0.1 $both
is "a check fails: 68" "$rc" 68
ok "... and says that there is no page" grep -q "html page.html: no page was written, since no rank ran" err
ok "... before a rank starts" sh -c '! grep -q preflight out && sed -n 1p err | grep -q "check failed before any rank"'
ok "... and says why, once" sh -c '[ "$(grep -c "node2: --master_addr 127.0.0.1 does not lead" err)" = 1 ]'
run muster --master_addr nosuchhost -H node1:1 true
ok "one node alone does not find itself, either" grep -Fq \
    'node1: --master_addr nosuchhost does not lead to node1, the first node (the name is not known there): leave it out' err
# shellcheck disable=SC2086
run muster --no_ssh --node_rank 0 --master_addr 10.9.9.9 $both true
ok "--no_ssh: node 0 knows its own addresses" grep -q 'first node (.*): write an address of this node' err
# shellcheck disable=SC2086
run muster --no_ssh --node_rank 1 --master_addr 10.9.9.9 $both true
is "... and no other" "$rc $(cat err)" "0 "

# shellcheck disable=SC2086
run muster --grace 1 --hang-timeout 2 --json end.json --master_addr 127.0.0.1 $both sleep 1000
is "a hang: 124" "$rc" 124
ok "... its report names the address" sh -c 'sed "1,/hang:/d" err | grep -q "muster: node2: --master_addr 127.0.0.1 does not lead"'
is "... and so does the JSON" "$(json end.json 'd["cautions"][0]["hosts"]')" "['node2']"

# A restart does not say it a second time, but the report does.
# shellcheck disable=SC2086
run muster --max-restarts 1 --grace 1 --master_addr 127.0.0.1 $both sh -c 'exit 3'
is "a restart: one warning" "$(grep -c 'warning: node2: --master_addr' err)" 1
ok "... and one line at the end" sh -c '[ "$(grep -c "^muster: node2: --master_addr" err)" = 1 ]'

# --- MASTER_ADDR ---
# shellcheck disable=SC2086
run env MASTER_ADDR=10.9.9.9 MASTER_PORT=7 muster --label none $both sh -c 'echo "$MASTER_ADDR $MASTER_PORT"'
is "the environment does not decide" "$rc $(sort -u out)" "0 10.99.0.2 29500"
ok "... which is said, with the option" grep -q 'MASTER_ADDR=10.9.9.9 of the environment is not used.* --master_addr=10.9.9.9 gives it' err
ok "... of the port, too" grep -q 'MASTER_PORT=7 of the environment is not used.* --master_port=7 gives it' err
echo MASTER_ADDR=10.8.8.8 >.deepspeed_env
# shellcheck disable=SC2086
run muster --dry-run $both true
ok ".deepspeed_env neither" grep -q 'MASTER_ADDR=10.8.8.8 of the environment is not used' err
# shellcheck disable=SC2086
run env MASTER_ADDR=10.9.9.9 muster --master_addr node1 $both true
is "with the option nothing is said" "$rc $(cat err)" "0 "
rm .deepspeed_env

# --- names of devices ---
# shellcheck disable=SC2086
run muster --env NCCL_SOCKET_IFNAME=ib0 --env GLOO_SOCKET_IFNAME=eth0,eth7 --env NCCL_IB_HCA==mlx5_9 \
    $both sh -c 'exit 4'
for said in 'NCCL_SOCKET_IFNAME=ib0 names an interface that is not there, or has no address' \
    'GLOO_SOCKET_IFNAME=eth0,eth7 names an interface that is not there, or has no address' \
    'NCCL_IB_HCA==mlx5_9 names an InfiniBand device that is not there'; do
    ok "${said%% *} is said before the start" grep -Fq "muster: warning: node[1-2]: $said (there: " err
    ok "... and with the failure" grep -Fq "muster: node[1-2]: $said (there: " err
done
# shellcheck disable=SC2086
run muster --env NCCL_SOCKET_IFNAME=^docker,veth --env GLOO_SOCKET_IFNAME=eth0 --env NCCL_IB_HCA=mlx5_9 \
    --env NCCL_IB_DISABLE=1 $both true
is "what is there, or off, is not mentioned" "$rc $(cat err)" "0 "
# Nodes with such a device, in place of what the kernel has in /sys
. "$top_srcdir/tests/run/healthy.sh"
for node in 1 2; do
    on "node$node" mount -t tmpfs none /sys/class
    on "node$node" mkdir -p "/sys/class/infiniband/mlx5_$node/ports/1"
done
# shellcheck disable=SC2086
run muster --env NCCL_IB_HCA=mlx5_1 $both true
is "NCCL_IB_HCA: a device that one node lacks" "$rc $(cat err)" "0 muster: warning: node2: \
NCCL_IB_HCA=mlx5_1 names an InfiniBand device that is not there (there: mlx5_2:1): unset it, and NCCL finds the devices"
# shellcheck disable=SC2086
run muster --env NCCL_IB_HCA==mlx5_1:1,mlx5_2:1 $both true
is "... one that each has" "$rc $(cat err)" "0 "
# shellcheck disable=SC2086
run muster check --env NCCL_IB_HCA==mlx5_2:2 $both
is "... another port fails a check: 68" "$rc" 68
ok "... which is named" grep -q "^muster: node2: NCCL_IB_HCA==mlx5_2:2 names .*(there: mlx5_2:1)" err
for node in 1 2; do
    on "node$node" umount /sys/class
done
# The login of a node may set it, too.
echo 'export NCCL_SOCKET_IFNAME=ens9' >"$nodes_dir/node2/home/.bashrc"
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash)
    # shellcheck disable=SC2086
    run muster $both true
    ok "what a login sets counts" grep -q 'warning: node2: NCCL_SOCKET_IFNAME=ens9 names' err
    ;;
*) skip "what a login sets counts" "the login shell here is not bash" ;;
esac
rm "$nodes_dir/node2/home/.bashrc"
# shellcheck disable=SC2086
run muster check --env NCCL_SOCKET_IFNAME=ib0 $both
is "a check fails: 68" "$rc" 68
ok "... and says why" grep -q '^muster: node\[1-2\]: NCCL_SOCKET_IFNAME=ib0' err
printf 'node1 slots=1\nnode2 slots=1 iface=none0\n' >hosts
run muster --hostfile hosts true
is "iface= of the hostfile: 68" "$rc" 68
ok "... names the node and the interface" grep -Eq 'node2 +probe +interface none0, given by iface=, has no address' err
ok "nothing is left on the nodes" wait_for 10 nothing_left
finish
