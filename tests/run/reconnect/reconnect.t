#!/bin/sh
# A connection that breaks does not end a run: muster logs in again, and both ends go on where the
# other one is. Not a byte is lost, and none comes twice.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

use_sshd 2

# break_connection NODE [--newest]: SIGKILL to the sshd processes behind every connection to it.
break_connection() {
    # shellcheck disable=SC2086
    for child in $(pgrep ${2:-} -P "$(cat "$nodes_dir/$1/pid")"); do
        # shellcheck disable=SC2046
        kill -KILL $(pgrep -P "$child" -x "$nodes_session") "$child" 2>/dev/null
    done
}

# has_grown BYTES: so much has come.
has_grown() {
    [ "$(stat -c %s out)" -ge "$1" ]
}

# The sshd that moves the bytes: for an ordinary user it has a monitor above it.
session_of() {
    monitor=$(pgrep -P "$(cat "$nodes_dir/$1/pid")" | head -n 1)
    pgrep -P "$monitor" -x "$nodes_session" || echo "$monitor"
}

# The agents that have ranks: each has a guard, an agent between has none.
agents() {
    for process in $(pgrep -x muster-agent); do
        ! grep -qz "^MUSTER_TEST_TAG=$tag\$" "/proc/$process/environ" 2>/dev/null ||
            [ -z "$(pgrep -P "$process" -x muster-agent)" ] || echo "$process"
    done
}

# door_of AGENT: other runs of this machine have doors as well, so it is a socket that it has open.
door_of() {
    sockets=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l ' | tr -dc '0-9 ')
    awk -v ours=" $sockets" 'index(ours, " " $7 " ") && $8 ~ /^@muster-/ {
        print substr($8, 2); exit }' /proc/net/unix
}

# is_knocked_at DOOR: somebody waits there to be let in.
is_knocked_at() {
    awk -v door="@$1" '$8 == door && $6 == "02" { waits = 1 } END { exit !waits }' /proc/net/unix
}

# says TIMES PATTERN: so many of muster's lines have it.
says() {
    [ "$(grep -c -e "$2" err)" = "$1" ]
}

# No rank is left when muster returns. The agents that passed bytes on leave a moment later, and
# so the claims here wait for them.
#
# By default the window is two logins; the next one may take longer on a busy machine.
patient="--reconnect 20 --dead-after 30 --grace 2"

# ---- nothing is lost, nothing comes twice ----
wanted=$(seq 1 9000000 | sha256sum)
# shellcheck disable=SC2086
start muster exec --label none $patient -H node1 -- seq 1 9000000
for mark in 3000000 12000000 40000000; do
    wait_for 20 has_grown $mark
    break_connection node1
done
finish_run 60
is "a connection killed three times in 70 MB of output: 0" "$rc" 0
ok "... it was made again" grep -q 'node1: reconnected after' err
ok "... and bytes were sent again" grep -q 'reconnected after .*, [1-9][0-9]* bytes sent again' err
ok "... all of it came, once" [ "$(sha256sum <out)" = "$wanted" ]
ok "... nothing is left" wait_for 5 nothing_left

# ---- whatever the run is doing ----
script_file barrier <<'END'
#!/usr/bin/env python3
# Put, barrier, get what the next rank has put. FIRST waits for the file "go".
import os, time
rank, size = int(os.environ['PMI_RANK']), int(os.environ['PMI_SIZE'])
pmi = os.fdopen(int(os.environ['PMI_FD']), 'r+b', buffering=0)
def ask(line):
    pmi.write(line.encode() + b'\n')
    return pmi.readline().decode()
ask('cmd=init pmi_version=1 pmi_subversion=1')
name = dict(word.split('=', 1) for word in ask('cmd=get_my_kvsname').split())['kvsname']
for turn in range(3):
    ask(f'cmd=put kvsname={name} key=k{turn}-{rank} value=v{turn}-{rank}')
    open(f'in-{turn}-{rank}', 'w')
    while rank == 0 and not os.path.exists(f'go-{turn}'):
        time.sleep(0.01)
    assert 'barrier_out' in ask('cmd=barrier_in')
    other = (rank + 1) % size
    assert f'value=v{turn}-{other}' in ask(f'cmd=get kvsname={name} key=k{turn}-{other}')
