#!/bin/sh
# Four fresh nodes with their own /etc, a "snapshot" disk, a password and no keys: plan, apply, again;
# muster doctor finds nothing, muster-train trains; undo. On one of them each step meets something
# that is in its way.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"
. "$here/bootstrap/password_nodes.sh"
nodes_agents= # it is about sending one
. "$here/healthy.sh"
. "$here/complaints.sh"

own_namespaces

disks=
free_disks() {
    nodes_stop
    for disk in $disks; do
        partx --delete "$disk" 2>/dev/null
        losetup -d "$disk"
    done
}
trap 'status=$?; free_disks; (exit $status); test_cleanup' EXIT

# attach NODE: its image as a disk.
attach() {
    disk=$(losetup -f --show "$nodes_dir/$1/image") || skip_all "no loop device"
    disks="$disks $disk"
    echo "$disk" >"$nodes_dir/$1/device"
}

# ext4_disk NODE NUMBER: an ext4 of 24 MiB, on a larger disk if it can grow. Clones of one snapshot:
# the same label and UUID.
ext4_disk() {
    cp "$tmp/snapshot" "$nodes_dir/$1/image"
    [ $grow = no ] || truncate -s $((24 + 24 * $2))M "$nodes_dir/$1/image"
    attach "$1"
}

# xfs_disk NODE: an XFS of 300 MiB, the smallest that mkfs.xfs makes, in a partition of its size
# on a larger disk.
xfs_disk() {
    truncate -s 400M "$nodes_dir/$1/image"
    echo 'start=2048, size=300MiB' | sfdisk -q --label gpt "$nodes_dir/$1/image" >/dev/null &&
        attach "$1" && partx --add "$disk" && mkfs.xfs -q -L data "${disk}p1" &&
        mount "${disk}p1" /mnt && cp -a "$tmp/content/." /mnt && umount /mnt &&
        echo "${disk}p1" >>"$nodes_dir/$1/device"
}

# What a node's /etc is, in full.
etc_of() {
    tar -C "$nodes_dir/$1/etc" --sort=name --mtime=@0 -cf "$2" .
}

chmod 755 "$tmp" # for logins, and apt, which fetches as another user
python=$(readlink -f "$(command -v /usr/bin/python3 || command -v python3)")
venv=/var/lib/data/venv
mkdir -p "$tmp/content/venv/bin"
ln -s "$python" "$tmp/content/venv/bin/python"
printf 'home = %s\n' "$(dirname "$python")" >"$tmp/content/venv/pyvenv.cfg"
echo '{"id": "llm-1"}' >"$tmp/content/.muster-data.json"
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
    # While there is a file "hold", its installation goes no further.
    printf '%s\n' '#!/bin/sh' '[ ! -e /var/lib/hold ] || { : >/var/lib/held; exec sleep 1000; }' |
        script_file "$tmp/deb/DEBIAN/postinst"
    dpkg-deb -b "$tmp/deb" "$tmp/repo/p.deb" >/dev/null
    { cat "$tmp/deb/DEBIAN/control"; printf 'Filename: ./p.deb\nSize: %s\nSHA256: %s\n' \
        "$(stat -c %s "$tmp/repo/p.deb")" "$(sha256sum "$tmp/repo/p.deb" | cut -d' ' -f1)"; } \
        >"$tmp/repo/Packages"
fi

# The same for dnf, which node3 gets if it is here.
dnf=no
if [ -n "$packages" ] && command -v dnf >/dev/null && command -v rpmbuild >/dev/null &&
    command -v createrepo_c >/dev/null; then
    dnf=yes
    printf '%s\n' "Name: $packages" "Version: 1" "Release: 1" "Summary: test" "License: none" \
        "BuildArch: noarch" "%description" "test" "%install" \
        "mkdir -p %{buildroot}/var/lib/$packages" "%files" "%dir /var/lib/$packages" >"$tmp/spec"
    rpmbuild -bb --quiet --define "_topdir $tmp/rpm" "$tmp/spec" >/dev/null 2>&1
    createrepo_c -q "$tmp/rpm/RPMS" >/dev/null
