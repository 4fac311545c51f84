# clean.sh - what the scripts about muster clean share, behind lib.sh
#
# muster clean looks at all processes of a machine, so each script is alone on one.
# SPDX-License-Identifier: Apache-2.0

own_namespaces
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /sys/fs/cgroup # others may leave something there

clean() {
    run muster clean -H node1:2 --grace 1 "$@"
}

# stale COMMAND...: a process as an earlier run would leave it: $stale, in a session of its own.
old=20260101-000000-abcd
stale() {
    MUSTER_RUN_ID=$old MUSTER_TEST_TAG=$tag setsid "$@" >/dev/null 2>&1 &
    stale=$!
    test_pids="$test_pids $stale"
    wait_for 5 is_itself "$stale" "$1"
}

# is_itself PID PROGRAM: it is neither this shell's copy nor setsid any more.
is_itself() {
    grep -qsz "^MUSTER_RUN_ID=" "/proc/$1/environ" &&
        [ "$(tr '\0' '\n' <"/proc/$1/cmdline" | head -n 1)" = "$2" ]
}

alive() {
    ! is_gone "$1"
}

# row PID WORDS: the table says that of this process.
row() {
    grep -Eq "^node1 +$2 +$1 " out
}

# nothing_left_of_run: no process has the id of the earlier run, but one of another user, $others.
nothing_left_of_run() {
    for environ in $(grep -lsz "^MUSTER_RUN_ID=$old\$" /proc/[0-9]*/environ); do
        [ "${environ%/environ}" = "/proc/${others:-}" ] || return 1
    done
}

# rank_until_killed: make ./rank, which says that it runs, and does so until it is killed.
rank_until_killed() {
    script_file rank <<'EOF'
#!/bin/sh
echo ready
while :; do sleep 0.1; done
EOF
}

# Both ranks of a run have begun.
all_ready() {
    lines out 2
}
