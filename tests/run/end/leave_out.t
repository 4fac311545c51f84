#!/bin/sh
# --leave-out: a node on which two generations in a row end first gives its place to a spare, and the
# next run knows of it; but not if the rank fails there, too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/end/on_event.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec MUSTER_RESTART_DELAY=0
three=node1:1,node2:1,node3:1
spare="-H $three --spares 1 --no_local_rank"

# Rank N of the node in $bad fails once all ranks are there; on others all is well.
script_file job <<'END_OF_RANK'
#!/bin/sh
: >"met.$MUSTER_GENERATION.$RANK"
for rank in 0 1; do
    until [ -e "met.$MUSTER_GENERATION.$rank" ] || [ "$WORLD_SIZE" = 1 ]; do sleep 0.02; done
done
echo "step 5"
case " $bad " in
*" $MUSTER_HOST "*) exit 3 ;;
*" rank$RANK "*)
    [ "$MUSTER_GENERATION" = 4 ] || exit 4
    until grep -q 'node2: checked; it waits for a place' err; do sleep 0.05; done
    ;;
*" generation$MUSTER_GENERATION-$MUSTER_HOST "*) exit 5 ;;
esac
[ -z "$bad" ] || [ "$MUSTER_GENERATION" = "${last:-2}" ] || exec sleep 1000
END_OF_RANK

# job BAD OPTIONS...
job() {
    bad=$1
    export bad
    shift
    rm -f met.*
    begin
    run muster "$@" --json end.json ./job
}

# worlds: the nodes of each generation after a change.
changes() {
    sed -n 's/^muster: generation [0-9]*: .*; \(node[0-9] takes .*\); 2 ranks.*/\1/p' err
}

# left_out EXPRESSION: over the list of suspects in end.json, called s.
left_out() {
    json end.json "(lambda s: $1)(d['suspects'])"
}

suspects() {
    (cd "$HOME/.local/state/muster/suspects" 2>/dev/null && echo *)
}

