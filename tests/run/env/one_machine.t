#!/bin/sh
# muster doctor of many nodes that are this machine: what is the same for all of them is done once, and
# said of each, so that the machine has time for it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

nodes=$(seq -s, -f 'node%g' 1 16)
# checked NAME: how many nodes have done that check.
checked() {
    json result.json "sum(said.get('checked') == '$1' for node in d['nodes'] for said in node['said'])"
}
# nodes_of CHECK: the nodes of its first finding.
nodes_of() {
    json result.json "' '.join([f['nodes'] for f in d['findings'] if f['check'] == '$1'][0])"
}

run muster doctor -H "$nodes" --json result.json
is "sixteen nodes: one looks names up, and one starts Python" \
    "$(checked names) $(checked python)" "1 1"
is "... and each has done what differs between nodes" "$(checked files) $(checked interfaces)" "16 16"
run muster doctor --full -H "$nodes" --json result.json
ok "--full: none runs into a limit" not grep -Eq 'not finished after|did not finish in time' out
is "... each has called others" "$(checked speed)" 96

run muster doctor -H "$nodes" --python /nowhere/python --json result.json
is "what one has found is said of all" "$(nodes_of python)" "$(echo "$nodes" | tr , ' ')"
echo "$nodes" | tr , '\n' | sed 's/$/ slots=1/; s/^node16 .*/& python=python3/' >hosts
run muster doctor --hostfile hosts --python /nowhere/python --json result.json
is "a node with a Python of its own looks for that" "$(nodes_of python)" \
    "$(echo "${nodes%,*}" | tr , ' ')"
ok "nothing is left" no_leftovers
finish
