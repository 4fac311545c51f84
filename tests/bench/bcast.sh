# bcast.sh - the part of run that sends files, to be sourced by it
#
# Uses run's work, rounds, measure, median, ratio and try.
# SPDX-License-Identifier: Apache-2.0

# Every line, this machine's too, is as fast as line_rate says: else they would all share the CPUs
# of this machine and nothing else.
line_rate=${LINE_RATE:-200mbit}
bcast_tools=${BCAST_TOOLS:-one muster scp clush pdcp}
small_files=5000
small_bytes=4096

bench_bcast() {
    bcast_mib=${1:-256}
    bcast_nodes=${2:-8}
    for tool in $bcast_tools; do
        has_bcast "$tool" || echo "bench: $tool is NOT COMPARED: it is not installed" >&2
    done
    netns_nodes "$bcast_nodes"
    head -c "$((bcast_mib << 20))" /dev/urandom >"$work/file"
    mkdir "$work/small"
    head -c "$((small_files * small_bytes))" /dev/urandom |
        (cd "$work/small" && split -a 4 -d -b "$small_bytes" - part)
    try muster "$bcast_nodes" >/dev/null
    shape_lines
    echo "$bcast_nodes nodes with lines of $line_rate on $(nproc) CPUs"
    bcast_table file "$bcast_mib MiB"
    bcast_table small "$small_files files"
    [ "$bcast_nodes" -lt 4 ] || bcast_stopped
}

shape_lines() {
    [ "$line_rate" != none ] || return 0
    shape bridge0
    node=1
    while [ "$node" -le "$bcast_nodes" ]; do
        shape "port$node"
        ip netns exec "node$node" tc qdisc add dev eth0 root tbf rate "$line_rate" burst 512kb \
            latency 100ms
        node=$((node + 1))
    done
}

shape() {
    tc qdisc add dev "$1" root tbf rate "$line_rate" burst 512kb latency 100ms
}

has_bcast() {
    [ "$1" = one ] || command -v "$1" >/dev/null
}

# bcast_table WHAT WORDS: the tools take turns to send $work/WHAT.
bcast_table() {
    rm -f "$work"/time.*
    round=0
    while [ "$round" -lt "$rounds" ]; do
        for tool in $bcast_tools; do
            ! has_bcast "$tool" || bcast_try "$tool" "$1" >>"$work/time.$tool"
        done
        round=$((round + 1))
    done
    printf '%-11s %-8s %9s %9s %7s %9s %9s %9s\n' what tool seconds MB/s "x one" "CPU s" \
        here "a node"
    for tool in $bcast_tools; do
        [ ! -s "$work/time.$tool" ] || bcast_row "$tool" "$1" "$2"
    done
}

# It counts only if every node has every byte. To what measure says, the CPU seconds of all nodes
# and those of the busiest one are added.
bcast_try() {
    rm -rf "$nodes_dir"/node*/disk/*
    nodes_cpu >"$work/cpu.before"
    { "bcast_$1" "$2" 3>&1 >"$work/out" 2>"$work/err"; } >"$work/measured"
    nodes_cpu >"$work/cpu.after"
    wanted=$bcast_nodes
    [ "$1" != one ] || wanted=1
    for copy in "$nodes_dir"/node*/disk/"$2"; do
        ! diff -rq "$copy" "$work/$2" >/dev/null || wanted=$((wanted - 1))
    done
    if [ "$wanted" != 0 ]; then
        echo "bench: $1: $wanted copies are missing" >&2
        tail -n 20 "$work/err" >&2
        exit 1
    fi
    paste -d' ' "$work/cpu.before" "$work/cpu.after" | awk '
        NR == FNR { cpu = $2 - $1; all += cpu; if (cpu > most) most = cpu; next }
        { print $0, all, most }' - "$work/measured"
}

