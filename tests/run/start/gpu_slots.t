#!/bin/sh
# Hosts without slots=N have as many slots as the agent there finds GPUs.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

mkdir -p root/dev
for file in nvidia0 nvidia1 nvidia2 nvidiactl; do
    : >"root/dev/$file"
done
printf 'node1\nnode2\nnode3 slots=1\n' >hosts
MUSTER_TEST_ROOT=$PWD/root
export MUSTER_TEST_ROOT

# ranks WORDS...: a run whose ranks print their numbers, and what it says of slots.
ranks() {
    run muster --agent="$test_agent" --hostfile=hosts --label=none "$@" sh -c 'echo "$RANK/$WORLD_SIZE"'
    echo "$(sort out | xargs): $(sed -n 's/.*using the GPUs found as slots: //p' err)"
}
is "as many as there are GPUs" "$(ranks)" "0/7 1/7 2/7 3/7 4/7 5/7 6/7: node[1-2] 3"
is "the first hosts are asked alone" "$(ranks --num_nodes=1 -np 2)" "0/2 1/2: node1 3"
is "a slot may be chosen" "$(ranks -i node2:2@node3)" "0/2 1/2: node2 3"
ranks -i node2:3 >/dev/null
ok "... one that is there" grep -q 'host node2 has no slot 3: it has 0 to 2' err
is "--num_gpus says it" "$(ranks --num_gpus=1)" "0/3 1/3 2/3: "
is "who has slots=N is not asked" "$(ranks -i node3)" "0/1: "
rm root/dev/nvidia?
is "no GPU: one slot" "$(ranks)" "0/3 1/3 2/3: node[1-2] none (1 slot)"
ok "nothing is left" no_leftovers

unset MUSTER_TRANSPORT
run muster --transport=ssh --ssh_port=1 -H ./hosts --include=127.0.0.1 true
is "a host that is not in the file" "$rc" 2
echo 127.0.0.1 >hosts
run muster --transport=ssh --ssh_port=1 --hostfile=hosts true
is "a host that cannot be asked: 68, said once" "$rc $(grep -c refused err)" "68 1"
finish
