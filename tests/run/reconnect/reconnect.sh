# reconnect.sh - what the scripts about broken connections share, behind lib.sh
# SPDX-License-Identifier: Apache-2.0

# break_connection NODE [--newest]: SIGKILL to the sshd processes behind every connection to it.
break_connection() {
    # shellcheck disable=SC2086
    for child in $(pgrep ${2:-} -P "$(cat "$nodes_dir/$1/pid")"); do
        # shellcheck disable=SC2046
        kill -KILL $(pgrep -P "$child" -x "$nodes_session") "$child" 2>/dev/null
    done
}

# has_grown BYTES: so much output has come.
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

# socket_of AGENT: its reconnect socket, by name. Other runs of this machine have theirs, so it is
# one that the agent has open.
socket_of() {
    sockets=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l ' | tr -dc '0-9 ')
    awk -v ours=" $sockets" 'index(ours, " " $7 " ") && $8 ~ /^@muster-/ {
        print substr($8, 2); exit }' /proc/net/unix
}

# is_waited_at SOCKET: somebody has connected there and is not yet let in.
is_waited_at() {
    awk -v socket="@$1" '$8 == socket && $6 == "02" { waits = 1 } END { exit !waits }' /proc/net/unix
}

# says TIMES PATTERN: that many of muster's lines have it, or more: what is waited for may come again
# before somebody looks.
says() {
    [ "$(grep -c -e "$2" err)" -ge "$1" ]
}

# ticks_until_go: make ./ticks, which counts until there is a file "go", and then says how far.
ticks_until_go() {
    script_file ticks <<END_OF_TICKS
#!/bin/sh
i=0
while [ ! -e '$PWD/go' ]; do i=\$((i + 1)); echo "\$i"; sleep 0.01; done
echo "wrote \$i"
END_OF_TICKS
}

# output_is_complete: every number that ./ticks has written came, once and in order.
output_is_complete() {
    [ "$(head -n -1 out)" = "$(seq "$(tail -n 1 out | sed 's/^wrote //')")" ]
}

# No rank is left when muster returns. The agents that passed bytes on leave a moment later, and
# so the claims here wait for them.
#
# By default the window is two logins; the next one may take longer on a busy machine.
patient="--reconnect 20 --dead-after 30 --grace 2"