fi

# An ext4 grows only with CAP_SYS_RESOURCE, which is bit 24.
grow=no xfs=no someone=
[ $((0x$(sed -n 's/^CapEff:.//p' /proc/self/status) >> 24 & 1)) = 0 ] || grow=yes
command -v mkfs.xfs >/dev/null && command -v growpart >/dev/null &&
    grep -qw xfs /proc/filesystems && xfs=yes
command -v sudo >/dev/null && someone=someone

fresh_machines
hash=$(openssl passwd -6 'its pass, word')

# fresh NODE NUMBER: its files, as an image of a cloud has them.
fresh() {
    node_files "$1"
    sed -i "s/^$1 .*/$1 slots=1/" "$nodes_dir/hostfile"
    node_wire "$1" "$2"
    node_dir=$nodes_dir/$1
    mkdir -p "$node_dir/varlib"
    cp -a /etc "$node_dir/etc"
    printf '127.0.0.1 localhost\n127.0.1.1 %s.example %s\n' "$1" "$1" >"$node_dir/etc/hosts"
    echo ubuntu >"$node_dir/etc/hostname"
    tr -d - </proc/sys/kernel/random/uuid >"$node_dir/etc/machine-id"
    mkdir -p "$node_dir/varlib/dpkg/updates" "$node_dir/varlib/dpkg/info"
    : >"$node_dir/varlib/dpkg/status"
    rm -rf "$node_dir/etc/apt/sources.list.d" "$node_dir/etc/apt/apt.conf.d/20auto-upgrades"
    echo "deb [trusted=yes] file:$tmp/repo ./" >"$node_dir/etc/apt/sources.list"
    sed -i "s|^root:[^:]*:|root:$hash:|" "$node_dir/etc/shadow"
    # Keys in the node's own home; a password by one method each.
    echo "AuthorizedKeysFile $node_dir/home/.ssh/authorized_keys" >"$node_dir/sshd_extra"
    if [ "$2" = 2 ]; then
        printf 'UsePAM yes\nKbdInteractiveAuthentication yes\n' >>"$node_dir/sshd_extra"
    else
        echo "PasswordAuthentication yes" >>"$node_dir/sshd_extra"
    fi
    chmod 700 "$node_dir/home"
    cp /dev/null "$node_dir/home/.bashrc"
    rm -f "$node_dir"/etc/ssh/ssh_host_*
    cp "$node_dir/host_key" "$node_dir/etc/ssh/ssh_host_ed25519_key"
    cp "$node_dir/host_key.pub" "$node_dir/etc/ssh/ssh_host_ed25519_key.pub"
}

# without_apt NODE: it has dnf, and a repository for that.
without_apt() {
    node_dir=$nodes_dir/$1
    mkdir -p "$node_dir/etc/yum.repos.d" "$node_dir/etc/dnf/vars"
    printf '[test]\nname=test\nbaseurl=file://%s/rpm/RPMS\ngpgcheck=0\n' "$tmp" \
        >"$node_dir/etc/yum.repos.d/test.repo"
    echo 1 >"$node_dir/etc/dnf/vars/releasever"
}

# log_in_as NAME NODE: the login there is not root, but may use sudo.
log_in_as() {
    node_dir=$nodes_dir/$2
    echo "$1:x:4711:4711::$node_dir/home:/bin/bash" >>"$node_dir/etc/passwd"
    echo "$1:x:4711:" >>"$node_dir/etc/group"
    echo "$1:$hash:20000:0:99999:7:::" >>"$node_dir/etc/shadow"
    (umask 227 && echo "$1 ALL=(ALL) NOPASSWD: ALL" >"$node_dir/etc/sudoers.d/$1")
    # The user's cache does not do for root, who would leave an agent where all tests look.
    {
        echo '[ "$(id -u)" != 0 ] || export XDG_CACHE_HOME="$HOME/.cache-of-root"'
        cat /etc/bash.bashrc
    } >"$node_dir/etc/bash.bashrc"
    chown -R 4711:4711 "$node_dir/home"
    sed -i "s/^$2 .*/& user=$1/" "$nodes_dir/hostfile"
}

