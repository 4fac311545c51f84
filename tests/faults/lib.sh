# lib.sh - what the scripts in this folder share
#
# A script is one row of README's table: it brings the fault about, and then claims what must
# hold after it. tests/run/lib.sh is below this; here are
#
#     control N ARGUMENTS...     the command without its fault: ends with 0, all N ranks ran,
#                                nobody complains. Shows that the row is not vacuous
#     faulty / faulty_start      the same command with FAULT=yes in the ranks' environment
#     ended CODE                 what holds after every row: the exit status, and an oracle
#     layers LIST                containment that the run may use
#     within WHAT SECONDS SINCE  on a clock that nobody sets
#
# As root a script has a world of its own: PID, mount, network and IPC namespaces, control
# groups, an empty /tmp. Then the oracle does not look for our processes, sockets and files: it
# demands that there are none at all. Otherwise the run's random tag has to do.
# SPDX-License-Identifier: Apache-2.0

top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-$top_srcdir}

# ---- a world ----

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

world=
group_dirs=
if [ "${faults_world:-}" = yes ]; then
    world=own
    world_enter
elif can_have_world; then
    # A terminal that closes ends us, inside; should unshare go first, nobody would clean up.
    trap '' HUP
    faults_world=yes exec unshare --pid --fork --kill-child --mount --mount-proc --net --ipc \
        env --default-signal=HUP sh "$0" "$@"
fi

# tests/run/lib.sh empties the environment.
contain_given=${MUSTER_TEST_CONTAIN-all}
. "$top_srcdir/tests/run/lib.sh"
here=$top_srcdir/tests/faults
unset TMPDIR
run_limit=40
# Sanitizers make everything slower, and keep freed memory: not 256 MiB of it, so that bounds
# on memory mean something.
slower=1
! grep -q __asan_init "$top_builddir/launcher/muster" || slower=3
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=64
export ASAN_OPTIONS

