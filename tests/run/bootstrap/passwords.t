#!/bin/sh
# Nodes with different passwords, as rented machines have them: muster asks for one, and once more for
# each node that refuses it. One that is wrong costs only its node.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"
. "$here/bootstrap/password_nodes.sh"
nodes_agents= # a node is root's, and gets one once

own_namespaces
trap 'status=$?; nodes_stop; (exit $status); test_cleanup' EXIT
unset SSH_AUTH_SOCK
password_nodes "the first" second third
: >conf

# typed PASSWORD [HOST=PASSWORD...]: a plan, with these typed on a terminal.
typed() {
    run python3 "$here/bootstrap/type_password.py" "$@" -- muster bootstrap --only key,name conf
}

# questions: the hosts whose passwords were asked for, in any order.
questions() {
    grep -o 'muster: password of [^,]*, which refuses that one: ' out | sort | cut -d' ' -f4 | tr '\n' ' '
}

typed "the first" node2=second node3=third
is "each node takes its own" "$rc" 0 || sed 's/^/#   /' out
is "one is asked for all of them" "$(grep -c 'password (asked once' out)" 1
is "and once for each that refuses it" "$(questions)" "node2, node3, "
ok "no password is shown" not grep -Eq 'the first|second|third' out
ok "all nodes are planned" grep -q '^node\[1-3\]  ' out
is "the node that took the first got no other" \
    "$(grep -c 'Failed password' "$nodes_dir/node1/sshd.log")" 0
is "one that did not, got it once" "$(grep -c 'Failed password' "$nodes_dir/node3/sshd.log")" 1

typed "the first" node2=second node3=wrong
is "one that is wrong: 77" "$rc" 77
ok "... of the node that refused it" grep -q 'node3 .*password refused for user' out
ok "... and of no other" not grep -q 'node[12] .*refused' out
is "it is not asked for again" "$(questions)" "node2, node3, "
typed "the first" node2=second node3=
is "none at all: 77" "$rc" 77
ok "... is said, with the node" grep -q 'node3 .*no password was entered' out

echo "the first" >first
run muster bootstrap --password-fd 7 --only key,name conf 7<first
is "from a descriptor there is one for all: 77" "$rc" 77
is "... and no question" "$(grep -c 'muster: password' out err)" "out:0
err:0"
ok "... for the nodes that refuse it" grep -q '^ *node\[2-3\] .*password refused for user' err

nodes_stop
ok "nothing is left" no_leftovers
finish