ask('cmd=finalize')
END
all_in() {
    [ "$(ls -d in-"$1"-* 2>/dev/null | wc -l)" = 4 ]
}
# shellcheck disable=SC2086
start muster $patient -H node1:2,node2:2 --no_python ./barrier
for turn in 0 1 2; do
    wait_for 20 all_in $turn
    break_connection node2
    [ "$turn" = 1 ] || wait_for 20 says $((turn / 2 + 1)) 'node2: connection lost'
    : >go-$turn
done
finish_run 60
is "killed in three PMI barriers: 0" "$rc" 0
ok "... it was made again" grep -q 'node2: reconnected after' err

# Before the ranks have begun: node1 still prepares, node2 is ready, and is told to start while it
# cannot be reached.
cat >slow <<END
case \$HOME in
*/node1/*) : >'$PWD/prepares'; until [ -e '$PWD/go' ]; do sleep 0.05; done ;;
esac
END
rm -f go
# shellcheck disable=SC2086
start muster -v $patient --venv_script "$PWD/slow" sh -c 'echo ran'
wait_for 20 test -e prepares
wait_for 20 says 1 'node2: preparing -> ready'
kill -STOP "$(cat "$nodes_dir/node2/pid")"
break_connection node1
break_connection node2
ok "connections are lost before the start" wait_for 20 says 2 'node[12]: connection lost'
wait_for 20 says 1 'node1: reconnected after'
: >go
wait_for 20 says 1 'node2: ready -> running'
is "... one of them still is" "$(grep -c 'node2: reconnected' err)" 0
kill -CONT "$(cat "$nodes_dir/node2/pid")"
finish_run 30
is "... and made again: 0" "$rc" 0
is "... every rank ran" "$(grep -c ran out)" 4

script_file saves <<'END'
#!/bin/sh
trap 'sleep 0.5; echo "rank $RANK saved"; exit 0' TERM
echo ready
while :; do sleep 0.05; done
END
# shellcheck disable=SC2086
start muster $patient --no_python ./saves
wait_for 20 lines out 4
kill -STOP "$(cat "$nodes_dir/node1/pid")"
break_connection node1
wait_for 20 says 1 'node1: connection lost'
kill -INT "$pid"
wait_for 20 says 1 'interrupted'
kill -CONT "$(cat "$nodes_dir/node1/pid")"
finish_run 30
is "Ctrl-C while a connection is lost: 130" "$rc" 130
ok "... it was made again" says 1 'node1: reconnected after'
is "... and every rank has ended in its own way" "$(grep -c saved out)" 4
ok "... nothing is left" wait_for 5 nothing_left

# shellcheck disable=SC2086
start muster $patient --no_python ./saves
wait_for 20 lines out 4
kill -INT "$pid"
wait_for 20 says 1 'interrupted'
break_connection node1
break_connection node2
finish_run 30
is "both connections lost while the ranks stop: 130" "$rc" 130
is "... and every rank has ended in its own way" "$(grep -c saved out)" 4

# ---- a connection that is there, and silent ----
script_file ticks <<END
#!/bin/sh
i=0
while [ ! -e '$PWD/go' ]; do i=\$((i + 1)); echo "\$i"; sleep 0.01; done
echo "wrote \$i"
END
rm -f go
start muster exec --label none --heartbeat 0.5 --dead-after 8 -H node1 -- "$PWD/ticks"
wait_for 20 has_grown 100
hung=$(session_of node1)
kill -STOP "$hung"
ok "a session that hangs is given up" wait_for 20 says 1 'node1: reconnected after'
: >go
finish_run 20
kill -KILL "$hung"
is "... exit status 0" "$rc" 0
is "... the output is complete" "$(head -n -1 out)" \
    "$(seq "$(tail -n 1 out | sed 's/^wrote //')")"
ok "... nothing is left" wait_for 5 nothing_left

# The agent stands still until it is asked to go on elsewhere; that connection breaks before it can
# answer. It has then let go of the old one, though that brings its last words.
rm -f go
start muster exec -vv --label none --heartbeat 1 --dead-after 12 --reconnect 20 -H node1 -- \
    "$PWD/ticks"
wait_for 20 has_grown 100
agent=$(agents)
kill -STOP "$agent"
wait_for 20 grep -q 'node1: reconnecting: open' err
door=$(door_of "$agent")
ok "the second agent has knocked" wait_for 5 is_knocked_at "$door"
kill -STOP "$(cat "$nodes_dir/node1/pid")"
break_connection node1 --newest
wait_for 20 says 1 'node1: reconnecting: running: connection lost'
kill -CONT "$agent"
ok "the old connection brings what the agent had sent" wait_for 10 grep -q 'node1: heard again' err
kill -CONT "$(cat "$nodes_dir/node1/pid")"
ok "... and is given up all the same" wait_for 20 says 1 'node1: reconnected after'
ok "... not only when it is silent again" says 1 'node1: suspect'
: >go
finish_run 20
is "... exit status 0" "$rc" 0
is "... the output is complete" "$(head -n -1 out)" \
    "$(seq "$(tail -n 1 out | sed 's/^wrote //')")"
ok "... nothing is left" wait_for 5 nothing_left

# ---- who may come back in ----
rm -f go
start muster exec --label none -H node1 -- "$PWD/ticks"
wait_for 20 has_grown 10
door=$(door_of "$(agents)")
script_file knock <<'END'
#!/usr/bin/env python3
# knock DOOR TOKEN: what an agent says to an RECONNECT.
import json, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect('\0' + sys.argv[1])
body = json.dumps({'socket': sys.argv[1], 'token': sys.argv[2], 'received': 0}).encode()
try:
    s.sendall(struct.pack('>IBBHII', len(body), 26, 0, 0, 1, 0) + body)
    print(s.recv(4096)[16:].decode())
except (BrokenPipeError, ConnectionResetError):
    pass
END
ok "the agent's door has a name" test -n "$door"
ok "a wrong token is refused" sh -c \
    "./knock '$door' 00112233445566778899aabbccddeeff | grep -q 'not this run.s token'"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    is "another user is turned away unheard" "$(setpriv --reuid 65534 --clear-groups \
        python3 - "$door" token <knock)" ""
else
    skip "another user is turned away unheard" "needs root and setpriv"
fi
ok "the token is in no process's arguments or environment" not grep -lqz '"token"' \
    "/proc/$(agents)/cmdline" "/proc/$(agents)/environ"
: >go
finish_run 20
is "... and the run goes on: 0" "$rc" 0

# ---- when it cannot be ----
start muster --reconnect 0 --grace 1 sh -c 'echo ready; exec sleep 100'
wait_for 20 lines out 4
break_connection node1
finish_run 20
is "--reconnect 0: a broken connection ends the run: 69" "$rc" 69
ok "... at once, with the reason" grep -q 'node1 *running *connection lost' err
wait_for 20 nothing_left

# shellcheck disable=SC2086
start muster exec --dead-after 30 --reconnect 20 --grace 1 -H node1 -- sh -c \
    'echo ready; exec sleep 100'
wait_for 20 lines out 1
agent=$(agents)
break_connection node1
wait_for 20 says 1 'node1: reconnected after'
kill -KILL "$agent"
finish_run 20
is "the agent is killed behind the second one: 69" "$rc" 69
ok "... with both reasons" grep -q \
    "node1 *running *muster-agent left .*; reconnecting: the run's agent is no longer there" err
ok "... nothing is left" wait_for 5 nothing_left

start muster exec --dead-after 2 --heartbeat 0.5 --reconnect 1 --grace 1 -H node2 -- sh -c \
    'echo ready; exec sleep 100'
wait_for 20 lines out 1
session=$(session_of node2)
kill -KILL "$(cat "$nodes_dir/node2/pid")"
kill -KILL "$session"
finish_run 20
is "a node whose sshd is gone: 69" "$rc" 69
ok "... with both reasons" grep -q \
    'node2 *running *connection lost: .*; reconnecting: connect: .*refused' err
ok "... and ends its ranks by itself" wait_for 10 nothing_left

# ---- the launcher does not come back ----
start muster --reconnect 1 --grace 1 -H node1:2 sh -c 'trap "" TERM; echo ready; while :; do sleep 60; done'
wait_for 20 lines out 2
since=$(now_ms)
kill -KILL "$pid"
ok "kill -9 of muster: everything ends" wait_for 20 nothing_left
took=$(($(now_ms) - since))
ok "... within a second and the grace" test "$took" -le 2700 || echo "# it took $took ms"
finish
