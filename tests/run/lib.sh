# lib.sh - what the scripts in this folder share
#
# A script is one property: it sources this file, runs muster, says "ok" or "not ok" for each
# claim (TAP) and ends with finish. It gets an empty directory ($tmp, its working directory),
# an empty HOME, and an environment with nothing of the user's in it.
# SPDX-License-Identifier: Apache-2.0

[ -n "${top_srcdir:-}" ] || # the tree that the script is in
    top_srcdir=$(cd "$(dirname "$0")" && until [ -e tests/run/lib.sh ]; do cd ..; done && pwd)
top_builddir=${top_builddir:-$top_srcdir}
here=$top_srcdir/tests/run
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")

test_name=$(basename "$0" .t)
test_count=0
test_failures=0
test_finished=no
test_pids=

. "$here/nodes.sh"
. "$top_srcdir/tests/run/time.sh"

# ---- TAP ----

# ok WHAT COMMAND...: the command must succeed.
ok() {
    what=$1
    shift
    test_count=$((test_count + 1))
    if "$@"; then
        result "ok" "$what"
        return 0
    fi
    test_failures=$((test_failures + 1))
    result "not ok" "$what"
    printf '# failed:'
    printf ' %s' "$@" | tr '\n' ' '
    echo
    explain
    return 1
}

# One TAP line, in which "#" has a meaning. No echo: it would take backslashes for its own.
result() {
    case $2 in
    *\#*) printf '%s %s - %s\n' "$1" "$test_count" "$2" | tr -d '#' ;;
    *) printf '%s %s - %s\n' "$1" "$test_count" "$2" ;;
    esac
}

# is WHAT GOT WANTED: two texts must be the same.
is() {
    if [ "$2" = "$3" ]; then
        ok "$1" true
    else
        ok "$1" same "$2" "$3"
    fi
}

same() {
    [ "$1" = "$2" ]
}

not() {
    ! "$@"
}

# skip WHAT WHY: one claim that cannot be tested here.
skip() {
    test_count=$((test_count + 1))
    echo "ok $test_count - $1 # SKIP $2"
}

# skip_all WHY: the whole script cannot be tested here, or what is left of it.
skip_all() {
    if [ "$test_count" != 0 ]; then
        skip "the rest of this script" "$1"
        finish
    fi
    echo "1..0 # SKIP $1"
    test_finished=yes
    exit 0
}

# need THING: leave loudly when it is missing. What $MUSTER_TEST_REQUIRE lists must be
# there: CI names all that it has installed, so that nothing is skipped unnoticed.
need() {
    why=$("need_$1") && return 0
    case " ${MUSTER_TEST_REQUIRE:-} " in
    *" $1 "*)
        ok "$1 is there, as MUSTER_TEST_REQUIRE asks" false
        echo "# $why"
        finish
        ;;
    esac
    skip_all "$why"
}

need_root() {
    [ "$(id -u)" = 0 ] || { echo "needs root"; return 1; }
}

need_user() {
    need_root && command -v setpriv >/dev/null || { echo "needs root and setpriv"; return 1; }
}

need_namespaces() {
    can_enter_namespaces || { echo "needs root, iproute2 and namespaces"; return 1; }
}

need_sshd() {
    command -v sshd >/dev/null && command -v ssh-keygen >/dev/null ||
        { echo "sshd is missing (Debian: apt-get install openssh-server)"; return 1; }
}

need_mpich() {
    command -v mpicc.mpich >/dev/null ||
        { echo "mpicc.mpich is missing (Debian: apt-get install libmpich-dev mpich)"; return 1; }
}

# Open MPI, and muster-pmix, by which its ranks find each other.
need_open_mpi() {
    command -v mpicc.openmpi >/dev/null ||
        { echo "mpicc.openmpi is missing (Debian: apt-get install openmpi-bin libopenmpi-dev)"; return 1; }
    [ -x "$top_builddir/pmix/muster-pmix" ] ||
        { echo "muster-pmix was not built (Debian: apt-get install libpmix-dev)"; return 1; }
}

# It is not imported: that takes more than a second of CPU.
need_torch() {
    python3 -c 'import importlib.util, os, sys
torch = importlib.util.find_spec("torch")
sys.exit(torch is None or not os.path.isdir(os.path.dirname(torch.origin) + "/distributed"))' ||
        { echo "torch is missing (Debian: apt-get install python3-torch)"; return 1; }
}

