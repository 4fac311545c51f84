# containment.sh - what may contain the ranks of a row, and rows 7 to 9 and 16 to 18, which ask about
# each layer in turn
# SPDX-License-Identifier: Apache-2.0

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

# Each node is a machine of its own, as in real runs: those of one machine have no PID namespaces.
MUSTER_AGENT=$test_agent
MUSTER_TEST_BOOT_ID=/proc/sys/kernel/random/uuid
export MUSTER_AGENT MUSTER_TEST_BOOT_ID

[ "$contain_given" = all ] || layers pidns,userns,cgroup,subreaper

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
    timed "$2: muster returned 2.5 s after the last rank's end at most" json_says end.json \
        'd["end"] - max(r["end"] for r in d["results"]) < 2.5 * slow'
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
    faulty_start 4 --grace 2 --dead-after 1000 -H node1:2,node2:2 ./rank # no lease ends them
    ok "$1: every rank has a daemon" wait_for 10 all_escaped
    agent=$(agent_of 0)
    spared="$pid $(below "$(agent_of 1)" | tr '\n' ' ')"
    # shellcheck disable=SC2086
    victims=$(eval "$3")
    since=$(now_ms)
    killed_at=$(date +%s.%N)
    # shellcheck disable=SC2086
    killed=$(kill_timed $victims)
    timed "$1: node1's processes are gone within $2 ms" is_in_time "$2" "$killed" ||
        echo "# it took $killed ms"
    finish_within "$1: muster returns" 4 # the grace, for node2
    is "$1: exit status" "$rc" 69
    timed "$1: muster knew within 1 s" json_says end.json \
        "d['node_failures'][0]['at'] - $killed_at < slow"
    ok "$1: ... and which node it was" grep -Eq 'node1 +[a-z]+ +muster.*killed' err
}
