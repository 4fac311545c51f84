# world.sh - a world of its own for a row: namespaces, control groups, a file system that stops
#
# lib.sh reads this first, and enters the world; its functions use no other file's but wait_for and
# skip_all of tests/run/lib.sh.
# SPDX-License-Identifier: Apache-2.0

can_have_world() {
    [ "$(id -u)" = 0 ] && command -v ip >/dev/null && unshare --pid --fork --mount \
        --mount-proc --net --ipc sh -c 'mount -t tmpfs t /run && ip link set lo up' 2>/dev/null
}

# The build, the sources and this directory may be in /tmp, which becomes an empty one.
world_enter() {
    mount -t tmpfs tmpfs /run
    mkdir -p /run/world/src /run/world/build /run/world/cwd
    mount --bind "$top_srcdir" /run/world/src
    mount --bind "$top_builddir" /run/world/build
    for place in /tmp /var/tmp /dev/shm; do
        mount -t tmpfs tmpfs "$place"
    done
    world_show "$top_srcdir" /run/world/src
    world_show "$top_builddir" /run/world/build
    ip link set lo up
    TMPDIR=/run/world
    export TMPDIR
}

world_show() {
    [ -e "$1/configure.ac" ] || [ -e "$1/config.status" ] || {
        mkdir -p "$1" && mount --bind "$2" "$1"
    }
}

# Control groups of our own, so that those which the run makes can be counted.
world_groups_enter() {
    group_dirs=
    for controller in unified freezer memory ""; do
        base=/sys/fs/cgroup${controller:+/$controller}
        [ -e "$base/cgroup.procs" ] || continue
        own=$base$(group_path "$controller")
        own=${own%/}
        dir=$(group_with memory "$own")/muster-test-$tag
        mkdir "$dir" 2>/dev/null || continue
        echo $$ >"$dir/cgroup.procs" 2>/dev/null || { rmdir "$dir"; continue; }
        group_dirs="$group_dirs $dir"
        group_left=$own
    done
}

# group_with CONTROLLER GROUP: the nearest group, GROUP or one above it, whose new children get
# that controller. In version 2 that is none with processes of its own: not a login session, but
# the slice it is in.
group_with() {
    above=$2
    while [ -e "$above/cgroup.subtree_control" ]; do
        ! grep -qw "$1" "$above/cgroup.subtree_control" || { echo "$above"; return; }
        above=${above%/*}
    done
    echo "$2"
}

# The group in which this process is, as /proc/self/cgroup has it.
group_path() {
    case $1 in
    unified | "") sed -n 's/^0:://p' /proc/self/cgroup ;;
    *) sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup ;;
    esac
}

# A group goes once it is empty: as the first process of our PID namespace we can see to that.
world_groups_leave() {
    [ $$ != 1 ] || kill -KILL -1 2>/dev/null
    for dir in $group_dirs; do
        echo $$ >"${dir%/*}/cgroup.procs" || echo $$ >"$group_left/cgroup.procs"
        wait_for 5 group_remove "$dir"
    done 2>/dev/null
    group_dirs=
}

group_remove() {
    find "$1" -depth -type d -exec rmdir {} \;
    [ ! -e "$1" ]
}

# world_memory MIB: the script and all that it starts may use so much together.
world_memory() {
    for limit in memory.max memory.limit_in_bytes none; do
        for dir in $group_dirs; do
            [ ! -e "$dir/$limit" ] || break 2
        done
    done
    [ "$limit" != none ] || skip_all "no memory controller here"
    echo $(($1 << 20)) >"$dir/$limit"
    [ ! -e "$dir/memory.swap.max" ] || echo 0 >"$dir/memory.swap.max"
}

# cpu_group: make a control group whose CPU time can be limited, and print it.
cpu_group() {
    for dir in "$(group_with cpu "/sys/fs/cgroup$(group_path "")")" \
        "/sys/fs/cgroup/cpu$(group_path '\(.*,\)\?cpu\(,.*\)\?')"; do
        dir=${dir%/}/muster-cpu-$tag
        mkdir "$dir" || continue
        if [ -e "$dir/cpu.max" ] || [ -e "$dir/cpu.cfs_quota_us" ]; then
            echo "$dir"
            return
        fi
        rmdir "$dir"
    done 2>/dev/null
    return 1
}

# can_freeze [SECONDS]: a file system in ./frozen, which `fsfreeze -f frozen` stops, until then.
can_freeze() {
    need world
    command -v fsfreeze >/dev/null && command -v mkfs.ext4 >/dev/null ||
        skip_all "fsfreeze or mkfs.ext4 is missing"
    truncate -s 8M disk
    mkfs.ext4 -q disk
    mkdir frozen
    mount -o loop disk frozen 2>/dev/null || skip_all "no loop device here"
    # Whatever happens: a frozen file system may not stay.
    (sleep "${1:-60}"; fsfreeze -u frozen) 2>/dev/null &
    test_pids="$test_pids $!"
    can_thaw=$PWD/frozen
}