need_trainer() {
    [ -x "$top_builddir/trainer/muster-train" ] ||
        { echo "muster-train was not built (libgloo-dev is missing)"; return 1; }
}

need_pty() {
    command -v script >/dev/null || { echo "script(1) is missing (Debian: bsdutils)"; return 1; }
}

finish() {
    echo "1..$test_count"
    test_finished=yes
    [ "$test_failures" = 0 ]
    exit
}

# script_file NAME: make an executable of standard input.
script_file() {
    cat >"$1"
    chmod +x "$1"
}

# What a failed claim wants to show: the last run of muster.
explain() {
    [ -e err ] || return 0
    echo "# muster exited $(cat status); its last lines on stderr:"
    grep -A 14 'ERROR: [A-Za-z]*Sanitizer' err | cut -c 1-200 | sed 's/^/#   /'
    tail -n 20 err | cut -c 1-200 | sed 's/^/#   /'
    echo "# and on stdout:"
    tail -n 5 out | cut -c 1-200 | sed 's/^/#   /'
}

# ---- running muster ----

# run COMMAND...: wait for it; its output is in out and err, its exit status in rc.
# (also in status). It has ten times $run_limit seconds, else rc is 124 or 137; not so many that the
# script would be ended first (tests/suite/one). A rank that muster has to end sleeps for 1000 s.
run() {
    rc=0
    run_s=$((${run_limit:-60} * 10))
    [ "$run_s" -le 500 ] || run_s=$((${run_limit:-0} > 500 ? run_limit : 500))
    MUSTER_TEST_TAG=$tag timeout --foreground -k 10 "$run_s" "$@" \
        >out 2>err </dev/null || rc=$?
    echo "$rc" >status
}

# on_terminal COMMAND...: the same on a terminal; standard input has the steps (terminal.py).
on_terminal() {
    cat >steps
    run "$here/terminal.py" steps "$@"
}

# start COMMAND...: the same in the background; its process is $pid. A shell starts
# background commands with SIGINT ignored, and nohup with SIGHUP, which is not how a terminal
# would.
start() {
    : >out
    : >err
    echo "not yet" >status
    MUSTER_TEST_TAG=$tag env --default-signal=INT,QUIT,HUP "$@" >out 2>err </dev/null &
    pid=$!
    test_pids="$test_pids $pid"
}

# finish_run SECONDS: wait for what start started; rc is "late" when it does not end.
finish_run() {
    if wait_for "$1" is_gone "$pid"; then
        rc=0
        wait "$pid" || rc=$?
    else
        rc=late
        kill -KILL "$pid"
    fi
    echo "$rc" >status
}

# wait_for SECONDS COMMAND...: until it succeeds, which takes that long at most on a quiet machine. It
# fails after ten times that, and says so: no claim is made about how fast this machine is. What
# takes long is looked at less often: each look costs several forks.
wait_for() {
    now_ms_in wait_began
    wait_ms=$(($1 * 10000))
    shift
    until "$@"; do
        now_ms_in wait_now
        wait_now=$((wait_now - wait_began))
        [ "$wait_now" -le "$wait_ms" ] || {
            echo "# waited $wait_now ms in vain: $(echo "$*" | head -n 1)"
            return 1
        }
        wait_look "$wait_now"
    done
}

# wait_look WAITED_MS: until the next look, later on a slow machine, which many looks make slower.
wait_look() {
    if [ "$1" -lt 500 ]; then
        look_ms=20
    elif [ "$1" -lt 3000 ]; then
        look_ms=50
    else
        look_ms=100
    fi
    look_ms=$((1000 + look_ms * (slowness_percent < 400 ? slowness_percent : 400) / 100))
    sleep "0.${look_ms#1}"
}

is_gone() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# lines FILE WANTED: that many lines are in FILE.
lines() {
    [ "$(wc -l <"$1")" = "$2" ]
}

# json FILE EXPRESSION: a Python expression over the document, called d. A limit for the seconds
# between two of its times is a claim of the wide tier, multiplied by slow (time.sh: timed).
json() {
    slowness
    python3 -c 'import json, sys
print(eval(sys.argv[2], {"d": json.load(open(sys.argv[1])), "slow": int(sys.argv[3]) / 100}))' \
        "$1" "$2" "$slowness_percent"
}

json_says() {
    [ "$(json "$1" "$2")" = True ]
}

