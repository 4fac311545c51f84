#!/bin/sh
# Nodes leave a run, by muster drain or by the list of hosts, and come back. A node that was lost
# comes back when it has cooled down.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# A lock on the file of its generation is held as long as a rank of it lives.
script_file rank <<'END'
#!/bin/sh
exec 9>>"alive-$1-$MUSTER_GENERATION"
flock -s 9
before=$((MUSTER_GENERATION - 1))
[ "$RANK" != 0 ] || [ "$before" -lt 0 ] || flock -n "alive-$1-$before" true ||
    echo "two generations at once"
echo "generation $MUSTER_GENERATION rank $RANK of $WORLD_SIZE"
[ ! -e "$MUSTER_NOTICE_FILE" ] || echo "an old notice"
trap 'echo told' USR1
while [ ! -e "go-$1-$MUSTER_GENERATION" ]; do
    sleep 0.05
done
END
# hosts NODES: the list of hosts from now on.
hosts() {
    for host; do
        echo "$host slots=1"
    done >hosts.new
    mv hosts.new hosts
}
# runs G NODES...: the ranks of that generation, in order, are on those nodes, and no others.
runs() {
    generation=$1
    shift
    wanted=
    rank=0
    for host; do
        wanted="$wanted$rank:$host "
        rank=$((rank + 1))
    done
    [ "$(sed -n "s/^\(node[0-9]\):.* generation $generation rank \([0-9]*\) of $#\$/\2:\1/p" out |
        sort | tr '\n' ' ')" = "$wanted" ]
}
says() {
    grep -Eq -e "$1" err
}
MUSTER_HEARTBEAT=0.2
MUSTER_LABEL=host
export MUSTER_HEARTBEAT MUSTER_LABEL

# Meanwhile a lost node cools down, in a run of its own.
mkdir cool
(cd cool && MUSTER_TEST_TAG=$tag exec muster -v --nnodes 1:2 --grow-interval 1 --grace 1 \
    -H node1:1,node2:1 ../rank cool >out 2>err </dev/null) &
cooling=$!
test_pids="$test_pids $cooling"
of_cool() {
    (cd cool && "$@")
}
ok "a run of two nodes" wait_for 20 of_cool runs 0 node1 node2
kill -KILL "$(pgrep -P "$cooling" | sed -n 2p)"
ok "... goes on with one when it loses the other" wait_for 20 of_cool runs 1 node1

start muster -v --name spare --spares 1 --grace 1 -H node1:1,node2:1,node3:1 ./rank spare
ok "two nodes run, one waits" wait_for 20 says 'node3: checked; it waits for a place'
ok "... they run" wait_for 20 runs 0 node1 node2
is "muster drain" "$(muster drain --within 0 spare node1 2>&1)" "1 node will leave within 0 s"
ok "a node is drained: the spare takes its place" wait_for 20 runs 1 node3 node2
ok "... one line says so" wait_for 20 says \
    'generation 1: node node1 leaves \(muster drain\); node3 takes the place of node1; 2 ranks'
touch go-spare-1
finish_run 20
is "... and the run ends well" "$rc" 0

start muster -v --name idle --spares 1 --grace 1 -H node1:1,node2:1,node3:1 ./rank idle
ok "again" wait_for 20 says 'node3: checked; it waits for a place'
ok "... all run" wait_for 20 runs 0 node1 node2
is "a spare is drained" "$(muster drain idle node3 2>&1)" "1 node will leave within 300 s"
ok "... it leaves at once" wait_for 20 says 'node3: done -> ended'
ok "... and nobody else is told" not grep -q told out
is "a host that is none" "$(muster drain idle node9 2>&1 | grep -c 'node9 is not a node of this run')" 1
touch go-idle-0
finish_run 20
is "... the run ends well" "$rc" 0

hosts node1 node2 node3
start muster -v --name shrink --nnodes 1:3 --grow-interval 1 --grace 1 --hostfile hosts ./rank shrink
ok "an elastic run of three nodes" wait_for 20 runs 0 node1 node2 node3
muster drain --within 0 shrink node2 >told 2>&1
ok "one is drained: it closes up" wait_for 20 runs 1 node1 node3
hosts node1 node3
ok "... and is taken from the list" wait_for 20 says 'hosts: node2 is gone'
hosts node1 node2 node3
ok "offered again, it is back, and the world grows" wait_for 20 runs 2 node1 node3 node2
ok "... which is said" wait_for 20 says \
    'generation 2: more nodes are available: the world grows; 3 ranks on 3 nodes'
hosts node2 node3
ok "a host is taken from the list: its node leaves" wait_for 20 runs 3 node3 node2
ok "... which is said" wait_for 20 says 'generation 3: node node1 leaves \(its host is no longer on the list\); 2 '
is "what was drained before is not told again" "$(grep -c 'an old notice' out) \
$(grep -c 'generation [123] .*told' out)" "0 0"
touch go-shrink-3
finish_run 20
is "... and the run ends well" "$rc" 0

hosts node1 node2
start muster -v --name park --env PARKED=1 --max-wait 4 --grace 1 --hostfile hosts ./rank park
ok "a run of two nodes that cannot shrink" wait_for 20 runs 0 node1 node2
muster drain --within 0 park node2 >told 2>&1
ok "... waits when one is drained" wait_for 20 says 'node2 leaves .*; waiting for a node, for 4 s'
finish_run 30
is "... not for long: 75" "$rc" 75
ok "... with the line that goes on" wait_for 20 says \
    'no node took its place within 4 s .*; PARKED=VALUE muster resume 2[^ ]*-park starts the run again'
start env PARKED=1 muster resume park
ok "muster resume: all nodes are there again" wait_for 20 runs 2 node1 node2
muster drain --within 0 park node1 >told 2>&1
ok "... drained again, it waits" wait_for 20 says 'generation 3: node node1 leaves .*; waiting'
hosts node2
ok "... its host goes" wait_for 20 says 'hosts: node1 is gone'
hosts node2 node1
ok "... and returns: so do the ranks" wait_for 20 runs 3 node1 node2
ok "... which is said" wait_for 20 says 'generation 3: its nodes are back; 2 ranks on 2 nodes'
touch go-park-3
finish_run 20
is "... and the run ends well" "$rc" 0

ok "the lost node comes back" wait_for 60 of_cool runs 2 node1 node2
touch cool/go-cool-2
wait "$cooling"
is "... and that run ends well" $? 0
# stamp TEXT: the seconds of a day at which muster has said so, last.
stamp() {
    sed -n "s/^muster: \([0-9:.]*\) .*$1.*/\1/p" cool/err | tail -n 1 |
        awk -F: '{ print $1 * 3600 + $2 * 60 + $3 }'
}
ok "... after half a minute, not before" awk -v lost="$(stamp 'node2: running -> failed')" \
    -v back="$(stamp 'node2: waiting -> connecting')" 'BEGIN {
    took = back - lost + (back < lost) * 86400
    if (took < 29.9 || took > 60) print "# after " took " s"
    exit took < 29.9 || took > 60 }'
ok "no two generations lived at once" not grep -q 'two generations' out cool/out
ok "nothing is left" no_leftovers
finish
