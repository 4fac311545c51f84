#!/bin/sh
# --on-event: a program that hangs, prints without end, dies, leaves children or is gone changes
# neither the result of a run nor its output, and nothing is left of it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/end/on_event.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec

# The first generation fails once its start was seen, the second one ends by itself.
script_file rank <<'END_OF_RANK'
#!/bin/sh
echo "rank $RANK of $MUSTER_GENERATION"
[ "$MUSTER_GENERATION" = 1 ] && exit 0
[ "$RANK" = 1 ] && until [ -e seen ]; do sleep 0.02; done && exit 3
exec sleep 1000
END_OF_RANK

# told PROGRAM-TEXT: a run with that program; its output without the warning, sorted, is in what.
tolds=0
told() {
    rm -f seen
    tolds=$((tolds + 1))
    printf '#!/bin/sh\n: >>seen\n%s\n' "$1" >new
    chmod +x new
    mv new told
    run muster --name "told$tolds" -H node1:2,node2:1 --label rank --max-restarts 1 --restart-delay 0 --on-event ./told ./rank
    what=$rc$(cat out err | grep -v -e 'warning: --on-event' -e '^cost:' -e '^[a-zN]*[0-9]* .*\.' | sort)
}
log() {
    cat "$HOME"/.local/state/muster/runs/*-"told$tolds"/events.log
}

told 'exit 0'
good=$what
is "a program that does not read its input" "$(grep -c 'rank . of' out) $(grep -c warning err)" "6 0"

told 'exec >&- 2>&- <&-'
is "one that closes everything: the same run" "$what" "$good"
is "... without a word" "$(grep -c warning err)" 0

told 'echo no network >&2; exit 7'
is "one that fails: the same run" "$what" "$good"
is "... the first failure is told" "$(grep -o 'warning: --on-event.*exit 7 (no network)' err)" \
    "warning: --on-event ./told: event started: exit 7 (no network)"
is "... all are in events.log" "$(log | cut -d ' ' -f 2- | tr '\n' ';')" \
    "started: no network;started: exit 7;failed: no network;failed: exit 7;restarted: no network;restarted: \
exit 7;ended: no network;ended: exit 7;"
told 'kill -KILL $$'
is "one that is killed: the same run" "$what" "$good"
ok "... which is told" grep -q 'warning: --on-event ./told: event started: killed by signal 9 (Killed); ' err

told 'sleep 1000 & echo $! >child; [ -e away ] || { setsid sleep 1000 & echo $! >away; }'
is "one that leaves a child, which has its output open: the same run" "$what" "$good"
ok "... the child is gone" wait_for 20 is_gone "$(cat child)"
kill "$(cat away)" # in a session of its own: it may stay

told 'seq 300000; echo end'
is "one that prints much: the same run" "$what" "$good"
ok "... of which events.log has a part" test "$(log | wc -c)" -le 1048576
is "... and says so" "$(log | tail -n 1)" "this file is full: what comes later is not in it"

told 'rm told'
is "one that is gone: the same run" "$what" "$good"
ok "... which is told" grep -q 'warning: --on-event ./told: event failed: cannot be started: No such' err

printf 'no interpreter\n' >told
chmod +x told
: >seen
run muster -H node1:1 --on-event ./told true
is "one that cannot be executed: the same run" "$rc $(grep -c 'event started: cannot be started: Exec format' err)" "0 1"

# What it had to do is not lost on the way: the next event says how many it did not get.
script_file comes_back <<'END_OF_PROGRAM'
#!/bin/sh
cat >>events
: >seen
mv comes_back away
END_OF_PROGRAM
script_file rank_back <<'END_OF_RANK'
#!/bin/sh
[ "$MUSTER_GENERATION" = 0 ] && until [ -e away ]; do sleep 0.02; done && exit 3
until [ -e back ]; do sleep 0.02; done
END_OF_RANK
begin
start muster -H node1:1 --name back --max-restarts 1 --restart-delay 0 --on-event ./comes_back ./rank_back
ok "gone for two events" wait_for 30 sh -c 'grep -qs "restarted: cannot be started" \
    "$HOME"/.local/state/muster/runs/*-back/events.log'
mv away comes_back
: >back
finish_run 30
is "... the next one says so" "$rc $(events names) $(events 'of("ended")["dropped"]')" "0 started ended 2"

# Without a directory of the run
run env XDG_STATE_HOME=/proc/none muster -H node1:1 --on-event /bin/false true
is "no directory: the same run" "$rc $(grep -c 'event started: exit 1; later failures are not shown$' err)" "0 1"

# --- those that hang

told 'sleep 1000; echo never'
is "one that hangs: the same run" "$what" "$good"
ok "... which is told" grep -q 'warning: --on-event ./told: event started: killed, since the run has ended' err
is "... the end of the run had its turn" "$(log | grep -c 'started: killed')" 1
ok "nothing is left of it" wait_for 20 nothing_left

printf '#!/bin/sh\nexec sleep 1000\n' >told
start muster -H node1:1 --on-event ./told --json end.json true
ok "the run is over, its program is not" wait_for 30 test -s end.json
kill -INT "$pid"
ok "Ctrl-C: muster says for what it waits" wait_for 20 grep -q '^muster: waiting for ./told, ' err
kill -INT "$pid"
finish_run 30
is "... a second one does not change the result" "$rc" 0
ok "nothing is left" no_leftovers
finish
