# password_nodes.sh - nodes that take a password of root, and no key yet
#
# After own_namespaces, and with an EXIT trap that has nodes_stop:
#
#     password_nodes PASSWORD...   node1, node2 ..., one for each; muster finds no key for them
#     fresh_machines               only what comes before node_files and the like: each node has /etc
#                                  and more of its own (node_sshd)
# SPDX-License-Identifier: Apache-2.0

password_nodes() {
    chmod 755 "$tmp"
    fresh_machines
    node=0
    for password; do
        node=$((node + 1))
        password_node "node$node" "$node" "$password"
    done
    cp "$nodes_dir/ssh_config" with_file
    sed -i '/IdentityFile\|IdentitiesOnly\|IdentityAgent/d' "$nodes_dir/ssh_config"
    use_nodes
}

fresh_machines() {
    nodes_prepare
    script_file "$tmp/node_sshd" <<END
#!/bin/sh
exec "$here/bootstrap/node_sshd" "$sshd_program" "\$@"
END
    sshd_program=$tmp/node_sshd
    nodes_bridge
}

password_node() {
    node_files "$1"
    node_wire "$1" "$2"
    node_dir=$nodes_dir/$1
    mkdir "$node_dir/varlib"
    cp -a /etc "$node_dir/etc"
    sed -i "s|^root:[^:]*:|root:$(openssl passwd -6 "$3"):|" "$node_dir/etc/shadow"
    printf '%s\n' "AuthorizedKeysFile $node_dir/home/.ssh/authorized_keys" \
        "PasswordAuthentication yes" >"$node_dir/sshd_extra"
    node_start_in_namespace "$1" "$(node_address "$2")"
}