# Processes that have the tag in their arguments only. Brackets, so that grep does not find
# itself.
hidden_kill() {
    for hidden in $(grep -ls "[${tag%"${tag#?}"}]${tag#?}" /proc/[0-9]*/cmdline); do
        hidden=${hidden%/cmdline}
        kill -KILL "${hidden#/proc/}"
    done 2>/dev/null
}

faults_cleanup() {
    status=$?
    trap '' PIPE INT TERM HUP
    [ -z "${can_thaw:-}" ] || fsfreeze -u "$can_thaw" 2>/dev/null
    hidden_kill
    [ -z "$world" ] || world_groups_leave
    (exit "$status")
    test_cleanup
}
trap faults_cleanup EXIT
[ -z "$world" ] || world_groups_enter

# need world: the row cannot be had without.
need_world() {
    [ -n "$world" ] || { echo "needs root"; return 1; }
}

# Real nodes in network namespaces of this world.
world_nodes() {
    need world
    need sshd
    netns_nodes "$1" || exit 1
    use_nodes
}

# Real nodes, in a world where there is one.
ssh_nodes() {
    if [ -n "$world" ]; then
        world_nodes "$1"
    else
        use_sshd "$1"
    fi
}

# In the world of node NAME: its network, its mounts.
on_node() {
    node_pid=$(cat "$nodes_dir/$1/pid")
    shift
    nsenter -t "$node_pid" -n -m "$@"
}

node_cut() {
    ip link set "port$1" down
}

node_heal() {
    ip link set "port$1" up
}

# From now on muster reaches that node, one of world_nodes, over a line that loses 30 % of its
# packets while there is a file "bad"; "line" has a line for each.
lossy_line() {
    [ -e /dev/net/tun ] || modprobe tun 2>/dev/null || skip_all "no /dev/net/tun here"
    "$top_srcdir/tests/faults/lossy_line.py" "node$1" "$2" >line &
    test_pids="$test_pids $!"
    wait_for 10 grep -q ready line
    ip addr add 10.98.0.1 peer 10.98.0.2 dev lossy
    ip link set lossy up
    on_node "node$1" ip addr add 10.98.0.2 peer 10.98.0.1 dev lossy
    on_node "node$1" ip link set lossy up
    sed -i "s/HostName $(node_address "$1")/HostName 10.98.0.2/" "$nodes_dir/ssh_config"
    sed "s/^$(node_address "$1"),/10.98.0.2,/" "$nodes_dir/known_hosts" >known
    cat known >"$nodes_dir/known_hosts"
}

# session_kill NAME: SIGKILL to the sshd of one connection to that node, a child of its sshd.
session_kill() {
    session=$(pgrep -P "$(cat "$nodes_dir/$1/pid")" | head -n 1)
    ok "there is a session to kill" test -n "$session"
    since=$(now_ms)
    for process in $(below "$session"); do
        case $(name_of "$process") in sshd | sshd-session) kill -KILL "$process" ;; esac
    done
}

# A node NAME with NUMBER whose monotonic clock is a day ahead of ours.
node_ahead() {
    node_files "$1"
    node_wire "$1" "$2"
    node_sshd_config "$1" 0.0.0.0 22 >"$nodes_dir/$1/sshd_config"
    : >"$nodes_dir/$1/sshd.log"
    ip netns exec "$1" unshare --time --monotonic 86400 --boottime 86400 --fork --kill-child \
        "$sshd_program" -D -f "$nodes_dir/$1/sshd_config" -E "$nodes_dir/$1/sshd.log" &
    nodes_pids="$nodes_pids $!"
    node_await "$1" $! || exit 1
    nodes_pids="$nodes_pids $(pgrep -P $!)"
    node_client_config "$1" "$(node_address "$2")" 22
}

need_time_namespaces() {
    need_world && unshare --time --fork true 2>/dev/null ||
        { echo "needs root and a kernel with time namespaces"; return 1; }
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

# time_passes SECONDS: for claims that something does not happen meanwhile.
time_passes() {
    sleep "$1"
}

# ---- layers ----

# layers LIST: what may contain the ranks of the following runs, by tests/faults/matrix less
# what MUSTER_TEST_CONTAIN does not have. "lease" is not the agent's to switch off: without it
# --dead-after is a day.
layers() {
    MUSTER_TEST_CONTAIN=
    for layer in $(echo "$1" | tr , ' '); do
        case ,$contain_given, in
        ,all, | *,$layer,*) MUSTER_TEST_CONTAIN=$MUSTER_TEST_CONTAIN,$layer ;;
        esac
    done
    MUSTER_TEST_CONTAIN=${MUSTER_TEST_CONTAIN#,}
    MUSTER_AGENT=$test_agent
    export MUSTER_TEST_CONTAIN MUSTER_AGENT
}

# layers_missing LIST: it wants a PID namespace, and this machine gives us none: user namespaces
# are switched off, or this is a container.
layers_missing() {
    case $1 in pidns*) ;; *) return 1 ;; esac
    for privilege in "" "--user --map-root-user"; do
        # shellcheck disable=SC2086
        ! unshare $privilege --pid --fork --mount --mount-proc true 2>/dev/null || return 1
    done
    skip "$1" "no PID namespaces here"
}

lease() {
    case ,$contain_given, in
    ,all, | *,lease,*) echo "$1" ;;
    *) echo 1d ;;
    esac
}

[ "$contain_given" = all ] || layers pidns,userns,cgroup,subreaper

# ---- with and without the fault ----

# rank_does: make ./rank of standard input, behind the lines that every rank begins with: it
# has run, and without a fault that is all.
rank_does() {
    {
        echo "#!/bin/sh"
        echo ": >'$PWD/ran/'\$RANK"
        echo '[ -n "$FAULT" ] || exit 0'
        cat
    } >rank
    chmod +x rank
}

# ranks_sleep: every rank sleeps for longer than any row takes.
ranks_sleep() {
    rank_does <<'END'
exec sleep 100
END
}

# ranks_wait: every rank goes on until there is a file go.
ranks_wait() {
    rank_does <<'END'
while [ ! -e go ]; do sleep 0.05; done
END
}

# ranks_count: the same, and meanwhile each writes "rank R line 1", "rank R line 2" ...
ranks_count() {
    rank_does <<'END'
i=0
while [ ! -e go ]; do
    i=$((i + 1))
    echo "rank $RANK line $i"
    sleep 0.02
done
echo "rank $RANK wrote $i"
END
}