for node in 1 2 3 4; do
    fresh "node$node" "$node"
    [ "$node$xfs" != 3yes ] || xfs_disk node3 || xfs=no
    [ "$node$xfs" = 3yes ] || ext4_disk "node$node" "$node"
done
[ $dnf = no ] || without_apt node3
[ -z "$someone" ] || log_in_as $someone node4
for node in 1 2 3 4; do
    etc_of "node$node" "$tmp/node$node.before"
    node_start_in_namespace "node$node" "$(node_address "$node")"
done
use_nodes
[ $dnf = no ] || on node3 mount --bind /dev/null /usr/bin/dpkg-query

cat >conf <<END
[data]
mount = /var/lib/data
label = data
marker = .muster-data.json
marker_text = llm-1

[shell]
path = /var/lib/data/bin

[limits]
nofile = 65536
shm = 1G

[environment]
python = $venv/bin/python
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
ok "and it says how to give one" grep -q 'no terminal to ask for a password on; --password-fd' err
ok "the host keys were recorded" lines "$nodes_dir/known_hosts" 4
ok "and their fingerprints shown" grep -q "host key recorded in .*: ssh-ed25519 SHA256:" err

echo "not the password" >wrong
run muster bootstrap --password-fd 7 conf 7<wrong
is "a wrong password is refused" "$rc" 77
ok "by both methods" sh -c 'grep -q "refused for user .* (tried password)" err &&
    grep -q "(tried keyboard-interactive)" err'
is "after one attempt" "$(grep -c 'Failed password' "$nodes_dir/node1/sshd.log")" 1

run python3 "$here/bootstrap/type_password.py" "its pass, word" -- muster bootstrap conf
is "one that is typed opens all nodes" "$rc" 0 || sed 's/^/#   /' out
is "it is asked once" "$(grep -c 'password (asked once' out)" 1
ok "and not shown" not grep -q 'its pass' out
ok "a plan says what would change on which nodes" grep -q \
    '^node\[1-4\]  hosts: /etc/hosts: change it (every node' out
ok "and which disk it would mount" grep -q 'data: /var/lib/data: mount /dev/loop.*label .data.' out
etc_of node1 "$tmp/node1.planned"
ok "it changes nothing" cmp "$tmp/node1.before" "$tmp/node1.planned"

# Clones of another snapshot, with the same label.
echo "its pass, word" >right
sed 's/llm-1/llm-2/' conf >other
run muster bootstrap --only data --password-fd 7 other 7<right
is "a disk with another marker is refused before it is mounted" \
    "$rc $(grep -c '^node.*the wrong disk: its file .* does not have the text .llm-2' err)" \
    "1 $(grep -c 'data: failed' err)"
is "on each node" "$(grep -o 'loop[0-9]*p*1* is the wrong' err | sort -u | wc -l)" 4

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
# What a run has left on a GPU; the nodes of this test see the same processes.
MUSTER_TEST_TAG=$tag MUSTER_RUN_ID=20261120-073000-a1b2 \
    nsenter -t "$(cat "$nodes_dir/node1/pid")" -m setsid sh -c 'exec sleep 1000 8</dev/nvidia0 9</dev/nvidia-uvm' &
wait_for 10 sh -c "pgrep -f '^sleep 1000$' >left" # the only one of this PID namespace
left=$(cat left)
wait_for 10 sh -c "ls -l /proc/$left/fd | grep -q nvidia-uvm"
run muster bootstrap --apply --password-fd 7 --json=result.json conf 7<right
is "a step that fails on one node is exit status 1" "$rc" 1
broken="hosts name data shell limits environment key receipt"
[ -z "$packages" ] || broken="$broken packages"
for step in $broken; do
    ok "node, step and cause are named: $step" grep -q "^node2  $step: failed: ." err
