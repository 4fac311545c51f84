# nodes.sh - real sshd nodes on this machine, for tests, benchmarks and quickstart
#
# The caller sets nodes_dir (an existing directory of its own) and may set
# nodes_tag (a word that marks every process of a run on a node) and
# nodes_agents (agents that the nodes have kept from an earlier run: sending one to a node takes
# sshd most of a second of CPU time on some machines), then calls
#
#     sshd_nodes 2             node1, node2 ... on 127.0.0.2, 127.0.0.3 ..., private ports,
#                              reached as the current user; needs no root
#     netns_nodes 2            the same, each in a network, mount and UTS namespace of its
#                              own on one bridge: 10.99.0.1, 10.99.0.2 ..., and with a boot id
#                              of its own; $nodes_dir/disk is on each node a directory of its
#                              own, nodes_dir/NAME/disk. Root only, after enter_namespaces
#     nodes_stop               ends every sshd; wanted in the caller's EXIT trap
#
# (or, one node at a time, node_files NAME and node_listen NAME ADDRESS, where lines in
# $nodes_dir/NAME/sshd_extra come first in its sshd_config)
#
# and finds the client's side in $nodes_dir: ssh_config, known_hosts, id (its key) and
# hostfile (node1 slots=2 ...). Nothing of ~/.ssh is read or written, on either side: a
# node's HOME is $nodes_dir/NAME/home.
# SPDX-License-Identifier: Apache-2.0

nodes_pids=
# A pattern for the names of the processes behind a connection: since OpenSSH 9.8 the second.
nodes_session='sshd(-session)?'

sshd_nodes() {
    nodes_prepare
    node=1
    while [ "$node" -le "$1" ]; do
        node_files "node$node"
        node_listen "node$node" "127.0.0.$((node + 1))"
        node=$((node + 1))
    done
}

netns_nodes() {
    nodes_prepare
    nodes_bridge
    node=1
    while [ "$node" -le "$1" ]; do
        node_files "node$node"
        node_wire "node$node" "$node"
        node=$((node + 1))
    done
    [ "$1" -gt 64 ] || nodes_know_each_other "$1"
    nodes_hosts "$1" >"$nodes_dir/hosts"
    mount --bind "$nodes_dir/hosts" /etc/hosts
    node=1
    while [ "$node" -le "$1" ]; do
        node_start_in_namespace "node$node" "$(node_address "$node")"
        node=$((node + 1))
    done
}

# With the process that was started last: a signal may have come before it was put on the
# list. KILL, since TERM is lost on a shell's child that has not come to its exec yet. One that has
# ended, and that the shell has waited for, is a child no more: another process may have its number.
nodes_stop() {
    for pid in $nodes_pids ${!:-}; do
        ! nodes_is_child "$pid" || kill -KILL "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    nodes_pids=
}

nodes_is_child() {
    grep -qs "^PPid:[[:space:]]*$$\$" "/proc/$1/status"
}

# enter_namespaces SCRIPT ARGUMENTS...: run the calling script again as the first process of
# PID, mount, network and UTS namespaces of its own. Whatever it starts ends with it, even when it
# is killed with SIGKILL, and this machine's network, name, /run and /etc/hosts stay as they are.
# Returns in that second life only.
enter_namespaces() {
    if [ "${nodes_in_namespaces:-}" != yes ]; then
        trap '' HUP # else unshare goes first, and nobody cleans up
        nodes_in_namespaces=yes exec unshare --pid --fork --kill-child --mount --mount-proc --net --uts \
            env --default-signal=HUP sh "$@"
    fi
    unset nodes_in_namespaces
    mount -t tmpfs tmpfs /run
    ip link set lo up
}

can_enter_namespaces() {
    [ "$(id -u)" = 0 ] && command -v ip >/dev/null &&
        unshare --pid --fork --mount --mount-proc --net --uts ip link set lo up 2>/dev/null
}

# ---- below: one step each ----

