#!/bin/sh
# muster bcast to nodes that pass chunks on to each other: the way they take, and what happens if a
# node stops, cannot be reached by the others, or is called by somebody else.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 4
disk=$nodes_dir/disk

# arrived NODE...: each has what was sent, and nothing else. The large file comes last.
arrived() {
    for node; do
        [ -e "$nodes_dir/$node/disk/src/many/z" ] || return 1
    done
    for node; do
        diff -rq src "$nodes_dir/$node/disk/src" >/dev/null 2>&1 || return 1
    done
}

# on NODE COMMAND...: in its namespace.
on() {
    node=$1
    shift
    ip netns exec "$node" "$@"
}

# agent_of NODE: its pid. The login shell has become the agent.
agent_of() {
    for process in $(ip netns pids "$1"); do
        case $(tr '\0' ' ' <"/proc/$process/cmdline") in
        *muster-agent* | */agent\ --nonce*) echo "$process" && return ;;
        esac
    done
}

nobody_listens() {
    for node in node1 node2 node3 node4; do
        [ -z "$(on "$node" ss -Hltn | grep -v ':22 ')" ] || return 1
    done
}

# A node that gets its copy from another one, and gives it to a third.
middle() {
    sed -n 's/^.* \(node.\): gets its copy from \(node.\)$/\1 \2/p' err >links
    while read -r to from; do
        ! grep -q "^$from node" links || echo "$from"
    done <links | head -n 1
}
has_middle() {
    [ -n "$(middle)" ]
}
# part_of NODE: bytes of the file that it is getting.
part_of() {
    find "$nodes_dir/$1/disk" -name '.muster-*' -exec du -k {} + | awk '{ n += $1 } END { print n * 1024 }'
}
is_under_way() {
    [ "$(part_of "$1")" -gt 2000000 ]
}
is_under_way_at_one() {
    is_under_way node1 || is_under_way node3 || is_under_way node4
}
# The sshd of the nodes have the tag, too.
nothing_left_but_sshd() {
    ! leftovers | grep -v sshd | grep -q .
}
clean_disks() {
    rm -rf "$nodes_dir"/node?/disk/src
}

mkdir -p src/many
head -c 20000000 /dev/urandom >src/large
for i in $(seq 100) z; do
    echo "$i" >"src/many/$i"
done

# The agent is pushed now, so that it does not count below.
run muster bcast -v src --to "$disk" --json end.json
is "four nodes: exit status 0" "$rc" 0
ok "... all have it" arrived node1 node2 node3 node4
# On a machine that is too busy muster takes a node for one that has stopped, and says so.
late=$(grep -cE 'gets its copy from muster$|no progress for' err)
ok "... one of them from muster, three from each other" json_says end.json \
    "3 - $late <= sum(n['bytes_from_nodes'] > 20000000 for n in d['nodes']) <= 3"
ok "... nothing listens any more" nobody_listens

# From a node
rm -rf "$nodes_dir"/node[134]/disk/src
run muster bcast "node2:$disk/src" --json end.json
is "from a node: exit status 0" "$rc" 0
ok "... all have it" arrived node1 node2 node3 node4
ok "... nothing of it through muster" json_says end.json \
    "[n['bytes_sent'] - n['bytes_from_nodes'] for n in d['nodes']] == [0] * 4"
ok "... but three copies" json_says end.json \
    "[n['bytes_sent'] > 20000000 for n in d['nodes']] == [True, False, True, True]"

# One that has no answer from the others, as with many firewalls; and which they cannot reach
clean_disks
for node in 1 2 3; do
    ip -n "node$node" route add blackhole "$(node_address 4)"
done
run muster bcast src --to "$disk" --json end.json
is "a node that the others cannot reach: exit status 0" "$rc" 0
ok "... all have it" arrived node1 node2 node3 node4
ok "... it is named" grep -q 'node4.* cannot connect to node\|node.: cannot connect to node4' err
for node in 1 2 3; do
    ip -n "node$node" route del blackhole "$(node_address 4)"
done