done
is "each with what to do" "$(grep -c '^      ' err)" "$(echo $broken | wc -w)"
is "and no other step or node failed" "$(grep -c failed: err)" "$(echo $broken | wc -w)"
ok "the cause is the one" grep -q "^node2  hosts: failed: /etc/hosts: a line '# BEGIN" err
ok "and what to do is said" grep -q "^ *remove muster's lines from /etc/hosts by hand" err
ok "what has a GPU open is named" \
    grep -q "^node.*  gpus: note: pid $left of root has had a GPU open.*sleep 1000 (left by" out
ok "and ended" wait_for 10 is_gone "$left"
ok "another node gets its hosts" grep -q "^10.99.0.3 node2" "$nodes_dir/node1/etc/hosts"
ok "the JSON says the same" json_says result.json \
    '([s["state"] for n in d["nodes"] for s in n["steps"] if s["step"] == "hosts"] ==
     ["changed", "failed", "changed", "changed"])'

cd "$nodes_dir/node2" || exit 1
cp -a "$tmp/etc/hosts" "$tmp/etc/fstab" "$tmp/etc/apt" etc
rmdir etc/hostname varlib/muster/receipt.json
cp -a "$tmp/etc/hostname" etc
rm etc/security/limits.d home/.bashrc home/.ssh
cp -a "$tmp/etc/security/limits.d" etc/security
: >home/.bashrc
cd "$tmp/work" || exit 1

# waits_for_lists NODE: apt-get there was refused the lock of its lists, and is tried again.
waits_for_lists() {
    for process in $(pgrep -x sleep); do
        [ "$(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null)" = "sleep 1 " ] &&
            [ "$(readlink "/proc/$process/ns/mnt")" = \
                "$(readlink "/proc/$(cat "$nodes_dir/$1/pid")/ns/mnt")" ] && return
    done
    return 1
}

# The power goes while a package is being installed. Until then nothing comes from the mirror.
power_cut() {
    cut=$(readlink "/proc/$(cat "$nodes_dir/$1/pid")/ns/mnt")
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/mnt")" != "$cut" ] ||
            [ "${process#/proc/}" = "$(cat "$nodes_dir/$1/pid")" ] ||
            kill -KILL "${process#/proc/}" 2>/dev/null
    done
}
if [ -n "$packages" ]; then
    : >"$nodes_dir/node2/varlib/hold"
    # As a machine does that has just booted.
    mkdir -p "$nodes_dir/node2/varlib/apt/lists"
    python3 -c 'import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(1000)' "$nodes_dir/node2/varlib/apt/lists/lock" >locked &
    fetching=$!
    wait_for 10 grep -q locked locked
    start muster bootstrap --apply --password-fd 7 conf 7<right
    ok "muster waits while another process fetches apt's lists" wait_for 30 waits_for_lists node2
    kill "$fetching"
    ok "... and then installs" wait_for 30 [ -e "$nodes_dir/node2/varlib/held" ]
    power_cut node2
    finish_run 30
    ok "a node whose power goes is a failure" not same "$rc" 0
    ok "and named" grep -q "node2" err
    rm "$nodes_dir/node2/varlib/hold" "$nodes_dir/node2/varlib/held"
fi
run muster bootstrap --apply --password-fd 7 conf 7<right
is "once that is mended the next apply completes it" "$rc" 0
[ -z "$packages" ] || ok "also a package that is half installed" \
    grep -q '^node2  packages: dpkg: finish an earlier installation' out
ok "and only that" grep -q '^node\[1,3-4\]: nothing needs to be changed' out

# One node has lost its GPU.
for name in node1 node2 node3 node4; do
    on $name mount -t tmpfs tmpfs /proc/driver
    on $name mkdir /proc/driver/nvidia
    echo 'NVRM: x86_64 Kernel Module  550.54.14' | on $name tee /proc/driver/nvidia/version >out
