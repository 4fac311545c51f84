#!/bin/sh
# Fresh nodes with their own /etc, a "snapshot" disk, a password and no keys: plan, apply, again,
# undo; and one of them has a step that cannot be done
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces

disks=
free_disks() {
    nodes_stop
    for disk in $disks; do
        losetup -d "$disk"
    done
}
trap 'status=$?; free_disks; (exit $status); test_cleanup' EXIT

# make_disk NODE MIB: an ext4 of 24 MiB on a disk that is larger. Clones of one snapshot: the same
# label and UUID.
make_disk() {
    cp "$tmp/snapshot" "$nodes_dir/$1/image"
    truncate -s "$2M" "$nodes_dir/$1/image"
    disk=$(losetup -f --show "$nodes_dir/$1/image") || skip_all "no loop device"
    disks="$disks $disk"
    echo "$disk" >"$nodes_dir/$1/device"
}

# What a node's /etc is, in full.
etc_of() {
    tar -C "$nodes_dir/$1/etc" --sort=name --mtime=@0 -cf "$2" .
}

mkdir "$tmp/content"
echo '{"id": "llm-1"}' >"$tmp/content/.marker"
head -c 3145728 /dev/urandom >"$tmp/content/model"
truncate -s 24M "$tmp/snapshot"
mkfs.ext4 -q -L data -d "$tmp/content" "$tmp/snapshot" || skip_all "no mkfs.ext4"

# A repository with one package, in which nothing is but one folder below /var/lib.
packages=
if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    packages=muster-test-package
    mkdir -p "$tmp/deb/DEBIAN" "$tmp/deb/var/lib/$packages" "$tmp/repo"
    printf '%s\n' "Package: $packages" "Version: 1" "Architecture: all" \
        "Maintainer: nobody <nobody@localhost>" "Description: test" >"$tmp/deb/DEBIAN/control"
    dpkg-deb -b "$tmp/deb" "$tmp/repo/p.deb" >/dev/null
    { cat "$tmp/deb/DEBIAN/control"; printf 'Filename: ./p.deb\nSize: %s\nSHA256: %s\n' \
        "$(stat -c %s "$tmp/repo/p.deb")" "$(sha256sum "$tmp/repo/p.deb" | cut -d' ' -f1)"; } \
        >"$tmp/repo/Packages"
    chmod 755 "$tmp" # apt fetches as another user
fi

nodes_prepare
script_file "$tmp/node_sshd" <<END
#!/bin/sh
exec "$here/bootstrap/node_sshd" "$sshd_program" "\$@"
END
sshd_program=$tmp/node_sshd
nodes_bridge
hash=$(openssl passwd -6 'its pass, word')
for node in 1 2; do
    name=node$node
    node_files "$name"
    node_wire "$name" "$node"
    mkdir -p "$nodes_dir/$name/varlib"
    cp -a /etc "$nodes_dir/$name/etc"
    printf '127.0.0.1 localhost\n127.0.1.1 %s.example %s\n' "$name" "$name" \
        >"$nodes_dir/$name/etc/hosts"
    echo ubuntu >"$nodes_dir/$name/etc/hostname"
    mkdir -p "$nodes_dir/$name/varlib/dpkg/updates" "$nodes_dir/$name/varlib/dpkg/info"
    : >"$nodes_dir/$name/varlib/dpkg/status"
    rm -rf "$nodes_dir/$name/etc/apt/sources.list.d"
    echo "deb [trusted=yes] file:$tmp/repo ./" >"$nodes_dir/$name/etc/apt/sources.list"
    sed -i "s|^root:[^:]*:|root:$hash:|" "$nodes_dir/$name/etc/shadow"
    # Keys in the node's own home; a password by one method each.
    echo "AuthorizedKeysFile $nodes_dir/$name/home/.ssh/authorized_keys" \
        >"$nodes_dir/$name/sshd_extra"
    make_disk "$name" $((24 + 24 * node))
    chmod 700 "$nodes_dir/$name/home"
    cp /dev/null "$nodes_dir/$name/home/.bashrc"
    rm -f "$nodes_dir/$name"/etc/ssh/ssh_host_*
    cp "$nodes_dir/$name/host_key.pub" "$nodes_dir/$name/etc/ssh/ssh_host_ed25519_key.pub"
    etc_of "$name" "$tmp/$name.before"
done
echo "PasswordAuthentication yes" >>"$nodes_dir/node1/sshd_extra"
printf 'UsePAM yes\nKbdInteractiveAuthentication yes\n' >>"$nodes_dir/node2/sshd_extra"
for node in 1 2; do
    node_start_in_namespace "node$node" "$(node_address "$node")"
done
use_nodes

# CAP_SYS_RESOURCE is bit 24.
grow=no
[ $((0x$(sed -n 's/^CapEff:.//p' /proc/self/status) >> 24 & 1)) = 0 ] || grow=yes
cat >conf <<END
[data]
grow = $grow
mount = /var/lib/data
label = data
marker = .marker
marker_text = llm-1

[shell]
path = /var/lib/data/bin

[limits]
nofile = 65536
shm = 24M