nodes_prepare() {
    sshd_program=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || {
        echo "nodes.sh: sshd is not installed (Debian: apt-get install openssh-server)" >&2
        return 1
    }
    # The directory in which sshd, as root, locks up its unprivileged half. Its package
    # makes it when the service starts; it is left there, like the service leaves it.
    [ "$(id -u)" != 0 ] || mkdir -p -m 755 /run/sshd
    ssh-keygen -q -t ed25519 -N '' -C "muster test" -f "$nodes_dir/id"
    cp "$nodes_dir/id.pub" "$nodes_dir/authorized_keys"
    : >"$nodes_dir/ssh_config"
    : >"$nodes_dir/known_hosts"
    : >"$nodes_dir/hostfile"
    chmod 600 "$nodes_dir/ssh_config" "$nodes_dir/known_hosts"
    for agent in ${nodes_agents:-}; do
        kept=$nodes_dir/agents/$(sha256sum "$agent" | cut -c 1-64)
        mkdir -p "$kept"
        cp "$agent" "$kept/muster-agent"
    done
}

# What a node keeps: a home of its own, perhaps with agents, and its host key.
node_files() {
    mkdir -p "$nodes_dir/$1/home"
    [ ! -d "$nodes_dir/agents" ] || node_keeps_agents "$nodes_dir/$1/home/.cache"
    ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$nodes_dir/$1/host_key"
    echo "$1 slots=2" >>"$nodes_dir/hostfile"
}