done
on node2 rm /dev/nvidia0
sed 's/^count =.*/count = 1/' conf >with_gpu
run muster bootstrap --only gpus --apply with_gpu
is "a GPU that is not there is a failure" "$rc" 1
ok "node, step and cause are named: gpus" grep -q "^node2  gpus: failed: 0 GPUs were found" err
is "and no other node failed, with what to do" "$(complaints | wc -l)" 2
for name in node1 node2 node3 node4; do on $name umount /proc/driver; done
: | on node2 tee /dev/nvidia0

for name in node1 node2 node3 node4; do etc_of $name "$tmp/$name.applied"; done
run muster bootstrap --apply conf
is "a third apply succeeds" "$rc" 0
ok "and says that nothing needs to be changed" grep -q '^node\[1-4\]: nothing needs to be changed' out
for name in node1 node2 node3 node4; do
    etc_of $name "$tmp/$name.again"
    ok "it changes nothing on $name" cmp "$tmp/$name.applied" "$tmp/$name.again"
    at_rest $name
    on $name rm /dev/nvidia0 /dev/nvidia-uvm
done

if [ -n "$someone" ]; then
    ok "a login that is not root uses sudo" [ -e "$nodes_dir/node4/varlib/muster/receipt.json" ]
    printf '#!/bin/sh\nkill -9 $PPID\n' | script_file "$tmp/killer"
    on node4 mount --bind "$tmp/killer" "$python"
    run muster bootstrap --include node4 conf
    on node4 umount "$python"
    is "if its agent is killed there, that is a failure" "$rc" 1
    ok "and said" grep -q '^node4  failed: it was killed; run it again' err
else
    skip "a login that is not root uses sudo" "sudo is missing"
fi

# As root everywhere: what mounts over /proc keeps others from a PID namespace of their own here.
sed 's/ user=.*//' "$nodes_dir/hostfile" >as_root
# Again, if the machine was so loaded that a login took seconds: that is a finding.
finds_nothing() {
    run flock / muster doctor --hostfile=as_root --quick --python $venv/bin/python # see doctor.t
    [ "$rc $(cat out err)" = "0 PASS  node[1-4]  no problems found (--full checks more)" ]
}
ok "muster doctor finds nothing" wait_for 60 finds_nothing
if [ -x "$top_builddir/trainer/muster-train" ]; then
    seq 1 1000 >text
    echo '{"train_batch_size": 8, "zero_optimization": {"stage": 2}, "steps_per_print": 1,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}' >ds.json
    run muster --label=none --env OMP_NUM_THREADS=1 \
        muster-train --deepspeed_config "$PWD/ds.json" --model gpt2 --vocabulary 257 --positions 16 \
        --width 16 --heads 2 --blocks 1 --length 16 --data "$PWD/text" --steps 3 --device cpu --seed 1
    is "muster trains on them" "$rc $(grep -c '^step [123]/3 .* loss [0-9]' out)" "0 3"
else
    skip "muster trains on them" "muster-train was not built"
fi

run muster exec --label=host sh -c 'hostname; . "$HOME/.bashrc"; echo "$PATH"
    cat /var/lib/data/.muster-data.json; md5sum /var/lib/data/model; getent hosts node1
    df --output=size -k /var/lib/data /dev/shm | sed 1d'
[ -z "$packages" ] || ok "the package is installed" [ -d "$nodes_dir/node1/varlib/$packages" ]
if [ $dnf = yes ]; then
    ok "... by dnf, where there is no apt" [ -d "$nodes_dir/node3/varlib/$packages" ]
else
    skip "... by dnf, where there is no apt" "dnf, rpmbuild or createrepo_c is missing"
fi
ok "the disk is mounted" grep -q '^node2: {"id": "llm-1"}' out
ok "names are those of the hostfile" grep -q '^node2: node2$' out
ok "the same address everywhere" [ "$(grep -c '10.99.0.2 *node1' out)" = 4 ]
if [ "$grow" = yes ]; then
    ok "the file system fills its disk" grep -q '^node2: *6[0-9]...$' out
else
    skip "the file system fills its disk" "no CAP_SYS_RESOURCE, which growing needs"
fi
if [ $xfs = yes ]; then
    ok "a partition and its XFS do, too" grep -q '^node3: *3[45][0-9]...$' out
