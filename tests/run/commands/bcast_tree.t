#!/bin/sh
# muster bcast of something small to many nodes: each gives it to two others; to a few, it comes from
# here.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 8
disk=$nodes_dir/disk
head -c 1000000 /dev/urandom >file

arrived() {
    for node; do
        cmp file "$nodes_dir/$node/disk/file" || return 1
    done
}
# "FROM TO" for each node that gets it from another one.
links() {
    sed -n 's/^.* \(node.\): gets its copy from \(node.\)$/\2 \1/p' err | sort
}

# Three nodes give it to two others each, and a fourth one to one. Who logs in when others are done
# already gets it from one of those that are left.
is_tree() {
    rm -f "$nodes_dir"/node?/disk/file
    run muster bcast -v file --to "$disk" --json end.json
    [ "$rc $(links | cut -d' ' -f1 | uniq -c | awk '{ print $1 }' | sort -n | xargs)" = "0 1 2 2 2" ]
}
ok "to eight nodes it is a tree" wait_for 60 is_tree
ok "... all have it" arrived node1 node2 node3 node4 node5 node6 node7 node8
ok "... one of them from muster" json_says end.json \
    "sum(n['bytes_from_nodes'] == 1000000 for n in d['nodes']) == 7"

rm "$nodes_dir"/node?/disk/file
run muster bcast -v -H 'node[1-7]' file --to "$disk"
is "seven nodes: exit status 0" "$rc" 0
ok "... all have it" arrived node1 node2 node3 node4 node5 node6 node7
is "... each from muster" "$(links)" ""
ok "nothing is left" no_leftovers
finish