{
# --- generations in a row

# shellcheck disable=SC2086
job node2 $spare --max-restarts 5 --on-event ./keep
is "a node that spoils two generations gives its place to a spare" "$rc $(changes)" "0 node3 takes the place of node2"
is "... which is said" "$(grep -c '^muster: warning: node2: left out from now on: 2 generations in a row ended first there (rank 1 on node2: exit 3) (--leave-out)$' err)" 1
ok "... after two restarts" grep -q 'restarts used: 2 of 5$' err
is "... in --json" "$(left_out '[(one["node"], one["generation"], one["left_out"]) for one in s]')" "[('node2', 1, True)]"
is "... and as an event" "$(events 'of("suspect")["node"], of("suspect")["left_out"], of("suspect")["reason"] in of("suspect")["text"]')" \
    "('node2', True, True)"
is "... before the failure" "$(events names)" "started failed restarted suspect failed node_left node_came restarted ended"
is "it is a suspect" "$(suspects)" node2
ok "... of muster status" sh -c "muster status | grep -q '^suspect node2: 2 generations in a row .* s ago, run 2'"

# --- the next run

# shellcheck disable=SC2086
job '' $spare
is "the next run warns" "$rc $(grep -c '^muster: warning: suspect node2: 2 generations in a row' err)" "0 1"
ok "... and says what to do" grep -q -- '--exclude-suspects leaves them out; muster clean --suspects forgets them' err
job '' -H node1:1,node3:1
is "a run without it does not" "$rc $(cat err)" "0 "
job '' -H $three --exclude-suspects
is "--exclude-suspects: the others run" "$rc $(json end.json '[n["host"] for n in d["nodes"]]')" "0 ['node1', 'node3']"
ok "... which is said" grep -q '^muster: --exclude-suspects leaves out node2: ' err
job '' -H node2:1 --exclude-suspects
is "no host is left: 2" "$rc $(grep -c 'muster clean --suspects forgets the suspects' err)" "2 1"
job '' -H $three --exclude-suspects --include node1@node2
is "... with --include" "$rc $(json end.json '[n["host"] for n in d["nodes"]]')" "0 ['node1']"
XDG_STATE_HOME=/dev/null job '' -H $three --exclude-suspects
is "a directory that cannot be read: a warning" "$rc $(grep -c '^muster: warning: --exclude-suspects: /dev/null/muster/suspects: Not a directory' err)" "0 1"
run muster clean --suspects -H node1,node3
is "clean forgets those that are named" "$rc $(cat out) $(suspects)" "0 no suspects node2"
run muster clean --suspects --dry-run
is "clean --dry-run" "$rc $(grep -c '^would forget node2: ' out) $(suspects)" "0 1 node2"
run muster clean --suspects --kill
is "clean does one thing" "$rc" 2
run muster clean --suspects
is "clean forgets all" "$rc $(grep -c '^forgotten: node2: ' out) $(suspects)" "0 1 *"
job '' -H $three
is "... so that nothing is said any more" "$rc $(cat err)" "0 "

rm -rf "$HOME/.local/state/muster/suspects"
: >"$HOME/.local/state/muster/suspects"
# shellcheck disable=SC2086
last=1 job node2 $spare --max-restarts 5 --leave-out 1
is "where suspects cannot be kept: a warning" "$rc $(grep -c '^muster: warning: the next run will not know that node2 is a suspect: .*/muster/suspects/node2: Not a directory' err)" "0 1"
rm "$HOME/.local/state/muster/suspects"

# A resumed run looks for suspects again, and keeps to what was asked for.
last=1 job node2 -H $three --num_nodes 2 --max-restarts 1 --leave-out 1
rm -f met.*
bad=wait
start muster --name kept -H $three --exclude-suspects --max-restarts 1 --dead-after 1 --heartbeat 0.2 ./job
ok "a run that excludes them ..." wait_for 20 test -e met.0.1
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "... is killed" wait_for 30 nothing_left
rm -f met.*
bad="" run muster resume kept
muster status --json=status.json kept >/dev/null
is "... and resumed: they stay out" "$rc $(json status.json 'sorted(one["node"] for one in d["ranks"])')" \
    "0 ['node1', 'node3']"
muster clean --suspects >/dev/null

# --- not the node

# The spare of the first world fails in the same place.
# shellcheck disable=SC2086
last=4 job rank1 $spare --max-restarts 4 -v
is "a rank that fails on the other node, too: it is not the node" \
    "$rc $(grep -c 'warning: node2: a rank has failed first on the node in its place, too' err)" "0 1"
is "... which is no suspect, and none leaves any more" "$(left_out s) $(suspects) $(grep -c 'left out from now' err)" "[] * 1"
ok "... and may take a place again" grep -q 'node2: checked; it waits for a place' err
# shellcheck disable=SC2086
job 'generation0-node1 generation1-node2 generation2-node1' $spare --max-restarts 2
is "different nodes in turn: none leaves" "$rc $(left_out s)" "5 []"

# --- other numbers, other worlds

# shellcheck disable=SC2086
last=1 job node2 $spare --max-restarts 5 --leave-out 1
is "--leave-out=1: after one" "$rc $(changes) $(grep -c 'restarts used: 1 of 5' err)" "0 node3 takes the place of node2 1"
# shellcheck disable=SC2086
last=4 job node2 $spare --max-restarts 5 --leave-out 4 --progress 'step ([0-9]+)'
is "after it is gone --max-no-progress counts anew" "$rc $(left_out '[one["generation"] for one in s]')" "0 [3]"
# shellcheck disable=SC2086
job node2 $spare --max-restarts 3 --leave-out never
is "--leave-out=never" "$rc $(left_out s) $(changes)" "3 [] "
# shellcheck disable=SC2086
last=3 job node2 $spare --max-restarts 5 --leave-out 3
is "--leave-out=3: the end does not repeat it" "$rc $(left_out '[one["generation"] for one in s]') $(grep -c 'likely cause' err)" "0 [2] 0"
last=1 job node2 -H node1:1,node2:1 --recovery elastic --max-restarts 3 --leave-out 1
is "a smaller world goes on" "$rc $(json end.json 'd["world_size"]')" "0 1"
last=1 job node2 -H $three --num_nodes 2 --max-restarts 3 --leave-out 1
is "a host that is not connected yet takes the place" \
    "$rc $(grep -c 'generation 1: more nodes are available; node3 takes the place of node2' err)" "0 1"
muster clean --suspects >/dev/null
job node2 -H node1:1,node2:1 --max-restarts 3
is "without another node it stays" "$rc $(left_out s) $(suspects)" "3 [] *"
ok "... and the end says so" grep -q 'node2: 4 generations ended because of this node' err
run muster -H $three --leave-out 0 ./job
is "bad number: 2" "$rc $(grep -c "leave-out: '0' is neither evidence nor never, nor a number from 1 to 1000" err)" "2 1"
}
ok "nothing is left" no_leftovers
finish
