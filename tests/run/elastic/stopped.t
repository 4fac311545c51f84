#!/bin/sh
# All of muster on a node is stopped and the node cannot be reached: its ranks are dead before the
# next generation begins.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 3
unset MUSTER_HOSTFILE

# A lock on the file of its generation is held as long as a rank of it lives, and in a PID namespace
# as long as its daemon does.
script_file rank <<'END'
#!/bin/sh
exec 9>>"alive-$MUSTER_GENERATION"
flock -s 9
[ "$MUSTER_GENERATION$RANK" != 10 ] || flock -n alive-0 true || echo "two generations at once"
if [ -n "$DAEMON" ]; then
    setsid sh -c 'trap "" TERM; while :; do sleep 1; done' >/dev/null 2>&1 &
fi
echo "generation $MUSTER_GENERATION of $WORLD_SIZE"
until [ -e "go-$MUSTER_GENERATION" ]; do sleep 0.05 9>&-; done
END

# runs GENERATION "HOST HOST": one rank on each.
runs() {
    [ "$(sed -n "s/^\(node[0-9]\): generation $1 of .*/\1/p" out | sort | tr '\n' ' ')" = "$2 " ]
}

spare_waits() {
    grep -q 'node3: checked; it waits for a place' err
}

# below PID: it and its descendants.
below() {
    echo "$1"
    for child in $(pgrep -P "$1"); do
        below "$child"
    done
}

# Agent and guard, of a run on node2.
machinery() {
    for process in $(below "$(cat "$nodes_dir/node2/pid")"); do
        [ "$(cat "/proc/$process/comm" 2>/dev/null)" != muster-agent ] || echo "$process"
    done
}

# stopped WHAT OPTIONS...
stopped() {
    what=$1
    shift
    rm -f go-* alive-*
    start muster -v --label host --heartbeat 0.5 --dead-after "$(stretched 4)" --grace 1 \
        --spares 1 -H node1,node2,node3 "$@" ./rank
    ok "$what: two nodes run" wait_for 60 runs 0 'node1 node2'
    ok "... and a spare is there" wait_for 60 spare_waits
    victims=$(machinery)
    is "... an agent and a guard on node2" "$(echo "$victims" | wc -l)" 2
    # shellcheck disable=SC2086
    kill -STOP $victims
    ip link set port2 down
    ok "... they are stopped, and the line is cut: the spare takes the place" \
        wait_for 60 runs 1 'node1 node3'
    is "... once no rank of node2 lives" "$(grep 'two generations' out)" ""
    : >go-1
    finish_run 30
    is "... and it ends well" "$rc" 0
    # shellcheck disable=SC2086
    kill -CONT $victims 2>/dev/null
    ok "... nothing is left" wait_for 20 nothing_left
    ip link set port2 up
}

stopped "in a PID namespace" --env DAEMON=yes
stopped "without one" --no-pidns
finish