else
    skip "a partition and its XFS do, too" "mkfs.xfs or growpart is missing, or partitions"
fi
ok "/dev/shm is larger" grep -q '^node1: *1048576$' out
ok "PATH has the folder" grep -q '^node1: /var/lib/data/bin:' out

sed -i 's/"python": "/&0/' "$nodes_dir/node2/varlib/muster/receipt.json"
run muster --label=none /bin/true
is "nodes whose receipts differ can run" "$rc" 0
ok "but it is said" grep -q 'the nodes differ in python: 3.* on node\[1,3-4\], 03.* on node2' err
sed -i 's/"python": "0/"python": "/' "$nodes_dir/node2/varlib/muster/receipt.json"

cat >>"$nodes_dir/ssh_config" <<END
Host 10.99.0.5
    User ${someone:-root}
Host 10.99.0.*
    IdentityFile $nodes_dir/id
    UserKnownHostsFile $nodes_dir/known_hosts
END
run muster bootstrap -H '10.99.0.[2-5]' --record conf
is "what is in memory is recorded" "$rc" 0
ok "with its size" grep -q 'warm: note: /var/lib/data/.muster-warm: 3 MiB in [0-9]* ranges' out
unset MUSTER_HOSTFILE
# What can be broken of the steps that were not done until now.
echo '# BEGIN muster' >"$nodes_dir/node2/etc/ssh/ssh_known_hosts"
on node2 mv /var/lib/data/.muster-warm /var/lib/data/list
echo 'something' | on node2 tee /var/lib/data/.muster-warm >/dev/null
run muster bootstrap -H '10.99.0.[2-5]' --names 'node[1-4]' --mesh --apply conf
is "a mesh and a list that are broken on one node" "$rc" 1
for step in mesh warm; do
    ok "node, step and cause are named: $step" grep -q "^10.99.0.3  $step: failed: ." err
done
is "and no other step or node failed, with what to do" "$(complaints | wc -l)" 4
ok "no hostfile is written" not [ -e hostfile ]
rm "$nodes_dir/node2/etc/ssh/ssh_known_hosts"
on node2 mv /var/lib/data/list /var/lib/data/.muster-warm
run muster bootstrap -H '10.99.0.[2-5]' --names 'node[1-4]' --mesh --apply conf
is "the same nodes by their addresses" "$rc" 0
ok "what was recorded is read" grep -q '^10.99.0.3  warm: note: read 3 MiB in .* MiB/s' out
ok "nodes got keys for each other, and nothing else needs to be changed" \
    grep -q '^10.99.0.3: changes: 1;' out
ok "a hostfile is written" cmp hostfile - <<END
# written by muster bootstrap
node1 addr=10.99.0.2 slots=1
node2 addr=10.99.0.3 slots=1
node3 addr=10.99.0.4 slots=1
node4 addr=10.99.0.5 slots=1
END

run muster exec --hostfile=hostfile --label=host sh -c "for login in root@node1 root@node2 \
    root@node3 ${someone:-root}@node4; do
    ssh -o BatchMode=yes -o UserKnownHostsFile=/dev/null -i \"\$HOME/.ssh/id_ed25519\" \$login true &&
        echo reached \$login; done"
is "each node can log in to each" "$(grep -c 'reached .*node' out)" 16
if [ -x "$top_builddir/agent/sent/muster-check" ]; then
    run muster check --hostfile=hostfile --quick
    is "and muster check works at once" "$rc" 0 || sed 's/^/#   /' out
    ok "... on all of them" grep -q '^check passed: 4 ranks on 4 nodes' out
fi

# A directory for all of them, of which one has something else there.
mkdir code
echo 'import torch' >code/train.py
printf '[project]\npush = code\ndirectory = /var/lib/train\n' >pushing
mkdir "$nodes_dir/node2/varlib/train"
echo mine >"$nodes_dir/node2/varlib/train/notes"
run muster bootstrap --hostfile=hostfile --only project --apply pushing
is "a directory is copied to the nodes" "$rc $(cat "$nodes_dir"/node[134]/varlib/train/train.py | sort -u)" \
    "1 import torch" || sed 's/^/#   /' err
