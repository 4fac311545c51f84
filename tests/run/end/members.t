#!/bin/sh
# Nodes come and go: a spare takes the place of a lost node, an elastic world closes up, and a run
# that waits for a node ends after --max-wait. No two generations live at once.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 6

# A lock on the file of its generation is held as long as a rank of it lives.
script_file rank <<'END'
#!/usr/bin/env python3
import fcntl, os, socket, time
env = os.environ
rank, now = int(env["RANK"]), int(env["MUSTER_GENERATION"])
for old in range(now if rank == 0 else 0):
    try:
        fcntl.flock(os.open(f"alive-{old}", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("two generations at once", flush=True)
lock = os.open(f"alive-{now}", os.O_RDWR | os.O_CREAT, 0o666)
fcntl.flock(lock, fcntl.LOCK_SH)
print("generation", now, "rank", rank, "of", env["WORLD_SIZE"], "on", socket.gethostname(),
      "node", env["NODE_RANK"], "master", env["MASTER_ADDR"], flush=True)
while not os.path.exists(f"go-{now}"):
    time.sleep(0.05)
END

# All its processes, and its network.
kill_node() {
    ip link set "port$1" down
    # shellcheck disable=SC2046
    kill -KILL $(ip netns pids "node$1")
}
# generation_says G: who has which rank there, "0:node1:0 1:node2:1" with node ranks.
generation_says() {
    sed -n "s/.*generation $1 rank \([0-9]*\) of [0-9]* on \(node[0-9]\) node \([0-9]\) .*/\1:\2:\3/p" \
        out | sort | tr '\n' ' '
}
runs() {
    test "$(grep -c "generation $1 " out)" = "$2"
}

spares_wait() {
    test "$(grep -c 'checked; it waits for a place' err)" = "$1"
}

lost_after=$(stretched 2)
common="--heartbeat 0.3 --dead-after $lost_after --grace 1 --connect-timeout 2 --label none"

# shellcheck disable=SC2086
{
start muster $common -v --json end.json --spares 4 \
    -H node1:1,node2:1,node6:1,node3:1,node4:1,node5:1 ./rank
ok "two nodes run, four wait" wait_for 30 runs 0 2
ok "... and are there, checked" wait_for 30 spares_wait 4
ip link set port6 down
ok "a spare that is cut off is lost" wait_for 60 grep -q 'node6: spare lost: ' err
kill_node 2
ok "a node is lost: a spare takes its place" wait_for 60 runs 1 2
is "... with its rank" "$(generation_says 1)" "0:node1:0 1:node3:1 "
ok "... one line says so" wait_for 20 grep -q \
    'generation 1: node node2 lost (silent .* s); node3 takes its place; 2 ranks on 2 nodes' err
kill_node 1
kill_node 3
ok "both nodes are lost at once, with rank 0's" wait_for 60 runs 2 2
is "... the lost spare is told of once" "$(grep -c 'node6: \(spare lost\|cannot take\)' err)" 1
ip link set port6 up
is "... two spares take their places" "$(generation_says 2)" "0:node4:0 1:node5:1 "
is "... MASTER_ADDR moves with rank 0 only" \
    "$(sed 's/.*generation \(.\) .* master \(.*\)/\1 \2/' out | sort -u | tr '\n' ' ')" \
    "0 10.99.0.2 1 10.99.0.2 2 10.99.0.5 "
touch go-2
finish_run 30
is "the run ends well" "$rc" 0
ok "no two generations lived at once" not grep -q 'two generations' out
ok "--json has how each ended" json_says end.json \
    '["lost" in (g["text"] or "") for g in d["generations"]] == [True, True, False]'

rm -f alive-* go-*
start muster $common --nnodes 1:3 -H node4:1,node5:1,node6:1 ./rank
ok "an elastic run of three nodes" wait_for 30 runs 0 3
kill_node 5
ok "... goes on with two" wait_for 60 runs 1 2
is "... in order" "$(generation_says 1)" "0:node4:0 1:node6:1 "
ok "... no two generations lived at once" not grep -q 'two generations' out
touch go-1
finish_run 30
is "... and ends well" "$rc" 0

rm -f alive-* go-*
start muster $common -v --max-wait 20 -H node4:1,node6:1 ./rank
ok "a run of two nodes" wait_for 30 runs 0 2
kill_node 6
finish_run 90
is "... waits when half of them is gone, and then ends: 75" "$rc" 75
ok "... which one line says" grep -q 'node node6 lost .*; waiting for a node, for 20 s at most' err
# stamp TEXT: when muster said so, in milliseconds of the day.
stamp() {
    sed -n "s/^muster: \([0-9:.]*\) $1\$/\1/p" err | head -n 1 |
        awk -F: '{ printf "%d", ($1 * 3600 + $2 * 60 + $3) * 1000 }'
}
took=$((($(stamp 'node4: staying -> done') - $(stamp 'running -> stopping') + 86400000) % 86400000))
took_at_most "... after --max-wait" 21 $took
ok "... not before" test $took -ge 19000
ok "... with the line that goes on" grep -q 'muster resume 2' err
}
ok "nothing is left" no_leftovers
finish
