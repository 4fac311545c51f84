#!/bin/sh
# muster doctor: what is broken on one node of four is said of that node, and of no other.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/healthy.sh"

own_namespaces
# On node4 the wall clock of an agent that takes preloaded libraries is so far ahead as a file says.
shim=$top_builddir/tests/stress/inject/clock.so
mkdir -p "$nodes_dir/node4"
[ ! -e "$shim" ] || cat >"$nodes_dir/node4/sshd_extra" <<END
SetEnv HOME=$nodes_dir/node4/home MUSTER_TEST_TAG=$tag LD_PRELOAD=$shim INJECT_IN=muster-agent CLOCK_AHEAD=$PWD/ahead
END
use_netns 4

# A node as it should be: its own keys, a data disk, an idle machine.
python=$(readlink -f "$(command -v /usr/bin/python3 || command -v python3)")
site=lib/python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')/site-packages
mkdir -p "venv/bin" "venv/$site" data run
ln -s "$python" venv/bin/python
printf 'home = %s\n' "$(dirname "$python")" >venv/pyvenv.cfg
printf '#!%s\n' "$PWD/venv/bin/python" >venv/bin/torchrun
# version_of NAME VERSION: installed in that environment.
version_of() {
    mkdir "$1-$2.dist-info"
}
version_of "venv/$site/torch" 2.4.0
echo 'print(1)' >train.py
mkdir -p save/global_step1
echo global_step1 >save/latest
for rank in 0 1 2; do echo x >save/global_step1/shard-0000$rank; done
mkdir model
: >model/weights
# Where the driver's library and its module have a version, and apt its settings.
mkdir -p proc/nvidia apt usr/lib usr/bin newer/lib
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024' \
    >proc/nvidia/version
: >usr/lib/libnvidia-ml.so.550.54.14
: >newer/lib/libnvidia-ml.so.550.90.07
echo '#!/bin/sh' | script_file usr/bin/unattended-upgrade
cp -r usr/bin newer/bin
echo 'APT::Periodic::Unattended-Upgrade "0";' >apt/20auto-upgrades
echo 'APT::Periodic::Unattended-Upgrade "1";' >on
# installed NODE FOLDER: what is in FOLDER is in its /usr, too.
overlays=yes
installed() {
    on "$1" mount -t overlay -o "lowerdir=$PWD/$2:/usr" overlay /usr 2>/dev/null || overlays=no
}
healthy() {
    echo 'tmpfs /data tmpfs nofail 0 0' | over "$1" /etc/fstab
    on "$1" mount -t tmpfs -o size=1G tmpfs /dev/shm
    on "$1" mount -t tmpfs -o mode=755 tmpfs /etc/ssh
    on "$1" cp "$nodes_dir/$1/host_key.pub" /etc/ssh/ssh_host_ed25519_key.pub
    printf 'HostKey %s\n' "$nodes_dir/$1/host_key" | on "$1" tee /etc/ssh/sshd_config >/dev/null
    tr -d - <"$nodes_dir/$1/boot_id" >"$1.id"
    over "$1" /etc/machine-id <"$1.id"
    at_rest "$1"
    : | over "$1" /dev/kmsg
    on "$1" mount --bind "$PWD/proc" /proc/driver
    on "$1" mount --bind "$PWD/apt" /etc/apt/apt.conf.d
    installed "$1" usr
    on "$1" mount -t tmpfs -o size=2G tmpfs "$PWD/run"
    on "$1" mkdir "$PWD/run/logs"
}
# The one folder that is outside of this test's own: the nodes mount something there. Nobody else who
# asks muster doctor sees it, as long as / is locked.
exec 9</
flock 9
[ -d /data ] || { mkdir /data && made_data=yes; }
for node in node1 node2 node3 node4; do
    healthy $node
    on $node mount -t tmpfs -o size=3G tmpfs /data
    echo '{"disk": 1}' | on $node tee /data/.muster-data.json >/dev/null
done

doctor() {
    run muster doctor --python "$PWD/venv/bin/python" "$@"
}
doctor train.py --model="$PWD/model" --save="$PWD/save"
is "a healthy cluster is one line, and 0" "$rc $(cat out err)" "0 PASS  node[1-4]  no problems found (--full checks more)"

# says WHAT LEVEL NODES TEXT: one line does, in its columns.
says() {
    ok "$1" grep -qE "^$2  $3 +.*$4" out
}