[environment]
python = /usr/bin/python3
import = json

[warm]
paths = /var/lib/data

[packages]
install = $packages

[gpus]
count =
END
mkdir -p "$HOME/.ssh"
cp "$nodes_dir/id.pub" "$HOME/.ssh/id_ed25519.pub"

: >"$nodes_dir/known_hosts"
run setsid -w muster bootstrap conf
is "an unknown host key is refused" "$rc" 77
ok "with the option that accepts it" grep -q 'add --trust-first, which records it' err
run setsid -w muster bootstrap --trust-first conf
is "without a key, a password and a terminal nothing can be done" "$rc" 77
ok "and it says how to give one" grep -q 'no terminal to ask for a password; --password-fd' err
ok "the host keys were recorded" lines "$nodes_dir/known_hosts" 2
ok "and their fingerprints shown" grep -q "host key recorded in .*: ssh-ed25519 SHA256:" err

echo "not the password" >wrong
run muster bootstrap --password-fd 7 conf 7<wrong
is "a wrong password is refused" "$rc" 77
ok "by both methods" sh -c 'grep -q "refused for user .* (tried password)" err &&
    grep -q "(tried keyboard-interactive)" err'
is "after one attempt" "$(grep -c 'Failed password' "$nodes_dir/node1/sshd.log")" 1

run python3 "$here/bootstrap/type_password.py" "its pass, word" muster bootstrap conf
is "one that is typed opens all nodes" "$rc" 0
is "it is asked once" "$(grep -c 'password (asked once' out)" 1
ok "and not shown" not grep -q 'its pass' out
ok "a plan says what would change on which nodes" grep -q \
    '^node\[1-2\]  hosts: /etc/hosts: change it (every node' out
ok "and which disk it would mount" grep -q 'data: /var/lib/data: mount /dev/loop.*label .data.' out
etc_of node1 "$tmp/node1.planned"
ok "it changes nothing" cmp "$tmp/node1.before" "$tmp/node1.planned"

# On one node every step that writes meets something that is in its way.
cp -a "$nodes_dir/node2/etc" "$tmp/etc"
cd "$nodes_dir/node2" || exit 1
echo '# BEGIN muster' >>etc/hosts # a block without an end is somebody's mistake
rm etc/hostname && mkdir etc/hostname
echo '# BEGIN muster' >>etc/fstab
rm home/.bashrc && ln -s nowhere home/.bashrc
rm -rf etc/security/limits.d && : >etc/security/limits.d
: >home/.ssh
echo 'deb file:/nowhere ./' >etc/apt/sources.list
mkdir -p varlib/muster/receipt.json
cd "$tmp/work" || exit 1
echo "its pass, word" >right
# What a run has left on a GPU; the nodes of this test see the same processes.
MUSTER_TEST_TAG=$tag MUSTER_RUN_ID=20261120-073000-a1b2 \
    nsenter -t "$(cat "$nodes_dir/node1/pid")" -m setsid sh -c 'exec sleep 1000 8</dev/nvidia0 9</dev/nvidia-uvm' &
wait_for 10 sh -c "pgrep -f '^sleep 1000$' >left" # the only one of this PID namespace
left=$(cat left)
wait_for 10 sh -c "ls -l /proc/$left/fd | grep -q nvidia-uvm"
run muster bootstrap --apply --password-fd 7 --json=result.json conf 7<right
is "a step that fails on one node is exit status 1" "$rc" 1
broken="hosts name data shell limits key receipt"
[ -z "$packages" ] || broken="$broken packages"
for step in $broken; do
    ok "node, step and cause are named: $step" grep -q "^node2  $step: failed: ." err
done
is "and no other step or node failed" "$(grep -c failed: err)" "$(echo $broken | wc -w)"
ok "the cause is the one" grep -q "^node2  hosts: failed: /etc/hosts: a line '# BEGIN" err
ok "and what to do is said" grep -q "^ *remove muster's lines from /etc/hosts by hand" err
ok "what has a GPU open is named" \
    grep -q "^node.*  gpus: note: pid $left of root has had a GPU open.*sleep 1000 (left by" out
ok "and ended" wait_for 10 is_gone "$left"
ok "the other node gets its hosts" grep -q "^10.99.0.3 node2" "$nodes_dir/node1/etc/hosts"
ok "the JSON says the same" json_says result.json \
    '([s["state"] for n in d["nodes"] for s in n["steps"] if s["step"] == "hosts"] ==
     ["changed", "failed"])'

cd "$nodes_dir/node2" || exit 1
cp -a "$tmp/etc/hosts" "$tmp/etc/fstab" "$tmp/etc/apt" etc
rmdir etc/hostname varlib/muster/receipt.json
cp -a "$tmp/etc/hostname" etc
rm etc/security/limits.d home/.bashrc home/.ssh
cp -a "$tmp/etc/security/limits.d" etc/security
: >home/.bashrc
cd "$tmp/work" || exit 1

run muster bootstrap --apply --password-fd 7 conf 7<right
is "once that is mended the next apply completes it" "$rc" 0
ok "and only that" grep -q '^node1: nothing is to be changed' out