bcast_row() {
    nodes=$bcast_nodes
    [ "$1" != one ] || nodes=1
    bytes=$((bcast_mib << 20))
    [ "$2" = file ] || bytes=$((small_files * small_bytes))
    for column in 1 4 5 6; do
        median "$column" "$work/time.$1"
    done | paste -sd' ' | awk -v what="$3" -v tool="$1" -v bytes="$((nodes * bytes))" \
        -v ratio="$(ratio_bcast "$1")" '
        { printf "%-11s %-8s %9.3f %9.1f %7s %9.2f %9.2f %9.2f\n", what, tool, $1,
                 bytes / $1 / 1e6, ratio, $2 + $3, $2, $4 }'
}

ratio_bcast() {
    [ ! -s "$work/time.one" ] || ratio "$1" one
}

# One node in the middle stops when it has half of the file. By how much later than before do the
# others have all of it?
bcast_stopped() {
    usual=$(bcast_others no)
    stopped=$(bcast_others yes)
    echo "$stopped $usual" | awk '{ printf "node3 stops midway: the others have it after %.2f s, " \
        "usually %.2f s; %.2f s later\n", $1, $2, $1 - $2 }'
}

# bcast_others yes|no: seconds until all nodes but node3 have the file.
bcast_others() {
    rm -rf "$nodes_dir"/node*/disk/*
    began=$(now)
    muster bcast --ssh-config "$nodes_dir/ssh_config" -H "node[1-$bcast_nodes]" \
        --dead-after 15 "$work/file" --to "$nodes_dir/disk" >"$work/out" 2>"$work/err" &
    sender=$!
    if [ "$1" = yes ]; then
        until_true has_half
        stop_agent node3
    fi
    until_true others_have_it
    now | awk -v began="$began" '{ print $1 - began }'
    status=0
    wait "$sender" || status=$?
    if [ "$1" = yes ] && { [ "$status" = 0 ] || ! grep -q node3 "$work/err"; }; then
        echo "bench: the node that stopped was not named, status $status" >&2
        exit 1
    fi
}

now() {
    date +%s.%N
}

until_true() {
    until "$@"; do
        kill -0 "$sender" 2>/dev/null || {
            cat "$work/err" >&2
            exit 1
        }
        sleep 0.01
    done
}

has_half() {
    blocks=$(stat -c %b "$nodes_dir"/node3/disk/.muster-* 2>/dev/null) || return 1
    [ "$blocks" -ge "$((bcast_mib << 10))" ]
}

stop_agent() {
    for pid in $(ip netns pids "$1"); do
        [ "$(cat "/proc/$pid/comm")" != muster-agent ] || kill -STOP "$pid"
    done
}

others_have_it() {
    for node in "$nodes_dir"/node*; do
        [ "${node##*/}" = node3 ] || [ -e "$node/disk/file" ] || return 1
    done
}

bcast_one() {
    measure muster bcast --ssh-config "$nodes_dir/ssh_config" -H node1 "$work/$1" \
        --to "$nodes_dir/disk"
}

bcast_muster() {
    measure muster bcast --ssh-config "$nodes_dir/ssh_config" -H "node[1-$bcast_nodes]" \
        "$work/$1" --to "$nodes_dir/disk"
}

bcast_scp() {
    # shellcheck disable=SC2016
    measure sh -c 'for node in $(seq "$1"); do
        scp -O -r -q -F "$2/ssh_config" "$3" "node$node:$2/disk/" || exit 1
    done' sh "$bcast_nodes" "$nodes_dir" "$work/$1"
}

bcast_clush() {
    measure clush -q -f "$bcast_nodes" -o "-F $nodes_dir/ssh_config" -w "node[1-$bcast_nodes]" \
        --copy "$work/$1" --dest "$nodes_dir/disk/"
}

bcast_pdcp() {
    PDSH_SSH_ARGS_APPEND="-F $nodes_dir/ssh_config" measure pdcp -R ssh -r -f "$bcast_nodes" \
        -w "node[1-$bcast_nodes]" "$work/$1" "$nodes_dir/disk/"
}