# A wall clock that is wrong. The agent that ships may be static, and take no preloaded library.
if [ -e "$shim" ]; then
    echo 7 >ahead
    MUSTER_AGENT=$top_builddir/tests/stress/inject/muster-agent doctor
    says "a clock is fast" WARN node4 "its clock is [67]\\.[0-9] s fast"
    says "... and no other" PASS "node\\[1-3\\]" "no problems found"
    echo -60 >ahead
    MUSTER_AGENT=$top_builddir/tests/stress/inject/muster-agent doctor
    says "a clock is wrong by a minute" FAIL node4 "its clock is (59|60)\\.[0-9] s slow"
    says "... and no other" PASS "node\\[1-3\\]" "no problems found"
    echo 0 >ahead
else
    skip "a clock is fast, or slow" "clock.so was not built: a sanitizer has to be the first library"
fi

# in_cloud NODE VENDOR SERVICE: its firmware says so, and metadata.py answers there.
in_cloud() {
    rm -rf class.$1
    cp -a /sys/class class.$1 2>/dev/null
    mkdir -p class.$1/dmi/id
    echo "$2" >class.$1/dmi/id/sys_vendor
    on "$1" mount --bind "$PWD/class.$1" /sys/class
    [ -n "$3" ] || return 0
    ip -n "$1" addr add 169.254.169.254/32 dev lo
    ip netns exec "$1" python3 "$here/commands/metadata.py" "$3" >ready.$1 &
    test_pids="$test_pids $!"
    wait_for 10 grep -q ready ready.$1
}

# Much of it at once.
echo '127.0.0.1 localhost
127.0.1.1 node3
10.99.0.9 node2
10.99.0.2 node1' | over node3 /etc/hosts
on node3 umount /data
on node3 mount -t tmpfs -o size=100M tmpfs /dev/shm
on node3 sh -c 'head -c 1000000 /dev/zero >/dev/shm/nccl-Test01'
on node3 mount -t tmpfs -o size=8M,nr_inodes=20 tmpfs "$PWD/run"
on node3 mkdir "$PWD/run/logs"
prlimit --pid "$(cat "$nodes_dir/node3/pid")" --nofile=512:512 --memlock=65536:65536
# Where no program can be executed from the cache, the agent has a place that no other test sees.
mkdir -p elsewhere
echo "export TMPDIR='$PWD/elsewhere'" >elsewhere.bashrc
for node in node1 node2 node3; do
    mkdir -p "$nodes_dir/$node/home/.cache"
    cp elsewhere.bashrc "$nodes_dir/$node/home/.bashrc"
done
on node3 mount -t tmpfs -o noexec tmpfs "$nodes_dir/node3/home/.cache"
echo 5.4.0-1 | over node3 /proc/sys/kernel/osrelease
echo 'cpu 1000 0 1000 10000 0 0 0 2000 0 0' | over node3 /proc/stat
printf 'MemTotal: 100000000 kB\nMemAvailable: 100 kB\nSwapTotal: 9000000 kB\nSwapFree: 0 kB\n' |
    over node3 /proc/meminfo
echo '99.10 0.10 0.10 1/100 1000' | over node3 /proc/loadavg
echo 'always madvise [other]' | over node3 /sys/kernel/mm/transparent_hugepage/enabled
on node3 sh -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/sshd && : >/run/reboot-required'
printf 'MaxStartups 3\nMaxSessions 1\nClientAliveInterval 2\nHostKey %s\n' "$nodes_dir/node3/host_key" |
    over node3 /etc/ssh/sshd_config
over node3 /etc/ssh/ssh_host_ed25519_key.pub <"$nodes_dir/node2/host_key.pub"
over node3 /etc/machine-id <node2.id
echo '3,1,99999999999,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.' |
    over node3 /dev/kmsg
cp -r venv/$site site
rmdir site/torch-2.4.0.dist-info
version_of site/torch 2.3.0
on node3 mount --bind "$PWD/site" "$PWD/venv/$site"
echo '#!/nowhere/bin/python' | over node3 "$PWD/venv/bin/torchrun"
echo 'print(2)' | over node3 "$PWD/train.py"
on node3 mount -t tmpfs -o mode=700 tmpfs "$PWD/model"
on node3 mount -t tmpfs tmpfs "$PWD/save/global_step1"
for rank in 0 2; do echo x | on node3 tee "$PWD/save/global_step1/shard-0000$rank" >/dev/null; done
ip -n node3 link set eth0 mtu 1400
in_cloud node3 "Amazon EC2" notice
mkdir -p class.node3/infiniband/mlx5_0
[ $overlays = no ] || on node3 umount -l /usr
installed node3 newer
over node3 /etc/apt/apt.conf.d/20auto-upgrades <on
doctor --log-dir "$PWD/run/logs" --env NCCL_SOCKET_IFNAME=eth0 \
    train.py --model="$PWD/model/weights" --save="$PWD/save"