ok "but not where the step has failed" grep -q '^node2  project: failed: /var/lib/train exists' err
is "... at all" "$(ls -A "$nodes_dir/node2/varlib/train")" notes
is "root has it, also where another logs in" "$(stat -c %U "$nodes_dir"/node[134]/varlib/train/train.py | sort -u)" root
rm -r "$nodes_dir/node2/varlib/train"
run muster bootstrap --hostfile=hostfile --only project --apply pushing
is "once that is mended it gets it, too" "$rc $(cat "$nodes_dir/node2/varlib/train/train.py")" "0 import torch"
ok "and the others need nothing" grep -q '^node\[1,3-4\]: nothing needs to be changed' out

if [ -n "$packages" ]; then
    printf '[packages]\ninstall = muster-no-such-package\n' >misspelt
    run muster bootstrap --hostfile=hostfile --include node1 --only packages --apply misspelt
    is "a package that does not exist is a failure, which can be undone" "$rc" 1
fi

# As after a boot: the disk has another name.
on node1 sh -c 'umount /var/lib/data && mv /dev/loop* /dev/moved && mount /dev/moved /var/lib/data'
run muster bootstrap --hostfile=hostfile --undo
is "undo succeeds" "$rc" 0
for name in node1 node2 node3 node4; do
    etc_of "$name" "$tmp/$name.after"
    ok "/etc of $name is byte for byte what it was" cmp "$tmp/$name.before" "$tmp/$name.after"
done
for name in node1 node2 node3 node4; do # the key is gone, too
    nsenter -t "$(cat "$nodes_dir/$name/pid")" -m sh -c 'ls /var/lib; df --output=size -k /dev/shm'
done >there
ok "the package is removed" not grep -q "^muster-test-package" there
ok "the disk is unmounted and the folder gone" not grep -q '^data$' there
ok "/dev/shm is as it was" [ "$(grep -c '^ *16384$' there)" = 4 ]
ok "nothing is left" no_leftovers

other=$(cut -d' ' -f1,2 "$nodes_dir/node2/host_key.pub")
sed -i "s|^10.99.0.2 .*|10.99.0.2 $other|" "$nodes_dir/known_hosts"
run muster bootstrap --hostfile="$nodes_dir/hostfile" --trust-first --password-fd 7 conf 7<right
is "a host key that has changed is refused even then" "$rc" 77
ok "with the command that replaces it" grep -q "node1.*host key has changed" err
ok "which is ssh-keygen -R" grep -q "ssh-keygen -R '10.99.0.2' -f" err

if [ $grow = no ]; then # then it is at least said that the kernel refuses it
    truncate -s 64M "$nodes_dir/node2/image"
    losetup -c "$(cat "$nodes_dir/node2/device")"
    run muster bootstrap --hostfile="$nodes_dir/hostfile" --include node2 --only data --apply \
        --password-fd 7 conf 7<right
    sed 's/^/# /' err
    is "a file system that cannot be grown is a failure" "$rc" 1
    ok "with the cause" grep -q 'data: failed: resize2fs: exit status 1: resize2fs: .' err
    ok "and what to do" grep -q 'grow = no in .data. keeps the size' err
    sed 's/^grow.*//; s/^\[data\]/[data]\ngrow = no/' conf >as_it_is
    run muster bootstrap --hostfile="$nodes_dir/hostfile" --include node2 --only data --apply \
        --password-fd 7 as_it_is 7<right
    is "which works" "$rc" 0
fi

run setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ MUSTER_TRANSPORT=exec \
    muster bootstrap -H localhost --apply
is "who is not root, and may not use sudo, changes nothing" "$rc" 77
ok "and is told so" grep -q "localhost  *sudo  " err

run muster bootstrap --apply conf
is "without hosts nothing is done to this machine" "$rc" 2
ok "and it says why" grep -q "no hosts: give them with --hostfile or -H" err

finish
