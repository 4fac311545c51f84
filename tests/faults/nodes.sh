# nodes.sh - real nodes for a row, and what breaks between them and muster
#
# Behind lib.sh's start; tests/run/nodes.sh is below this.
# SPDX-License-Identifier: Apache-2.0

# Real nodes in network namespaces of this world.
world_nodes() {
    need world
    need sshd
    netns_nodes "$1" || exit 1
    use_nodes
    [ "$contain_given" != all ] || unset MUSTER_AGENT # they are machines of their own already
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