is "what fails: 2" "$rc" 2
says "its name is a loopback address" FAIL node3 "node3 is 127\\.0\\.1\\.1 here"
says "a name has another address" FAIL node3 "node2 is 10\\.99\\.0\\.9 there, but 10\\.99\\.0\\.3"
says "a name is not known" WARN node3 "it does not know the name node4"
says "a file system is not mounted" FAIL node3 "/data is in /etc/fstab, but not mounted"
says "the data disk is not there" FAIL node3 "data /data: a folder of the system disk, but a mounted tmpfs with the marker [0-9a-f]* on node\\[1-2,4\\]"
says "shared memory is small" WARN node3 "/dev/shm has only 99 MiB left"
says "stale files are there" WARN node3 "1 stale file in /dev/shm \\(1 MiB\\)"
says "the log disk is full" FAIL node3 "run/logs has only 8 MiB left"
says "... and has few inodes" WARN node3 "run/logs has only [0-9]* inodes left"
says "no program can be executed in the cache" WARN node3 "home/.cache is mounted noexec"
says "little memory can be locked for InfiniBand" FAIL node3 "64 KiB of locked memory"
says "the kernel differs" WARN node3 "kernel: 5\\.4\\.0-1, but [^ ]* on node\\[1-2,4\\]"
says "few descriptors" WARN node3 "512 file descriptors per process"
says "CPU time is stolen" WARN node3 "the hypervisor took 14 % of the CPU time"
says "memory is used up" WARN node3 "less than 10 % of the memory is available"
says "swap is in use" WARN node3 "8 GiB of swap are in use"
says "the load is high" WARN node3 "the load is 99 on [0-9]* cores"
says "huge pages are set otherwise" WARN node3 "transparent huge pages: other, but"
says "a reboot is due" WARN node3 "an update waits for a reboot"
if [ $overlays = yes ]; then
    says "the driver and its library differ" FAIL node3 "the loaded driver is 550\\.54\\.14, its library 550\\.90\\.07"
    says "unattended upgrades are on" WARN node3 "unattended upgrades are on"
else
    skip "the driver and its library differ; unattended upgrades are on" "no overlay in this kernel"
fi
says "sshd takes few logins" WARN node3 "sshd refuses logins when 3 are in progress"
says "... and ends silent connections soon" WARN node3 "a connection that is silent for 6 s"
says "... and few sessions" WARN node3 "sshd allows 1 session per connection"
says "a host key is twice there" WARN "node\\[2-3\\]" "they have the same ssh host key: \\.\\.\\.[^ ]{8} "
says "a machine id is, too" WARN "node\\[2-3\\]" "they have the same /etc/machine-id: \\.\\.\\.[0-9a-f]{8} "
says "the driver has reported an error" FAIL node3 "the driver has reported Xid 79, has fallen off the bus, once in the last day"
says "a version differs" FAIL node3 "version of torch: 2\\.3\\.0, but 2\\.4\\.0 on node\\[1-2,4\\]"
says "an environment was moved" WARN node3 "venv/bin/torchrun begins with .!/nowhere/bin/python, which does not exist"
says "the script differs" FAIL node3 "content of .*train\\.py: 9 bytes, [0-9a-f]*, but 9 bytes"
says "a path is not there" FAIL node3 "path .*/model/weights: not there, but a file on node\\[1-2,4\\]"
says "a spot machine has its notice" FAIL node3 "EC2 takes this spot machine away at 2[0-9T:-]+Z \\(terminate\\)"
says "a checkpoint lacks a file" FAIL node3 "save/global_step1 lacks some of its files: 2 of shard-# from 0 to 2"
says "the MTU differs" WARN node3 "MTU 1400, but 1500 on node\\[1-2,4\\]"
is "nothing is said of the healthy, but what they share with it" \
    "$(grep -vE '^(FAIL|WARN)  node3 ' out | sed 's/  */ /g; s/:.*//')" \
    "WARN node[2-3] clones they have the same /etc/machine-id
