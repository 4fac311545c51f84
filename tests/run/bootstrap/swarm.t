#!/bin/sh
# Three nodes with a disk each, clones of one snapshot: with --warm=swarm each reads a third of what
# was recorded and gets the rest from the others; a file that is not the recorded one, or that
# somebody has open, is left as it is.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces

disks=
free_disks() {
    nodes_stop
    for node in 1 2 3; do umount "$nodes_dir/node$node/disk" 2>/dev/null; done
    for disk in $disks; do losetup -d "$disk" 2>/dev/null; done
}
trap 'status=$?; free_disks; (exit $status); test_cleanup' EXIT

# plug NODE: its image as a disk, of which nothing is in memory.
plug() {
    disk=$(losetup -f --show "$nodes_dir/$1/image") || skip_all "no loop device"
    disks="$disks $disk"
    echo "$disk" >"$nodes_dir/$1/device"
    mkdir -p "$nodes_dir/$1/disk" "$nodes_dir/$1/varlib"
    mount -o noatime "$disk" "$nodes_dir/$1/disk" || skip_all "no ext4"
}

# unplug NODE: its image is whole then. A process that still ends on the node has it mounted, and the
# kernel writes to it until then.
unplug() {
    umount "$nodes_dir/$1/disk"
    losetup -d "$(cat "$nodes_dir/$1/device")"
    wait_for 30 is_unplugged "$1"
}
is_unplugged() {
    [ -z "$(losetup -j "$nodes_dir/$1/image")" ]
}

# The snapshot as the disk of each node.
restore() {
    for node in 1 2 3; do
        cp --sparse=always "$nodes_dir/snapshot" "$nodes_dir/node$node/image"
        plug "node$node"
    done
}

# kib_read NODE: what was read of its disk since it was plugged in.
kib_read() {
    disk=$(cat "$nodes_dir/$1/device")
    awk '{ print int($3 / 2) }' "/sys/block/${disk#/dev/}/stat"
}

# watch_memory: from here on it is known whether pages stay in memory. Some virtual machines give back
# to their host what nobody has read for half a minute.
watch_memory() {
    head -c 40000000 /dev/urandom >"$tmp/witness" && sync "$tmp/witness"
}
stay_in_memory() {
    [ "$(fincore -nbo RES "$tmp/witness")" -ge 40000000 ]
}
# is_in_memory NODE FILE: most of it. The kernel may take single pages away at any time.
is_in_memory() {
    [ $((4 * $(fincore -nbo RES "$nodes_dir/$1/disk/$2"))) -gt \
        $((3 * $(stat -c %s "$nodes_dir/$1/disk/$2"))) ]
}
# ok_in_memory NODE: all files of it.
ok_in_memory() {
    for file in model changed held small; do
        if stay_in_memory || is_in_memory "$1" $file; then
            ok "$1 has $file in memory" is_in_memory "$1" $file
        else
            skip "$1 has $file in memory" "this machine takes pages from memory soon"
        fi
    done
}

command -v fincore >/dev/null || skip_all "no fincore"
nodes_prepare
printf '#!/bin/sh\n%s\n%s\n' "mount --bind \"\$(dirname \"\$3\")/varlib\" /var/lib" \
    "exec '$sshd_program' \"\$@\"" | script_file "$tmp/node_sshd"
sshd_program=$tmp/node_sshd
nodes_bridge
for node in 1 2 3; do
    node_files "node$node"
    node_wire "node$node" "$node"
done
nodes_hosts 3 >"$nodes_dir/hosts"
mount --bind "$nodes_dir/hosts" /etc/hosts

