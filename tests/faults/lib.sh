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

[ -n "${top_srcdir:-}" ] || # the tree that the script is in
    top_srcdir=$(cd "$(dirname "$0")" && until [ -e tests/run/lib.sh ]; do cd ..; done && pwd)
top_builddir=${top_builddir:-$top_srcdir}

# ---- a world ----

. "$top_srcdir/tests/faults/world.sh"

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
# Sanitizers keep freed memory: not 256 MiB of it, so that bounds on memory mean something.
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

. "$here/nodes.sh"
. "$here/containment.sh"

# time_passes SECONDS: for claims that something does not happen meanwhile.
time_passes() {
    sleep "$1"
}

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

# ranks_sleep: every rank sleeps for longer than a row may take: somebody has to end it.
ranks_sleep() {
    rank_does <<'END'
exec sleep 1000
END
}

# ranks_wait: every rank continues until there is a file go.
ranks_wait() {
    rank_does <<'END'
while [ ! -e go ]; do sleep 0.2; done
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

# rank_kill RANK: kill the process of ./rank that has that number, in whichever namespace it is, and
# forget who has begun.
rank_kill() {
    for process in /proc/[0-9]*; do
        if tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qx "RANK=$1" &&
            [ "$(cat "$process/comm" 2>/dev/null)" = rank ]; then
            rm -f ran/*
            kill -KILL "${process#/proc/}"
            return
        fi
    done
}

control() {
    ran_reset
    wanted=$1
    shift
    run muster "$@"
    is "without the fault: 0" "$rc" 0
    ok "... and every rank ran" all_ran "$wanted"
    is "... and nobody complains" "$(complaints)" ""
    # shellcheck disable=SC2086
    ok "... and nothing is left" ${control_is_clean:-clean}
}

# What muster says, but that this machine is busy.
complaints() {
    grep -v 'heartbeat round trips of up to' err
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
    took_at_most "$1 within $2 s" "$2" "$took"
}

# at_most WHAT KIB GOT: memory.
at_most() {
    ok "$1: $(($2 / 1024)) MiB at most" test "$3" -le $(($2 * slowness_build)) || echo "# $3 KiB"
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
# It may not have come yet when a rank has said that it runs.
says() {
    for pattern in "$@"; do
        ok "it says: $pattern" wait_for 3 grep -Eq -e "$pattern" err
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