WARN node[2-3] clones they have the same ssh host key
PASS node[1,4] no problems found (--full checks more)"

# Other nodes, for what would hide the others.
MUSTER_RUN_ID=20260101-000000-abcd MUSTER_TEST_TAG=$tag ip netns exec node4 sleep 1000 &
orphan=$!
test_pids="$test_pids $orphan"
is_old() {
    [ "$(ps -o etimes= -p $orphan)" -gt 11 ]
}
on node2 hostname node1
on node4 mount -t tmpfs tmpfs "$PWD/venv/bin"
ip -n node3 link set eth0 mtu 1500
ip -n node2 rule add ipproto tcp sport 1024-65534 blackhole
cat >>"$nodes_dir/ssh_config" <<END
Host node5
    HostName $(node_address 4)
    User $(id -un)
    IdentityFile $nodes_dir/id
    UserKnownHostsFile $nodes_dir/known_hosts
    GlobalKnownHostsFile /dev/null
    HostKeyAlias node4
END
in_cloud node1 Google ''
ip -n node1 addr add 203.0.113.7/32 dev eth0
in_cloud node2 "Amazon EC2" hostile
# A name server that does not answer; files of a cache that no program can use; another host key.
ip -n node4 neigh replace 10.99.99.99 lladdr 02:63:00:00:ff:ff dev eth0 nud permanent
echo 'nameserver 10.99.99.99' | over node4 /etc/resolv.conf
on node2 mount -t tmpfs -o ro tmpfs "$nodes_dir/node2/home/.cache"
on node1 mount -t tmpfs -o size=20k tmpfs "$nodes_dir/node1/home/.cache"
on node1 sh -c 'head -c 20000 /dev/zero >"$1"/full' sh "$nodes_dir/node1/home/.cache" 2>/dev/null
cp "$nodes_dir/known_hosts" known_hosts
sed -i "/node3/s|[^ ]*\$|$(cut -d' ' -f2 "$nodes_dir/node2/host_key.pub")|" "$nodes_dir/known_hosts"
doctor -H node1,node2,node4,node5,node6,node3 --json=result.json
cp known_hosts "$nodes_dir/known_hosts"
is "a node that is not reached: 68" "$rc" 68
ok "... is named" grep -q "node6" err
ok "a host key that is another one is named" grep -qE "node3 +host key +the host key has changed" err
says "names are not looked up in time" FAIL "node\\[4-5\\]" "looking up the names of the nodes takes more than 3 s"
says "the cache is read-only" WARN node2 "home/.cache is mounted read-only"
says "the cache is full" WARN node1 "home/.cache has only 0 MiB left"
says "a host name is twice there" FAIL "node\\[1-2\\]" "they have the same host name: node1"
says "an interpreter is not there" FAIL "node\\[4-5\\]" "no .*venv/bin/python there \\(--python\\), but /.*/python3"
says "a machine is named twice" FAIL "node\\[4-5\\]" "they are the same machine \\(boot id [0-9a-f]{8}\\)"
says "a metadata service does not answer" WARN node1 "no answer from Google Cloud's metadata service: Network is unreachable"
says "... or nonsense" WARN node2 "no answer from EC2's metadata service: its token cannot be parsed"
says "a firewall hides high ports" FAIL node2 "no other node reaches its high TCP ports"
says "the first node can be reached from outside" WARN node1 "its address 203\\.0\\.113\\.7 is public"
is "JSON has the same" "$(python3 -c 'import json
d = json.load(open("result.json"))
print(d["exit_status"], [f["nodes"] for f in d["findings"] if f["check"] == "hosts"], len(d["nodes"]), d["nodes"][4]["error"] is not None)')" \
    "68 [['node4', 'node5']] 6 True"

# Others again, on node4.
ip -n node2 rule del ipproto tcp sport 1024-65534 blackhole
on node2 hostname node2
on node4 umount "$PWD/venv/bin"
ip -n node1 addr del 203.0.113.7/32 dev eth0
echo '{"train_batch_size": 4}' >ds.json
echo 'echo welcome' >>"$nodes_dir/node2/home/.bashrc"
echo 'sleep 6' >"$nodes_dir/node4/home/.bashrc"
mkdir -p place/here
on node4 mount -t tmpfs tmpfs "$PWD/place"
on node4 mount -o remount,ro "$PWD/run"
on node4 mount -t tmpfs tmpfs /sys/fs/cgroup
on node4 sh -c 'echo 100 >/sys/fs/cgroup/pids.max; echo 1000000 >/sys/fs/cgroup/memory.max'
for node in node1 node2; do
    ip -n $node link add extra0 type veth peer name extra1
    ip -n $node addr add 10.77.0.1/24 dev extra0
