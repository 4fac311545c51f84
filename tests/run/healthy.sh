# healthy.sh - for scripts that ask muster doctor: nodes of netns_nodes that have nothing else to do
#
# on NODE COMMAND...    in the namespaces of its sshd
# over NODE FILE        standard input takes the place of that file there
# at_rest NODE          load, CPU time and memory of a machine that is idle and has enough of each
# SPDX-License-Identifier: Apache-2.0

on() {
    on_pid=$(cat "$nodes_dir/$1/pid")
    shift
    nsenter -t "$on_pid" -m -u -n -- "$@"
}

over() {
    over_file=$(mktemp "$PWD/over.XXXXXX")
    chmod 644 "$over_file"
    cat >"$over_file"
    on "$1" mount --bind "$over_file" "$2"
}

at_rest() {
    echo '0.10 0.10 0.10 1/100 1000' | over "$1" /proc/loadavg
    echo 'cpu 1000 0 1000 10000 0 0 0 10 0 0' | over "$1" /proc/stat
    printf 'MemTotal: 1000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n' |
        over "$1" /proc/meminfo
}