# all_count_to N LINE: the first N ranks of ranks_count have come so far.
all_count_to() {
    for rank in $(seq 0 $(($1 - 1))); do
        grep -q "rank $rank line $2\$" out || return 1
    done
}

# all_counted N: the first N ranks of ranks_count have ended, and of each every line has come,
# once and in order.
all_counted() {
    for rank in $(seq 0 $(($1 - 1))); do
        wrote=$(sed -n "s/.*rank $rank wrote //p" out)
        [ -n "$wrote" ] && [ "$(sed -n "s/.*rank $rank line //p" out)" = "$(seq "$wrote")" ] ||
            return 1
    done
}

# all_got: each of four ranks on two nodes has written just what is in the file wanted.
all_got() {
    for label in node1:0 node1:1 node2:2 node2:3; do
        sed -n "s/^$label: //p" out >got
        cmp wanted got || { echo "# $label" && return 1; }
    done
}

ran_reset() {
    rm -rf ran
    mkdir -m 777 ran
}

# all_ran N: so many ranks have begun.
all_ran() {
    [ "$(ls ran | wc -l)" = "$1" ]
}

control() {
    ran_reset
    wanted=$1
    shift
    run muster "$@"
    is "without the fault: 0" "$rc" 0
    ok "... and every rank ran" all_ran "$wanted"
    is "... and nobody complains" "$(cat err)" ""
    ok "... and nothing is left" clean
}

# world_control N RANKS ARGUMENTS...: N real nodes, with two ranks each that do as ranks_RANKS
# says, and the control with all of them.
world_control() {
    world_nodes "$1"
    "ranks_$2"
    number=$((2 * $1))
    shift 2
    control "$number" "$@" ./rank
}

faulty() {
    ran_reset
    began=$(now_ms)
    run muster --json end.json --env FAULT=yes "$@"
    now_ms >ended_ms
}

# faulty_start N ARGUMENTS...: return when all N ranks have begun; $pid is muster.
faulty_start() {
    ran_reset
    wanted=$1
    shift
    start muster --json end.json --env FAULT=yes "$@"
    ok "every rank runs" wait_for 30 all_ran "$wanted"
}

# within WHAT SECONDS SINCE: muster ended so soon after now_ms said SINCE.
within() {
    took=$(($(cat ended_ms) - $3))
    most=$(echo "$2 $slower" | awk '{ print int($1 * $2 * 1000) }')
    ok "$1 within $2 s" test "$took" -le "$most" || echo "# it took $took ms"
}

# at_most WHAT KIB GOT: memory.
at_most() {
    ok "$1: $(($2 / 1024)) MiB at most" test "$3" -le $(($2 * slower)) || echo "# $3 KiB"
}

# finish_within WHAT SECONDS: muster ends so soon after $since.
finish_within() {
    finish_run "$((${2%.*} + 30))"
    now_ms >ended_ms
    within "$1" "$2" "$since"
}

# ended CODE: what holds after every row.
ended() {
    is "exit status $1" "$rc" "$1"
    ok "no process, socket, file or control group is left" clean
}

# says PATTERN...: muster's own lines have it.
says() {
    for pattern in "$@"; do
        ok "it says: $pattern" grep -Eq -e "$pattern" err
    done
}

says_not() {
    ok "it does not say: $1" not grep -Eq -e "$1" err
}

# ---- the oracle ----

# Processes of a reachable node are gone when muster returns. What the system's own daemons
# hold (sshd's half of a connection) may take a moment.
clean() {
    no_leftovers && wait_for 10 oracle && return
    oracle_says "# left: "
    return 1
}

# The same when muster itself was killed, or lost a node: the nodes need their time.
clean_within() {
    wait_for "$1" nothing_left && clean
}

oracle() {
    [ -z "$(oracle_says "")" ]
}

# oracle_says PREFIX. test_pids are the script's own, and so may run and listen.
oracle_says() {
    # shellcheck disable=SC2086
    python3 "$here/oracle.py" --prefix "$1" --tag "$tag" --world "${world:-none}" \
        --home "$HOME" --groups "$group_dirs" --sshd "$nodes_pids" $test_pids
}

# kill_timed PID...: SIGKILL to all at once; the milliseconds until nothing with our tag lives
# but the processes in $spared.
kill_timed() {
    python3 "$here/kill_timed.py" "$tag" "${spared:-}" "$@"
}

# ---- who is who ----

# run_on NAME: processes of the run on a node of world_nodes.
run_on() {
    for process in $(below "$(cat "$nodes_dir/$1/pid")"); do
        ! has_tag "$process" || echo "$process"
    done
}

# Agents of --transport exec, in the order of their nodes; a guard is a child of its agent.
agents() {
    for process in $(pgrep -x muster-agent); do
        ! has_tag "$process" || [ "$(name_of "$(parent_of "$process")")" = muster-agent ] ||
            echo "$process"
    done
}

agent_of() {
    agents | sed -n "$(($1 + 1))p"
}

# guard_of AGENT
guard_of() {
    pgrep -P "$1" -x muster-agent | head -n 1
}

has_tag() {
    grep -qz "^MUSTER_TEST_TAG=$tag\$" "/proc/$1/environ" 2>/dev/null
}

name_of() {
    cat "/proc/$1/comm" 2>/dev/null
}

parent_of() {
    ps -o ppid= -p "$1" | tr -d ' '
}

# below PID: it and all that descend from it.
below() {
    echo "$1"
    for child in $(pgrep -P "$1"); do
        below "$child"
    done
}

# ---- what stays behind: rows 7 to 9 ----

# escapes KIND: rank 1 leaves such a process behind (escape.c) and exits with 0. It does not
# outlive the run, whichever layer contains it.
escapes() {
    rank_does <<EOF
[ "\$RANK" != 1 ] || exec "$top_builddir/tests/faults/escape" $1 "$tag" "$PWD/escaped"
EOF
    control 4 -H node1:2,node2:2 ./rank
    escaped_from pidns,userns pidns
    if [ -n "$group_dirs" ]; then
        escaped_from cgroup cgroup
    else
        skip "cgroup: nothing is left" "needs root and control groups"
    fi
    escaped_from subreaper subreaper
}

# escaped_from LAYERS WORD
escaped_from() {
    layers_missing "$1" && return
    layers "$1"
    rm -f escaped
    faulty -v -H node1:2,node2:2 ./rank
    ok "$2: something stayed behind" test -e escaped
    ok "$2: it is what contained the ranks" grep -Eq "node1: containment (userns\+)?$2" err
    ended 0
    ok "$2: muster returned 2.5 s after the last rank's end at most" json_says end.json \
        'd["end"] - max(r["end"] for r in d["results"]) < 2.5'
    hidden_kill
}

# ---- death of the machinery: rows 16 to 18 ----

# Four ranks on two nodes, each with a daemon that is deaf to all signals.
machinery_ranks() {
    rank_does <<EOF
"$top_builddir/tests/faults/escape" daemon "$tag" "$PWD/escaped-\$RANK"
while :; do sleep 60; done
EOF
    control 4 -H node1:2,node2:2 ./rank
}

all_escaped() {
    [ "$(find . -name 'escaped-*' | wc -l)" = 4 ]
}

# machinery_dies LAYERS MILLISECONDS PIDS: SIGKILL to what the shell expression PIDS prints;
# node1's processes are gone so soon, muster knows after 1 s at most, and ends with 69.
machinery_dies() {
    layers_missing "$1" && return 1
    layers "$1"
    rm -f escaped-*
    faulty_start 4 --grace 2 -H node1:2,node2:2 ./rank
    ok "$1: every rank has a daemon" wait_for 10 all_escaped
    agent=$(agent_of 0)
    spared="$pid $(below "$(agent_of 1)" | tr '\n' ' ')"
    # shellcheck disable=SC2086
    victims=$(eval "$3")
    since=$(now_ms)
    killed_at=$(date +%s.%N)
    # shellcheck disable=SC2086
    killed=$(kill_timed $victims)
    ok "$1: node1's processes are gone within $2 ms" test "$killed" -le "$2" ||
        echo "# it took $killed ms"
    finish_within "$1: muster returns" 4 # the grace, for node2
    is "$1: exit status" "$rc" 69
    ok "$1: muster knew within 1 s" json_says end.json \
        "d['node_failures'][0]['at'] - $killed_at < 1"
    ok "$1: ... and which node it was" grep -Eq 'node1 +[a-z]+ +muster.*killed' err
}