done
take_port ip netns exec node1
cp ds.json place/here
on node4 umount -l /etc/resolv.conf
on node4 hostname localhost
on node4 mount -t tmpfs -o size=8M tmpfs /var/log
on node4 mount -o remount,size=80M /data
echo '{"disk": 2}' | on node4 tee /data/.muster-data.json >/dev/null
on node4 sh -c 'mkdir /run/keep && mount --rbind "$1" /run/keep && mount -t tmpfs -o size=300M tmpfs /tmp &&
    mkdir -p "$1" && mount --rbind /run/keep "$1"' sh "$tmp"
on node2 mount -t tmpfs -o size=30M tmpfs "$PWD/place/here"
on node2 cp "$PWD/ds.json" "$PWD/place/here/"
on node2 mount -t tmpfs tmpfs "$PWD/save"
echo global_step9 | on node2 tee "$PWD/save/latest" >/dev/null
on node4 mount -t tmpfs tmpfs "$PWD/save/global_step1"
for rank in 0 1 2; do on node4 touch "$PWD/save/global_step1/shard-0000$rank"; done
doctor -H node1,node2,node4 --cwd "$PWD/place/here" --log-dir "$PWD/run/logs" \
    --master_port "$taken_port" --env NCCL_SOCKET_IFNAME=extra0 \
    "$PWD/train.py" --deepspeed_config ds.json --save="$PWD/save"
says "the directory is not there" FAIL node4 "the working directory .*place/here does not exist"
says "the working directory is full" FAIL node2 "place/here has only (29|30) MiB left"
says "/tmp is small" WARN node4 "/tmp has only [0-9]* MiB left"
says "/var/log is full" FAIL node4 "/var/log has only [78] MiB left"
says "the data disk is full" WARN node4 "/data has only [78][0-9] MiB left"
says "it is another data disk" FAIL node4 "data /data: a mounted tmpfs with the marker [0-9a-f]*, but .* on node\\[1-2\\]"
says "the host name says nothing" FAIL node4 "the host name is .localhost."
says "the last checkpoint is not there" FAIL node2 "save/latest names global_step9, which does not exist"
says "... or empty" FAIL node4 "save/global_step1 has empty files"
says "the log disk is read-only" FAIL node4 "run/logs is read-only"
says "an interface is not there" FAIL node4 "NCCL_SOCKET_IFNAME=extra0: there is no such interface"
says "a login may have few processes" WARN node4 "the login session may have 100 processes"
says "... and little memory" WARN node4 "the login session may use 0 MiB of the"
says "the port is taken, on the first node" FAIL node1 "port $taken_port: pid [0-9]+ \\(python3\\)"
says "batch sizes do not fit the ranks" FAIL node1 "ds\\.json: train_batch_size 4 is not a multiple of 3 ranks"
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash)
    says "a login shell talks" WARN node2 "the login shell prints 8 bytes"
    says "a login is slow" WARN node4 "the login took [0-9]* s"
    ;;
*) skip "a login shell talks, or is slow" "the login shell here is not bash" ;;
esac
# Large packets are lost on the way: no segment that is larger than the port's MTU is forwarded.
large=no
if ip -n node4 link set eth0 gso_max_segs 1 2>/dev/null; then
    large=yes
    for node in node1 node2; do ip -n $node link set eth0 gso_max_segs 1; done
    ip link set bridge0 gso_max_segs 1
    ip link set port4 mtu 1200
    ip link set bridge0 mtu 1500 2>/dev/null || :
fi
# By now this is older than what may be about to end.
wait_for 30 is_old
# What is asked does not fit into a packet that arrives, and nor does the answer.
long=$(printf '%0200d/' 1 2 3 4 5 6 7 8)
mkdir -p "$long"
doctor -H node1,node2,node4 --cwd "$PWD/$long"
says "a process of an earlier run is there" WARN node4 "1 process of earlier runs"
is "... and nowhere else" "$(grep -c 'of earlier runs' out)" 1
kill $orphan
if [ $large = yes ]; then
    says "large packets are lost" FAIL node4 "large packets from node\\[1-2\\] do not arrive, small ones do"