# take_port [COMMAND...]: a process listens on a port until the script ends; COMMAND starts it where
# the port is wanted. Its number is in taken_port.
take_port() {
    "$@" python3 -c 'import socket, time
listener = socket.socket()
listener.bind(("", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
time.sleep(1000)' >port &
    test_pids="$test_pids $!"
    wait_for 20 test -s port
    taken_port=$(cat port)
}

# ---- what a run may not leave ----

# Processes of this script's runs: muster, the agents, the ranks and whatever they started
# inherit the tag. Prints "pid command" lines.
leftovers() {
    for environ in $(grep -lsz "^MUSTER_TEST_TAG=$tag\$" /proc/[0-9]*/environ); do
        process=${environ%/environ}
        is_gone "${process#/proc/}" ||
            echo "${process#/proc/} $(tr '\0' ' ' <"$process/cmdline" | cut -c 1-100)"
    done 2>/dev/null
}

no_leftovers() {
    left=$(leftovers)
    [ -z "$left" ] || {
        echo "$left" | sed 's/^/# left: /'
        return 1
    }
}

# The same while waiting: says nothing.
nothing_left() {
    [ -z "$(leftovers)" ]
}

# ---- setting up ----

test_cleanup() {
    status=$?
    trap '' PIPE INT TERM HUP
    [ "$test_finished" = yes ] || echo "Bail out! $test_name ended early (status $status)"
    nodes_stop
    for pid in $test_pids; do
        ! is_ours "$pid" || kill -KILL "$pid" 2>/dev/null
    done
    for pid in $(leftovers | cut -d' ' -f1); do
        kill -KILL "$pid" 2>/dev/null
    done
    cd / && rm -rf "$tmp"
    exit "$status"
}

# The number of a process that has ended and was waited for may be somebody else's by now. Ours have
# this shell for a parent, or our HOME.
is_ours() {
    nodes_is_child "$1" || grep -qsF "$tmp" "/proc/$1/environ"
}

test_setup() {
    [ -x "$top_builddir/launcher/muster" ] || {
        echo "Bail out! $top_builddir/launcher/muster is missing: run make first"
        exit 1
    }
    tmp=$(mktemp -d "${TMPDIR:-/tmp}/muster-$test_name.XXXXXX") || exit 1
    tag=$(od -An -N8 -tx1 /dev/urandom | tr -d ' ')
    nodes_dir=$tmp/nodes
    nodes_tag=$tag
    mkdir "$tmp/home" "$tmp/work" "$nodes_dir"
    trap test_cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP PIPE
    for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
        case $name in
        top_srcdir | top_builddir | srcdir) ;;
        MUSTER_TEST_REQUIRE | MUSTER_TEST_TOKENIZERS | MUSTER_TEST_TRANSFORMERS | MUSTER_TEST_WIDE) ;;
        ASAN_OPTIONS | UBSAN_OPTIONS | LSAN_OPTIONS | TMPDIR | PATH | PWD) ;;
        nodes_in_namespaces) ;;
        *) unset "$name" ;;
        esac
    done
    HOME=$tmp/home
    PATH=$top_builddir/launcher:$top_builddir/trainer:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
    # Nodes are processes of this machine, unless a script wants real ones (use_sshd).
    MUSTER_TRANSPORT="exec"
    export HOME PATH MUSTER_TRANSPORT
    # The agent that knows MUSTER_TEST_CONTAIN and other switches (agent/node/test_switch.h).
    test_agent=$top_builddir/tests/run/agent/muster-agent
    # What nodes have kept of earlier runs. A script about sending an agent has none: nodes_agents=
    nodes_agents="$top_builddir/agent/muster-agent $test_agent"
    cd "$tmp/work" || exit 1
}

# Real nodes, N of them, and muster told how to reach them.
use_sshd() {
    need sshd
    sshd_nodes "$1" || exit 1
    use_nodes
}

# The same in namespaces. Call it as: own_namespaces; use_netns N
use_netns() {
    netns_nodes "$1" || exit 1
    use_nodes
}

use_nodes() {
    unset MUSTER_TRANSPORT
    MUSTER_SSH_CONFIG=$nodes_dir/ssh_config
    MUSTER_HOSTFILE=$nodes_dir/hostfile
    export MUSTER_SSH_CONFIG MUSTER_HOSTFILE
}

# Go on as the first process of namespaces of our own; see nodes.sh.
own_namespaces() {
    need sshd
    if [ "${nodes_in_namespaces:-}" != yes ]; then
        need namespaces
        cd / && rm -rf "$tmp"
    fi
    enter_namespaces "$script"
}

test_setup