truncate -s 80M "$nodes_dir/node1/image"
mkfs.ext4 -q -L data "$nodes_dir/node1/image" || skip_all "no mkfs.ext4"
plug node1
cd "$nodes_dir/node1/disk" || exit 1
head -c 25000000 /dev/urandom >model
head -c 6000000 /dev/urandom >changed
head -c 6000000 /dev/urandom >held
head -c 3000 /dev/urandom >small
truncate -s 1M holes
sha256sum model changed held small >"$tmp/before"
touch -d '2020-01-02 03:04:05.678' model changed held
# A file that has just changed is not recorded: it could change again in the same tick.
wait_for 10 sh -c '[ $(date +%s) -gt $(($(stat -c %Z held) + 3)) ]'
cat ./* >/dev/null 2>&1
cd "$tmp/work" || exit 1
node_start_in_namespace node1 "$(node_address 1)"
use_nodes
cat >conf <<END
[warm]
paths = $nodes_dir/disk
list = $nodes_dir/disk/.muster-warm
END
run muster bootstrap --include node1 --record conf
is "a good run is recorded" "$rc" 0
ok "with the hashes of what nodes can share" grep -q 'can share 36 MiB of 3 files' out
nodes_stop

# The snapshot is restored, three times; on node2 a file has changed since.
ok "node1's disk is unplugged" unplug node1
mv "$nodes_dir/node1/image" "$nodes_dir/snapshot"
restore
printf x | dd of="$nodes_dir/node2/disk/changed" bs=1 seek=3000000 conv=notrunc status=none
touch -d '2020-01-02 03:04:05.678' "$nodes_dir/node2/disk/changed"
sha256sum "$nodes_dir/node2/disk/changed" >"$tmp/changed"
ok "node2's disk is unplugged" unplug node2
plug node2
for node in 1 2 3; do
    node_start_in_namespace "node$node" "$(node_address "$node")"
done
exec 8<"$nodes_dir/node3/disk/held"

run muster bootstrap --only warm --warm=swarm --plan conf
ok "a plan says how it would be read" grep -q 'apply reads .* together with other nodes' out
for node in 1 2 3; do
    kib_read "node$node" >"$tmp/node$node.kib"
done
watch_memory
run muster bootstrap --only warm --warm=swarm --apply conf
is "all nodes read together" "$rc" 0
is "and say what came from where" "$(grep -c 'from 2 other nodes' out)" 3
for node in 1 2 3; do
    ok_in_memory "node$node"
done
sync
for node in 1 2 3; do # of 36 MiB; node2 and node3 read one file of 6 MB themselves
    read_kib=$(($(kib_read "node$node") - $(cat "$tmp/node$node.kib")))
    most=$((14 * 1024 + (node > 1) * 5 * 1024))
    ok "node$node has read $read_kib KiB of its disk, at most $most" [ "$read_kib" -lt $most ]
    ok "its files' times are as before" \
        [ "$(stat -c %Y "$nodes_dir/node$node/disk/model")" = "$(date -d '2020-01-02 03:04:05' +%s)" ]
done
exec 8<&-

# What is on the disks, not in memory.
nodes_stop
for node in 1 2 3; do
    umount "$nodes_dir/node$node/disk" && mount "$(cat "$nodes_dir/node$node/device")" \
        "$nodes_dir/node$node/disk"
done
ok "node1 has what it had" sh -c "cd '$nodes_dir/node1/disk' && sha256sum -c --quiet '$tmp/before'"
ok "node3 too" sh -c "cd '$nodes_dir/node3/disk' && sha256sum -c --quiet '$tmp/before'"
ok "node2 but for the changed file" \
    sh -c "cd '$nodes_dir/node2/disk' && ! sha256sum -c '$tmp/before' 2>/dev/null >'$tmp/sums'"
is "which is only that one" "$(grep -c ': FAILED' "$tmp/sums")$(grep -c '^changed: FAILED' "$tmp/sums")" 11
ok "that file is still what its owner made of it" sha256sum -c --quiet "$tmp/changed"

for node in 1 2 3; do
    node_start_in_namespace "node$node" "$(node_address "$node")"
    kib_read "node$node" >"$tmp/node$node.kib"
done
run muster bootstrap --only warm --warm=swarm --apply conf
is "a second time succeeds" "$rc" 0
ok "and reads nothing" not grep -q MiB out

# A node is killed while it serves the others, or its line is cut, so that nobody hears that it is
# gone: they finish, from each other and from their own disks.
again() {
    nodes_stop
    for node in 1 2 3; do
        ok "node$node's disk is unplugged" unplug "node$node"
        rm -rf "$nodes_dir/node$node/varlib/"* # where it says that all is read
    done
    restore
    for node in 1 2 3; do
        node_start_in_namespace "node$node" "$(node_address "$node")"
    done
}
# Such that they need half a minute.
slow_lines() {
    for node in 1 2 3; do
        ip netns exec "node$node" tc qdisc replace dev eth0 root tbf rate 8mbit burst 64kb \
            latency 400ms 2>/dev/null || return
    done
}
fast_lines() {
    for node; do ip netns exec "node$node" tc qdisc del dev eth0 root; done
}
sent_by_node2() {
    awk '$1 == "port2:" { print $2 }' /proc/net/dev
}
has_served() {
    [ $(($(sent_by_node2) - before)) -gt 3000000 ]
}
# lose_node2 HOW SECONDS COMMAND...: in the middle of it.
lose_node2() {
    how=$1 seconds=$2
    shift 2
    slow_lines || skip_all "no tbf in this kernel"
    watch_memory
    before=$(sent_by_node2)
    start muster bootstrap --only warm --warm=swarm --apply conf
    ok "node2 serves the others" wait_for 60 has_served
    "$@"
    fast_lines 1 3
    finish_run "$seconds"
    is "$how: the run fails" "$rc" 69
    ok "and names it" grep -q '^ *node2 ' err
    for node in 1 3; do
        # Two nodes that say the same stand in one line.
        ok "node$node, too" grep -q \
            "^node\($node\|\[1,3\]\) .* node2: .*: its part was read from this disk" out
        ok "node$node has got a part from the other node" \
            grep -q "^node\($node\|\[1,3\]\) .* [1-9][0-9]* from 2 other nodes" out
        ok_in_memory "node$node"
    done
}
kill_node2() {
    # shellcheck disable=SC2046
    kill -KILL $(ip netns pids node2) 2>/dev/null
}
are_whole() {
    nodes_stop
    for node in 1 3; do
        umount "$nodes_dir/node$node/disk" && mount "$(cat "$nodes_dir/node$node/device")" \
            "$nodes_dir/node$node/disk"
        ok "node$node has what it had, on its disk" \
            sh -c "cd '$nodes_dir/node$node/disk' && sha256sum -c --quiet '$tmp/before'"
    done
}

again
lose_node2 "it is killed" 60 kill_node2
are_whole
again
lose_node2 "its line is cut" 120 ip link set port2 down
ip link set port2 up
are_whole
finish