# Where muster looks for them first (launcher/transport/agent_start.c).
node_keeps_agents() {
    mkdir -p "$1"
    cp -rl "$nodes_dir/agents" "$1/muster"
    chmod 700 "$1"/muster "$1"/muster/*
}

# Find a free port by trying: only sshd's own bind() can tell without a race.
node_listen() {
    tries=0
    while [ "$tries" -lt 20 ]; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 40000))
        node_sshd_config "$1" "$2" "$port" >"$nodes_dir/$1/sshd_config"
        : >"$nodes_dir/$1/sshd.log"
        "$sshd_program" -D -f "$nodes_dir/$1/sshd_config" -E "$nodes_dir/$1/sshd.log" >/dev/null &
        nodes_pids="$nodes_pids $!"
        if node_await "$1" $!; then
            node_client_config "$1" "$2" "$port"
            return 0
        fi
        tries=$((tries + 1))
    done
    echo "nodes.sh: sshd for $1 does not start: $(cat "$nodes_dir/$1/sshd.log")" >&2
    return 1
}

# Wait until this sshd listens (0) or has given up (1).
node_await() {
    polls=0
    while [ "$polls" -lt 1500 ]; do
        if grep -q "Server listening" "$nodes_dir/$1/sshd.log"; then
            echo "$2" >"$nodes_dir/$1/pid"
            return 0
        fi
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.02
        polls=$((polls + 1))
    done
    kill "$2"
    return 1
}

node_sshd_config() {
    # Without PAM sshd refuses an account whose password is locked with '!', as root's is
    # on some images.
    pam=no
    ! getent shadow "$(id -un)" 2>/dev/null | grep -q '^[^:]*:!' || pam=yes
    # sshd takes the first value that it meets, but of this one, before OpenSSH 10, the last.
    grep -qs '^MaxStartups' "$nodes_dir/$1/sshd_extra" || echo "MaxStartups 1000"
    # From OpenSSH 9.8 on it shuts out whoever fails to log in, as some tests do on purpose.
    case $("$sshd_program" -V 2>&1) in
    *OpenSSH_9.[89]* | *OpenSSH_[1-9][0-9].*) echo "PerSourcePenalties no" ;;
    esac
    [ ! -e "$nodes_dir/$1/sshd_extra" ] || cat "$nodes_dir/$1/sshd_extra"
    cat <<END
ListenAddress $2
Port $3
HostKey $nodes_dir/$1/host_key
PidFile none
AuthorizedKeysFile $nodes_dir/authorized_keys
StrictModes no
UsePAM $pam
UseDNS no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
Subsystem sftp internal-sftp
LogLevel VERBOSE
SetEnv HOME=$nodes_dir/$1/home MUSTER_TEST_TAG=${nodes_tag:-none}
END
}

# Let the client know the node: NAME ADDRESS PORT.
node_client_config() {
    echo "$3" >"$nodes_dir/$1/port"
    cat >>"$nodes_dir/ssh_config" <<END
Host $1
    HostName $2
    Port $3
    User $(id -un)
    IdentityFile $nodes_dir/id
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile $nodes_dir/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes

END
    if [ "$3" = 22 ]; then
        names="$2,$1"
    else
        names="[$2]:$3,[$1]:$3"
    fi
    echo "$names $(cut -d' ' -f1,2 "$nodes_dir/$1/host_key.pub")" >>"$nodes_dir/known_hosts"
}

node_address() {
    echo "10.99.$(($1 / 250)).$(($1 % 250 + 1))"
}

node_mac() {
    printf '02:63:00:00:%02x:%02x' $(($1 / 256)) $(($1 % 256))
}

nodes_bridge() {
    mkdir -p -m 755 /run/sshd
    ip link add bridge0 address "$(node_mac 65534)" type bridge
    ip addr add 10.99.255.254/16 dev bridge0
    ip link set bridge0 up
}

# A namespace with eth0 on the bridge, and no default route. Nobody there has to ask for addresses:
# the kernel has one table of neighbors for all namespaces of the machine, with room for 1024
# (gc_thresh3), and when the tests of somebody else have filled it, ARP is not answered any more.
node_wire() {
    ip netns add "$1"
    ip link add "port$2" master bridge0 type veth \
        peer name eth0 address "$(node_mac "$2")" netns "$1"
    ip link set "port$2" up
    ip neigh replace "$(node_address "$2")" lladdr "$(node_mac "$2")" dev bridge0 nud permanent
    ip -n "$1" -batch - <<END
link set lo up
addr add $(node_address "$2")/16 dev eth0
link set eth0 up
neigh replace 10.99.255.254 lladdr $(node_mac 65534) dev eth0 nud permanent
END
}

# The first N.
nodes_know_each_other() {
    for number in $(seq "$1"); do
        echo "neigh replace $(node_address "$number") lladdr $(node_mac "$number") dev eth0" \
            "nud permanent"
    done >"$nodes_dir/neighbors"
    for number in $(seq "$1"); do
        grep -v " $(node_address "$number") " "$nodes_dir/neighbors" | ip -n "node$number" -batch -
    done
}

nodes_hosts() {
    echo "127.0.0.1 localhost"
    number=1
    while [ "$number" -le "$1" ]; do
        echo "$(node_address "$number") node$number"
        number=$((number + 1))
    done
}

node_start_in_namespace() {
    node_sshd_config "$1" 0.0.0.0 22 >"$nodes_dir/$1/sshd_config"
    : >"$nodes_dir/$1/sshd.log"
    cat /proc/sys/kernel/random/uuid >"$nodes_dir/$1/boot_id"
    mkdir -p "$nodes_dir/$1/disk" "$nodes_dir/disk"
    ip netns exec "$1" unshare --uts sh -c 'hostname "$1" && mount --bind "$2" "$3" &&
        mount --bind "$4" "$5" && shift 5 && exec "$@"' sh "$1" \
        "$nodes_dir/$1/boot_id" /proc/sys/kernel/random/boot_id \
        "$nodes_dir/$1/disk" "$nodes_dir/disk" "$sshd_program" -D -f "$nodes_dir/$1/sshd_config" -E "$nodes_dir/$1/sshd.log" &
    nodes_pids="$nodes_pids $!"
    node_await "$1" $! || {
        echo "nodes.sh: sshd for $1 does not start: $(cat "$nodes_dir/$1/sshd.log")" >&2
        return 1
    }
    node_client_config "$1" "$2" 22
}
