#!/bin/sh
# muster drain at the edges of a run: a deadline after the end, a run that cannot go on, and what a
# node costs that has gone.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

run_id() {
    muster status | sed -n 2p | cut -d' ' -f1
}
both_run() {
    [ -e "up-$1-0" ] && [ -e "up-$1-1" ]
}
# passed MS: since $since.
passed() {
    [ $(($(now_ms) - since)) -ge "$1" ]
}
script_file rank <<'END'
#!/bin/sh
touch "up-$MUSTER_GENERATION-$RANK"
until [ -e over ]; do sleep 0.2; done
test -z "$SAYS" || head -c 300000 /dev/zero | tr '\0' x
END

# Nobody reads what the ranks have written until the deadline has passed.
mkfifo pipe
exec 3<>pipe
MUSTER_TEST_TAG=$tag muster -H node1:1,node2:1 --env SAYS=x --max-wait 9 ./rank >pipe 2>err &
pid=$!
test_pids="$test_pids $pid"
ok "a run" wait_for 20 both_run 0
is "a node is to go in 4 s" "$(muster drain --within 4 "$(run_id)" node2 2>&1)" \
    "1 node will leave within 4 s"
since=$(now_ms)
touch over
wait_for 20 passed 5000
timeout 20 head -c 600000 <&3 >out
exec 3>&-
finish_run 20
is "the ranks had ended well before: 0" "$rc $(grep -c 'node node. leaves' err)" "0 0"
rm -f up-* over

# The script knows the nodes, but none can take a place.
script_file find <<'END'
#!/bin/sh
echo x >>asked
echo node1:1
echo node2:1
END
asked() {
    [ -e asked ] && [ "$(wc -l <asked)" -ge 3 ]
}
start muster --host-discovery-script ./find --grace 1 ./rank
ok "a run that cannot go on" wait_for 20 both_run 0
ok "... with a script" wait_for 20 asked
muster drain --within 0 "$(run_id)" node2 >drained
finish_run 20
is "... ends when a node is to go: 69" "$rc $(grep -c 'node node2 leaves' err)" "69 1"
rm -f up-*

# The state directory is slow: what changes while its file is written must come into the next one,
# which no heartbeat brings.
late=$top_builddir/tests/stress/inject/late.so
[ -e "$late" ] || late= # a sanitizer has to be the first library
start env LD_PRELOAD="$late" LATE_FILE="$HOME/.local/state/muster/runs/" LATE_MS=300 INJECT_IN=muster \
    muster -v -H node1:1,node2:1,node3:1 --spares 1 --heartbeat 100 --dead-after 300 --grace 1 \
    --json end.json ./rank
ok "a run with a spare" wait_for 20 both_run 0
id=$(run_id)
muster drain --within 0 "$id" node2 >drained
ok "... goes on without a node" wait_for 20 both_run 1
ok "... which has gone" wait_for 20 grep -q 'node2: done -> ended' err
in_status() {
    json "$HOME/.local/state/muster/runs/$id/status.json" \
        '" ".join(r["node"] for r in d["ranks"])' | grep -qx "$1"
}
ok "... and muster resume would find the other one" wait_for 5 in_status 'node1 node3'
since=$(now_ms)
wait_for 20 passed 1500
touch over
finish_run 20
is "... to its end" "$rc" 0
ok "a node that has gone costs no more" json_says end.json '(lambda s: s["node1"] - s["node2"] > 1)(
    {n["node"]: n["useful_s"] + n["lost_s"] + n["waiting_s"] + n["open_s"]
     for n in d["cost"]["nodes"]})'
rm -f up-* over

# A spare's host is taken from the list and is back on it before its agent, which is stopped, has
# left: what is there is of no use any more.
lists() {
    printf '#!/bin/sh\nprintf "%%s:1\\n" %s\n' "$*" >new
    chmod +x new
    mv new find
}
lists node1 node2 node3
start muster -v --host-discovery-script ./find --spares 1 --grace 1 ./rank
ok "a run with a spare from a script" wait_for 20 both_run 0
ok "... which waits" wait_for 20 grep -q 'node3: checked; it waits for a place' err
# shellcheck disable=SC2046
set -- $(pgrep -P "$pid" -f 'muster-agent --nonce')
kill -STOP "$3"
lists node1 node2
ok "its host is gone" wait_for 20 grep -q 'find: node3 is gone' err
lists node1 node2 node3
ok "... and there again" wait_for 20 grep -q 'find: node3 is new' err
muster drain --within 0 "$(run_id)" node2 >drained
ok "node2 is to go" wait_for 20 grep -q 'generation 1: node node2 leaves' err
kill -CONT "$3"
ok "the spare takes its place once it is connected anew" wait_for 60 both_run 1
touch over
finish_run 20
is "... at the first attempt" "$rc $(find . -name 'up-2-*' | wc -l) $(grep -c 'node3.*lost' err)" "0 0 0"
rm -f up-* over

# What is wrong with node3 only shows when it becomes the first node.
printf '%s slots=1\n' node1 node2 node3 node4 | sed '/node3/s/$/ iface=none0/' >hosts
start muster -v --hostfile hosts --spares 2 --grace 1 ./rank
ok "a run with two spares" wait_for 20 both_run 0
ok "... which wait" wait_for 20 sh -c '[ "$(grep -c "checked; it waits" err)" = 2 ]'
muster drain --within 0 "$(run_id)" node1 >drained
ok "one cannot be the first node: the other one can" wait_for 20 both_run 2
ok "... and why" wait_for 20 grep -q 'node3: lost: interface none0, given by iface=, has no address' err
touch over
finish_run 20
is "... and the run ends well" "$rc" 0
ok "nothing is left" no_leftovers
finish