# One stops
clean_disks
head -c 90000000 /dev/urandom >src/large
began=$(now_ms)
run muster bcast src --to "$disk"
quiet=$(($(now_ms) - began))
is "a larger file: exit status 0" "$rc" 0
clean_disks
began=$(now_ms)
start muster bcast -v --dead-after "$(stretched 30)" src --to "$disk"
ok "a chain" wait_for 20 has_middle
stopped=$(middle)
ok "... is under way" wait_for 20 is_under_way "$stopped"
kill -STOP "$(agent_of "$stopped")"
others=$(echo node1 node2 node3 node4 | sed "s/$stopped//")
# shellcheck disable=SC2086
ok "a node stops: the others have it" wait_for 30 arrived $others
took_at_most "... at most 3 s later than without that" 3 $(($(now_ms) - began - quiet))
ok "... although it has not" not arrived "$stopped"
ok "... and it is named" wait_for 20 grep -q "$stopped: no progress for 2 s and no answer" err
kill -CONT "$(agent_of "$stopped")"
finish_run 30
is "... and when it continues: exit status 0" "$rc" 0
ok "... it has it, too" arrived "$stopped"

# The node that has the files is lost.
rm -rf "$nodes_dir"/node[134]/disk/src
start muster bcast -v "node2:$disk/src"
ok "from a node" wait_for 20 is_under_way_at_one
kill -KILL "$(agent_of node2)"
finish_run 30
is "... that is lost: 69" "$rc" 69
ok "... it is named" grep -q 'node2' err
ok "... and why the others have nothing" grep -q 'the node that has the files is lost' err

# Cut off, and continued. The line to the first node is what makes it last.
clean_disks
start muster bcast -v src --to "$disk"
ok "a chain" wait_for 20 has_middle
last=$(middle)
ok "... is under way" wait_for 20 is_under_way "$last"
kill -KILL "$pid"
finish_run 20
ok "muster is killed: its agents end" wait_for 20 nothing_left_but_sshd
kept=$(part_of "$last")
run muster bcast src --to "$disk" --json end.json
is "... the next one: exit status 0" "$rc" 0
ok "... all have it" arrived node1 node2 node3 node4
ok "... and what was there was not sent again" json_says end.json \
    "{n['node']: n['bytes_sent'] for n in d['nodes']}['$last'] <= 90100000 - ($kept - 2000000)"
ok "... and no part is left" sh -c '[ -z "$(find "$1" -name ".muster-*")" ]' sh "$nodes_dir"

# A program that is only here
mkdir -p "$disk"
printf '#!/bin/sh\necho here\n' | script_file "$disk/tool"
run muster exec --push "$disk/tool" --label none -- "$disk/tool"
is "--push: the nodes get it before the run" "$rc $(tr '\n' ' ' <out)$(cat err)" "0 here here here here "
run muster exec --push "$disk/none" -- true
is "... what is not here: 65" "$rc" 65

# An outsider calls while a node is expected: it says something else, or nothing.
clean_disks
start muster bcast -v src --to "$disk"
python3 - "$pid" >outsider <<'END' &
import os, re, socket, subprocess, sys, time
called = 0
while os.path.exists('/proc/' + sys.argv[1]) and open(f'/proc/{sys.argv[1]}/stat').read().split()[2] != 'Z':
    for node in range(1, 5):
        table = subprocess.run(['ip', 'netns', 'exec', f'node{node}', 'ss', '-Hltn'],
                               capture_output=True, text=True).stdout
        for port in re.findall(r'10\.99\.0\.\d+:(\d+)', table):
            line = socket.socket()
            line.settimeout(2)
            try:
                line.connect((f'10.99.0.{node + 1}', int(port)))
                line.sendall(b'muster1\n' + b'\0\0\0\1' + bytes(32) + bytes(100))
                got = line.recv(100)
            except OSError:
                got = b''
            called += 1
            if got:
                print('it was answered', got)
            line.close()
print('over', called)
END
outsider=$!
finish_run 60
wait "$outsider"
is "an outsider calls: exit status 0" "$rc" 0
ok "... all have it" arrived node1 node2 node3 node4
echo "# $(tail -n 1 outsider) times"
ok "... and it had no answer" not grep -q answered outsider
finish
