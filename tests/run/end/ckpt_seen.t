#!/bin/sh
# Checkpoints are seen while ranks run: muster status shows them, they are progress for
# --max-no-progress, and storage that does not answer is named.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

two="-H node1:1,node2:1"
run_limit=60
mkdir save
echo step-of-old >save/latest # a checkpoint of an earlier run
script_file rank <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || exec sleep 1003
while read -r word save_s; do
    echo "step: $word  loss:  2.5"
    sleep ${save_s:-0.3} # a save takes its time
    echo "step-of-$word" >save/new && mv save/new save/latest
done <go
END
script_file event <<'END'
#!/bin/sh
cat >>events
END
mkfifo go
exec 9<>go # what is written stays there, whoever reads when
# shellcheck disable=SC2086
start muster -v --grace 1 --heartbeat 0.2 --name ckpt-seen --ckpt-marker 'save/lat*' \
    --on-event ./event $two ./rank
shown() { # what JSON says of the only checkpoint
    muster status --json state.json ckpt-seen >state && json_says state.json "$1"
}
ok "the ranks run" wait_for 30 shown 'd["state"] == "running"'
ok "an older file is no checkpoint of this run" shown 'd["checkpoints"] == []'
echo 7 >&9
ok "status shows a checkpoint soon" wait_for 30 shown \
    '[(c["number"], c["path"], c["says"]) for c in d["checkpoints"]] == [(1, "save/latest", "step-of-7")]'
ok "... how old it is, and that it followed a step" json_says state.json \
    '0 <= d["checkpoints"][0]["age_s"] < 60 and 0.1 < d["checkpoints"][0]["save_s"] < 60'
ok "... in words" grep -Eq '^checkpoint 1, [0-9]+ s ago: save/latest \(step-of-7\); [0-9.]+ s after a step$' state
ok "... and -v" grep -Eq '^muster: [0-9:.]+ checkpoint 1: save/latest \(step-of-7\)$' err
for number in 2 3 4; do
    echo $number >&9
    ok "checkpoint $number is another one" wait_for 30 shown "d['checkpoints'][0]['number'] == $number"
done
ok "how often one is written" shown 'd["checkpoints"][0]["every_s"] > 0'
ok "none is said to be late, or slow" not grep -Eq 'no checkpoint for|was written' err
if [ "${MUSTER_TEST_WIDE:-}" = yes ]; then # seconds, and a minute, at least
    echo "5 $(stretched 20)" >&9
    ok "one that took far longer than the others is named" wait_for 60 grep -Eq \
        '^muster: [0-9:.]+ warning: checkpoint 5 was written [0-9.]+ s after a step, though a save usually takes [0-9.]+ s \(save/latest\)$' err
    ok "... and told as an event" wait_for 30 grep -q '"save_s"' events
    ok "one that is late is named" wait_for 180 grep -Eq \
        '^muster: [0-9:.]+ warning: no checkpoint for [0-9]+ s, though one is usually written every [0-9]+ s \(save/latest\)$' err
    is "... once" "$(grep -c 'no checkpoint for' err)" 1
    ok "... and told as an event" wait_for 30 grep -q '"since_s"' events
fi
run muster stop ckpt-seen
exec 9>&-
finish_run 30
ok "nothing is left" no_leftovers

# The child that looks hangs: here it is stopped.
start env MUSTER_AGENT="$top_builddir/tests/run/agent/muster-agent" MUSTER_TEST_MARKER_S=1 \
    muster --grace 1 --name ckpt-hangs --ckpt-marker save/latest -H node1:1 sleep 1003
watcher() { # the child of an agent of ours that has only its pipe
    for file in /proc/[0-9]*/fd/3; do
        child=${file#/proc/} child=${child%%/*}
        [ -e "/proc/$child/fd/4" ] || ! is_ours "$child" ||
            [ "$(cat "/proc/$child/comm" 2>/dev/null)" != muster-agent ] || return 0
    done
    return 1
}
runs() {
    muster status ckpt-hangs >state 2>/dev/null && grep -q ': running, ' state
}
ok "the ranks run" wait_for 30 runs # so the agent and its guard have more than that
ok "a child of the agent looks" wait_for 30 watcher
kill -STOP "$child"
ok "storage that does not answer is named" wait_for 30 grep -Eq \
    '^muster: warning: node1: the storage does not answer: a look at save/latest has not come back for [0-9]+ s$' err
kill -CONT "$child"
run muster stop ckpt-hangs
finish_run 30
ok "nothing is left" no_leftovers

# Each generation fails at the same step, at once after its last checkpoint.
script_file fails <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || [ $MUSTER_GENERATION = $GOOD ] || exec sleep 1003
[ "$RANK" = 0 ] || exit 0
echo "$MUSTER_GENERATION" >>lives
echo "step: 5  loss:  2.5"
sleep 0.5 # the first look is over, the next one has not come
[ $MUSTER_GENERATION -ge $UNTIL ] || { echo saved >save/new && mv save/new save/latest; }
[ $MUSTER_GENERATION -lt $GOOD ] || exit 0
exit $((10 + MUSTER_GENERATION))
END
fails() { # GOOD UNTIL
    rm -f lives
    # shellcheck disable=SC2086
    run muster --env GOOD=$1 --env UNTIL=$2 --grace 1 --restart-delay 0.2 --max-restarts 10 \
        --max-no-progress 2 --ckpt-marker save/latest $two ./fails
}
fails 5 9
is "new checkpoints are progress, though steps are not" "$rc $(wc -l <lives)" "0 6"
fails 9 2
is "without new ones the run ends: 79" "$rc $(wc -l <lives)" "79 4"
ok "... and names the last one" grep -q \
    'did not get beyond step 5 (found by: torchtitan), nor to a newer checkpoint than save/latest; find' err
ok "nothing is left" no_leftovers
finish
