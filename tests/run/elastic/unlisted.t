#!/bin/sh
# A host is taken from the hostfile: its ranks, and all others, are told, and may save before the
# next generation does without it. One that is back by then stays.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Told, it saves when the test says so; each notice has a number.
script_file rank <<'END'
#!/bin/sh
told() {
    notices=$((notices + 1))
    cat "$MUSTER_NOTICE_FILE" >"notice-$MUSTER_GENERATION-$RANK-$notices.new"
    mv "notice-$MUSTER_GENERATION-$RANK-$notices.new" "notice-$MUSTER_GENERATION-$RANK-$notices"
    [ "$RANK" = 0 ] || return 0
    while [ ! -e "save-$MUSTER_GENERATION-$notices" ]; do
        sleep 0.05
    done
    echo "global_step$notices" >save/new
    mv save/new save/latest
}
notices=0
trap told USR1
echo "generation $MUSTER_GENERATION rank $RANK of $WORLD_SIZE"
while [ ! -e "go-$MUSTER_GENERATION" ]; do
    sleep 0.05
done
END
hosts() {
    for host; do
        echo "$host slots=1"
    done >hosts.new
    mv hosts.new hosts
}
# runs G N: that many ranks of that generation.
runs() {
    [ "$(grep -c "generation $1 rank . of $2\$" out)" = "$2" ]
}
told() {
    for rank in 0 1 2; do
        [ -e "notice-$1-$rank-$2" ] || return 1
    done
}
says() {
    grep -Eq -e "$1" err
}

mkdir save
hosts node1 node2 node3
start muster --nnodes 1:3 --grow-interval 1 --ckpt-marker save/latest --transport exec \
    --hostfile hosts ./rank
ok "a run of three nodes" wait_for 30 runs 0 3
hosts node1 node2
ok "one is taken from the list: all ranks are told" wait_for 30 told 0 1
is "... which node, and why" "$(python3 -c 'import json, sys
notice = json.load(open("notice-0-2-1"))
print(notice["node"], notice["reason"], 280 < notice["left_s"] <= 300)')" \
    "node3 its host is no longer on the list True"
hosts node1 node2 node3
ok "it is back" wait_for 30 says 'hosts: node3 is new'
touch save-0-1
ok "... and a checkpoint is no reason to end" wait_for 30 [ -e save/latest ]
hosts node1 node2
ok "it is taken away again: all ranks are told again" wait_for 30 told 0 2
ok "... and run until they have saved" not runs 1 2
touch save-0-2
ok "the next generation does without it" wait_for 30 runs 1 2
ok "... which is said" wait_for 20 says 'generation 1: node node3 leaves \(its host is no longer on the list\); 2 '
ok "the checkpoint was seen" wait_for 20 says 'checkpoint written after [0-9.]+ s of [23][0-9]+ s: save/latest'
touch go-1
finish_run 30
is "the run ends well" "$rc" 0

# A world of two, and no host for the place: it is still free when the host is back.
rm -rf save/* save-* go-* notice-*
hosts node1 node2
start muster -v --recovery full --ckpt-marker save/latest --transport exec --hostfile hosts ./rank
ok "a run of two nodes" wait_for 30 runs 0 2
hosts node1
touch save-0-1
ok "one is taken from the list: the run waits" wait_for 30 says 'waiting for a node'
hosts node1 node2
ok "it is back: both run again" wait_for 30 runs 1 2
touch go-1
finish_run 30
is "... and end well" "$rc" 0
is "... and were not told once more that it goes" "$(grep -c 'notice: [0-9]* ranks got the signal' err)" 2
finish
