# sudo_nodes.sh - nodes on which sudo's rules differ: a user for each
#
# use_sudo_nodes            after own_namespaces: /etc is a copy, with these users and rules
#
#     node   user      sudo
#     free   easy      wants no password
#     bare   easy      the same; no file there can be written and executed
#     one    typist    wants the password "right, %s one"
#     two    typist    the same
#     other  another   wants another password
#     none   stranger  is not allowed
#
# $tmp/sudo.log is what sudo logs.
# SPDX-License-Identifier: Apache-2.0

sudo_password='right, %s one'

need_sudo() {
    command -v sudo >/dev/null || { echo "sudo is not installed"; return 1; }
}

use_sudo_nodes() {
    need sshd
    need sudo
    chmod 755 "$tmp" # the users must reach their homes
    cp -a /etc "$tmp/etc"
    sed -i "s|^\(root:.*\):[^:]*:\([^:]*\)\$|\1:$tmp/root:\2|" "$tmp/etc/passwd"
    mkdir -p -m 700 "$tmp/root"
    rm -rf "$tmp/etc/sudoers.d"
    mkdir -m 750 "$tmp/etc/sudoers.d"
    chmod 640 "$tmp/etc/sudoers"
    cat >"$tmp/etc/sudoers" <<END
Defaults env_reset, use_pty, loglinelen=0, timestamp_type=global, env_keep+=MUSTER_TEST_TAG, !fqdn, logfile=$tmp/sudo.log
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
easy ALL=(ALL:ALL) NOPASSWD: ALL
typist,another ALL=(ALL:ALL) ALL
END
    chmod 440 "$tmp/etc/sudoers"
    mount --bind "$tmp/etc" /etc
    nodes_prepare
    sudo_uid=4711
    sudo_user easy x
    sudo_user typist "$sudo_password"
    sudo_user another "another one"
    sudo_user stranger "$sudo_password"
    sudo_number=2
    for pair in free:easy bare:easy one:typist two:typist other:another none:stranger; do
        sudo_node "${pair%:*}" "${pair#*:}"
        sudo_number=$((sudo_number + 1))
    done
    use_nodes
}

# NAME PASSWORD
sudo_user() {
    echo "$1:x:$sudo_uid:$sudo_uid::/nowhere:/bin/sh" >>/etc/passwd
    echo "$1:x:$sudo_uid:" >>/etc/group
    echo "$1:$(openssl passwd -6 "$2"):20000:0:99999:7:::" >>/etc/shadow
    sudo_uid=$((sudo_uid + 1))
}

# NODE USER
sudo_node() {
    node_files "$1"
    sed -i "s/^$1 .*/$1 slots=1 user=$2/" "$nodes_dir/hostfile"
    chown -R "$2:$2" "$nodes_dir/$1/home"
    [ "$1" != bare ] || sudo_bare
    node_listen "$1" "127.0.0.$sudo_number"
    [ "$1" != bare ] || sshd_program=$sudo_sshd
}

# The agent of the next node has no place but memory.
sudo_bare() {
    rm -rf "$nodes_dir/bare/home/.cache"
    sudo_sshd=$sshd_program
    script_file "$tmp/bare_sshd" <<END
#!/bin/sh
exec unshare --mount sh -c 'for dir in /tmp "$tmp"; do
    mount --bind "\$dir" "\$dir" && mount -o remount,bind,noexec "\$dir" || exit; done
    mount -t tmpfs -o noexec tmpfs /dev/shm && exec "\$@"' sh "$sshd_program" "\$@"
END
    sshd_program=$tmp/bare_sshd
}