else
    skip "large packets are lost" "ip knows no gso_max_segs"
fi

if [ $large = yes ]; then
    ip link set port4 mtu 1500
    for node in node1 node2 node4; do ip -n $node link set eth0 gso_max_segs 65535; done
    ip link set bridge0 gso_max_segs 65535
fi

# A cold disk: node4 may read ten times in a second.
group=/sys/fs/cgroup/blkio/muster-test-$tag
disk=
cold_disk() {
    truncate -s 100M image && mkfs.ext4 -q image && disk=$(losetup -f --show image) &&
        on node4 mount "$disk" /data && on node4 sh -c 'head -c 70000000 /dev/zero >/data/large' &&
        sync && mkdir "$group" &&
        echo "$(stat -c %Hr:%Lr "$disk") 10" >"$group/blkio.throttle.read_iops_device" &&
        cat "$nodes_dir/node4/pid" >"$group/cgroup.procs"
}
warm_disk() {
    cat "$nodes_dir/node4/pid" >/sys/fs/cgroup/blkio/cgroup.procs
    rmdir "$group"
    on node4 umount /data
    losetup -d "$disk"
    disk=
}
trap 'status=$?; [ -z "$disk" ] || warm_disk; (exit $status); test_cleanup' EXIT
if cold_disk 2>/dev/null; then
    doctor --full -H node1,node2,node4 --dead-after 60
    says "a disk is cold" WARN node4 "/data/large is read slowly: p50 [0-9]* ms, p99 [0-9]{2,} ms"
    is "and no other" "$(grep -c 'is read slowly' out)" 1
else
    skip "a disk is cold" "no mkfs.ext4, loop device or control group of blkio"
fi
[ -z "$disk" ] || warm_disk 2>/dev/null

# Another way between node2 and node4, which is late and slow.
: >bad
ip netns exec node2 "$top_srcdir/tests/faults/lossy_line.py" node4 1 0 20 >line &
line=$!
test_pids="$test_pids $line"
wait_for 20 grep -q ready line
for ends in "2 4" "4 2"; do
    # shellcheck disable=SC2086
    set -- $ends
    ip -n "node$1" addr add "10.98.0.$1" peer "10.98.0.$2" dev lossy
    ip -n "node$1" link set lossy up
    ip -n "node$1" route add "$(node_address "$2")" dev lossy src "10.98.0.$1"
done
doctor --full -H node1,node2,node4 --dead-after 60
says "a node uses two interfaces" WARN node2 "it reaches some nodes over lossy, others over eth0"
says "... and the node at the other end" WARN node4 "it reaches some nodes over eth0, others over lossy"
says "a way is late" WARN node2 "a round trip to node4 takes [0-9]{2,}(\\.[0-9])? ms, but "
says "... and slow" WARN node4 "it sends [0-9.e+]* MB/s to node2, but [0-9.e+]* MB/s is usual"
is "and no other way is" "$(grep -E '  speed ' out | grep -cvE '  node2 .* to node4|  node4 .* to node2')" 0
kill $line
wait $line 2>/dev/null

# A slow line: that of node4 has a fifth of what the others have, so that no CPU counts, or less on a
# busy machine.
cp elsewhere.bashrc "$nodes_dir/node2/home/.bashrc"
: >"$nodes_dir/node4/home/.bashrc"
shaped=yes
slowness
for node in node1 node2 node4; do
    rate=50mbit
    [ $node != node4 ] || rate=$((1000000 / (slowness_percent < 400 ? slowness_percent : 400)))kbit
    ip netns exec $node tc qdisc add dev eth0 root tbf rate $rate burst 64kb latency 100ms \
        2>/dev/null || shaped=no
done
if [ $shaped = yes ]; then
    doctor --full -H node1,node2,node4 --json=full.json
    says "a line is slow" WARN node4 "it sends at most [0-9.]* MB/s, but [0-9.]* MB/s is usual"
    is "and no other" "$(grep -cE ' it (sends|receives) ' out)" 1
else
    skip "a line is slow" "no tbf in this kernel"
fi
ok "nothing is left" no_leftovers
nodes_stop
[ -z "${made_data:-}" ] || rmdir /data
finish
