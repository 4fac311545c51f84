#!/bin/sh
# Nodes find their way to node 0 while others are still being connected, whoever comes first.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

use_sshd 3
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash) ;;
*) skip_all "the login shell here is not bash" ;;
esac

# slow NODE: its login waits for the file "go".
slow() {
    rm -f go "$nodes_dir"/node*/home/.bashrc
    echo "until [ -e '$PWD/go' ]; do sleep 0.2; done" >"$nodes_dir/$1/home/.bashrc"
}

says() {
    grep -q "$1" err
}

run muster true # pushes the agent
slow node2
start muster -v sh -c 'echo "$RANK $MASTER_ADDR $MASTER_PORT"'
ok "node 0 holds a port before all are there" wait_for 20 says 'node1: probing -> probed'
ok "... and those that are there have tried to reach it" wait_for 20 says 'node3: probing -> probed'
is "... although one is not" "$(grep -c 'node2: greeting' err)" 0
: >go
finish_run 30
is "... they all start" "$rc" 0
ok "... and the last one's PLAN does not wait until it has tried" says 'node2: probing -> preparing'
is "... with one address and port" "$(cut -d' ' -f3- out | sort -u | wc -l)" 1

# Node 0 does not greet in time, as if a disk held it up. The others try again when all are ready.
agent_of() {
    leftovers | while read -r process _; do
        tr '\0' '\n' <"/proc/$process/environ" | grep -q "^HOME=$nodes_dir/$1/" &&
            grep -qxz -- --nonce "/proc/$process/cmdline" && echo "$process"
    done
}
slow node2
start muster -vv sh -c 'echo "$RANK $MASTER_ADDR $MASTER_PORT"'
ok "node 0 listens" wait_for 20 says 'node3: probing -> probed'
agent=$(agent_of node1)
kill -STOP "$agent"
: >go
ok "... but does not greet the last one" wait_for 20 says 'node2: -> PROBED'
kill -CONT "$agent"
finish_run 30
is "... they all start" "$rc" 0
is "... with one address and port" "$(cut -d' ' -f3- out | sort -u | wc -l)" 1

slow node1
start muster -v true
ok "those that are there first wait for node 0" wait_for 20 says 'node3: greeting -> answered'
ok "... all of them" wait_for 20 says 'node2: greeting -> answered'
is "... and are asked nothing" "$(grep -c probing err)" 0
: >go
finish_run 30
is "... they all start" "$rc" 0

echo 'echo "maintenance tonight"; exit 7' >"$nodes_dir/node1/home/.bashrc"
start muster touch started
finish_run 30
is "node 0 cannot be had: 76" "$rc" 76
ok "... and says why" says 'maintenance tonight'
rm "$nodes_dir/node1/home/.bashrc"

# Of what node 0 lacks and of what another one lacks one table tells.
take_port
echo 'echo "maintenance tonight"; exit 7' >"$nodes_dir/node3/home/.bashrc"
run muster --master_port "$taken_port" touch started
ok "a port that is taken and a node that fails are in one table" says '2 of 3 nodes failed'
ok "... the port" says 'node1.*master port'
ok "... and the node" says 'node3.*maintenance tonight'
ok "... and nothing was started" test ! -e started
ok "nothing is left on the nodes" wait_for 10 nothing_left
finish