etc_of node1 "$tmp/node1.applied"
run muster bootstrap --apply conf
is "a third apply succeeds" "$rc" 0
ok "and says that nothing is to be changed" grep -q '^node\[1-2\]: nothing is to be changed' out
etc_of node1 "$tmp/node1.again"
ok "it changes nothing" cmp "$tmp/node1.applied" "$tmp/node1.again"

run muster exec --label=host sh -c 'hostname; . "$HOME/.bashrc"; echo "$PATH"
    cat /var/lib/data/.marker; md5sum /var/lib/data/model; getent hosts node1
    df --output=size -k /var/lib/data /dev/shm | sed 1d'
[ -z "$packages" ] || ok "the package is installed" [ -d "$nodes_dir/node1/varlib/$packages" ]
ok "the disk is mounted" grep -q '^node2: {"id": "llm-1"}' out
ok "names are those of the hostfile" grep -q '^node2: node2$' out
ok "the same address everywhere" [ "$(grep -c '10.99.0.2 *node1' out)" = 2 ]
if [ "$grow" = yes ]; then
    ok "the file system fills its disk" grep -q '^node2: *6[0-9]...$' out
else
    skip "the file system fills its disk" "no CAP_SYS_RESOURCE, which growing needs"
fi
ok "/dev/shm is larger" grep -q '^node1: *24576$' out
ok "PATH has the folder" grep -q '^node1: /var/lib/data/bin:' out

sed -i 's/"python": "/&0/' "$nodes_dir/node2/varlib/muster/receipt.json"
run muster --label=none /bin/true
is "nodes whose receipts differ can run" "$rc" 0
ok "but it is said" grep -q 'the nodes differ in python: 3.* on node1, 03.* on node2' err
sed -i 's/"python": "0/"python": "/' "$nodes_dir/node2/varlib/muster/receipt.json"

cat >>"$nodes_dir/ssh_config" <<END
Host 10.99.0.*
    IdentityFile $nodes_dir/id
    UserKnownHostsFile $nodes_dir/known_hosts
END
run muster bootstrap -H '10.99.0.[2-3]' --record conf
is "what is in memory is recorded" "$rc" 0
ok "with its size" grep -q 'warm: note: /var/lib/data/.muster-warm: 3 MiB in 2 ranges' out
unset MUSTER_HOSTFILE
run muster bootstrap -H '10.99.0.[2-3]' --names 'node[1-2]' --mesh --apply conf
is "the same nodes by their addresses" "$rc" 0
ok "what was recorded is read" grep -q 'warm: note: read 3 MiB in .* MiB/s' out
ok "nodes got keys for each other, and nothing else is to be changed" \
    grep -q '^10.99.0.\[2-3\]: changes: 3;' out
ok "a hostfile is written" cmp hostfile - <<END
# written by muster bootstrap
node1 addr=10.99.0.2 slots=1
node2 addr=10.99.0.3 slots=1
END

run muster exec --hostfile=hostfile --label=host sh -c 'for node in node1 node2; do
    ssh -o BatchMode=yes -o UserKnownHostsFile=/dev/null -i "$HOME/.ssh/id_ed25519" $node true &&
        echo "reached $node"; done'
is "each node can log in to each" "$(grep -c 'reached node' out)" 4

run muster bootstrap --hostfile=hostfile --undo
is "undo succeeds" "$rc" 0
for name in node1 node2; do
    etc_of "$name" "$tmp/$name.after"
    ok "/etc of $name is byte for byte what it was" cmp "$tmp/$name.before" "$tmp/$name.after"
done
for name in node1 node2; do # the key is gone, too
    nsenter -t "$(cat "$nodes_dir/$name/pid")" -m sh -c 'ls /var/lib; df --output=size -k /dev/shm'
done >there
ok "the package is removed" not grep -q "^muster-test-package" there
ok "the disk is unmounted and the folder gone" not grep -q '^data$' there
ok "/dev/shm is as it was" [ "$(grep -c '^ *16384$' there)" = 2 ]
ok "nothing is left" no_leftovers

other=$(cut -d' ' -f1,2 "$nodes_dir/node2/host_key.pub")
sed -i "s|^10.99.0.2 .*|10.99.0.2 $other|" "$nodes_dir/known_hosts"
run muster bootstrap --hostfile="$nodes_dir/hostfile" --trust-first --password-fd 7 conf 7<right
is "a host key that has changed is refused even then" "$rc" 77
ok "with the command that replaces it" grep -q "node1.*host key has changed" err
ok "which is ssh-keygen -R" grep -q "ssh-keygen -R '10.99.0.2' -f" err

chmod 755 "$tmp"
run setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ MUSTER_TRANSPORT=exec \
    muster bootstrap -H localhost --apply
is "who is not root, and may not use sudo, changes nothing" "$rc" 1
ok "and is told so" grep -q "not root on this node, and sudo -n does not help" err

run muster bootstrap --apply conf
is "without hosts nothing is done to this machine" "$rc" 2
ok "and it says why" grep -q "name the hosts by --hostfile or -H" err

finish
