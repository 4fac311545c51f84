#!/bin/sh
# --on-event: a program gets each thing that happens to a run, in order, with the words of muster
# status --json and of the report.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/end/on_event.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
two=node1:2,node2:2

# --- a run that ends well

begin
run muster -H $two --on-event ./keep --env SECRET=hidden sh -c 'exit 0' --token=hidden
is "a run that ends well: two events, nothing else is printed" "$rc $(cat out err) $(events names)" \
    "0  started ended"
is "each has these words" "$(events '[" ".join(one) for one in e]')" \
    "['event run_id time host script generation nodes world_size text', 'event run_id time host script \
generation nodes world_size text exit_status cause seconds']"
muster status --json=status.json "$(events 'e[0]["run_id"]')" >/dev/null
is "... with the values of muster status --json" "$(events '[one[key] == json.load(open("status.json"))[key]
    for one in e for key in ("run_id", "host", "generation", "nodes", "world_size")].count(True)')" 10
ok "... the time in UTC" sh -c "grep -qE '\"time\":\"20[0-9-]{8}T[0-9:]{8}Z\"' events"
is "... a sentence" "$(events 'e[0]["text"] == e[0]["run_id"] + " (sh): 4 ranks on 2 nodes started"')" True
is "the end has status and cause" "$(events '[of("ended")[key] for key in ("exit_status", "cause")]')" "[0, None]"
ok "no value of a variable, no argument" not grep -q hidden events
ok "... not in the directory of the run either" not grep -q hidden "$HOME/.local/state/muster/runs/"*/events.log

# --- failures

script_file fails <<'END_OF_RANK'
#!/bin/sh
# All but rank 3 are there until it has failed, and it waits for them.
[ "$RANK" = 3 ] || exec sleep 1000
until grep -q "^{\"event\":\"$([ "$MUSTER_GENERATION" = 0 ] || echo re)started\"" events; do sleep 0.02; done
printf 'oh \033[2Jno\n' >&2
exit $((3 + MUSTER_GENERATION))
END_OF_RANK
begin
run muster -H $two --name evening --on-event ./keep --max-restarts 1 --restart-delay 0 ./fails
is "a rank fails twice" "$rc $(events names)" "4 started failed restarted failed ended"
is "does another generation follow?" "$(events '[(one["generation"], one["cause"], one["goes_on"])
    for one in e if one["event"] == "failed"]')" \
    "[(0, 'rank 3 on node2: exit 3', True), (1, 'rank 3 on node2: exit 4', False)]"
is "the report is what the user reads" "$(events 'of("failed", 1)["report"] in open("err").read()')" True
is "... with the last lines of the rank, safe to print" \
    "$(events 'of("failed")["report"].count("  | oh ^[[2Jno\n")')" 1
is "the end has its cause" "$(events '[of("ended")[key] for key in ("exit_status", "cause", "generation")]')" \
    "[4, 'rank 3 on node2: exit 4', 1]"
is "each has the name" "$(events '{one["name"] for one in e}')" "{'evening'}"
is "... in its sentence" "$(events 'of("failed")["text"]')" \
    "evening (./fails): generation 0 failed: rank 3 on node2: exit 3; another one follows"
is "a later generation" "$(events '[of("restarted")[key] for key in ("generation", "text")]')" \
    "[1, 'evening (./fails): generation 1: 4 ranks on 2 nodes run again']"

begin
run muster -H $two --on-event ./keep --cwd /nothing-there true
is "nothing can start" "$(events names) $(events '[of("failed")["goes_on"], of("ended")["exit_status"]]')" \
    "failed ended [False, $rc]"

# --- hangs

begin
run muster -H node1:2 --on-event ./keep --heartbeat 0.2 --dead-after 15 --hang-timeout 1 sleep 1000
is "a hang" "$rc $(events names)" "124 started hang failed ended"
is "... with its text" "$(events 'of("hang")["text"].split(": ", 1)[1]')" \
    "no output and no CPU time from any rank for 1 s (--hang-timeout)"
is "... which is the cause" "$(events 'of("ended")["cause"]')" \
    "hang: no output and no CPU time from any rank for 1 s (--hang-timeout)"
begin
run muster -H node1:1 --on-event ./keep --heartbeat 0.2 --hang-timeout 2 \
    sh -c 'echo "iter 7: loss 2"; while :; do echo alive; sleep 0.1; done'
is "steps that come no more" "$rc $(events names)" "124 started steps_found hang failed ended"
is "... and what shows them" "$(events 'of("steps_found")["step_form"]')" nanoGPT
ok "... with the last one" sh -c "grep '^{\"event\":\"hang\"' events |
    grep -Eq 'no step from any rank for 2 s .*; last step: 7, of rank 0 [0-9]+ s ago'"

# --- what the user ends has not failed

begin
start muster -H node1:2 --on-event ./keep sleep 1000
ok "a run" wait_for 30 has_event started
kill -INT "$pid"
finish_run 30
is "an interrupted run" "$rc $(events names) $(events 'of("ended")["cause"]')" "130 started ended interrupted"

# --- roles

cat >waits <<'END_OF_RANK'
until [ -e again ]; do sleep 0.05; done
END_OF_RANK
cat >again_once <<'END_OF_RANK'
[ "$MUSTER_GENERATION" = 0 ] && until grep -q started events; do sleep 0.02; done && exit 5
: >again
END_OF_RANK
begin
run muster -H $two --on-event ./keep --restart role --max-restarts 1 --role train:2 sh waits : --role gen:2 sh again_once
is "a role starts again" "$rc $(events names)" "0 started failed restarted ended"
is "... its name and generation" "$(events '[(one.get("role"), one["generation"]) for one in e]')" \
    "[(None, 0), ('gen', 0), ('gen', 1), (None, 1)]"

# --- nodes that leave and come

script_file saves <<'END_OF_RANK'
#!/usr/bin/env python3
import os, time
print("generation", os.environ["MUSTER_GENERATION"], flush=True)
while not os.path.exists("go"):
    if os.path.exists(os.environ["MUSTER_NOTICE_FILE"]) and os.environ["RANK"] == "0":
        open("saved", "w").close()
    time.sleep(0.02)
END_OF_RANK
begin
start muster --name leaves --spot off --grace 1 --on-event ./keep --ckpt-marker 'save*' --spares 1 \
    -H node1:1,node2:1,node3:1 -v ./saves
ok "two nodes and a spare" wait_for 30 grep -q 'node3: checked; it waits for a place' err
ok "... run" wait_for 30 has_event started
muster drain leaves node2 >/dev/null
ok "a node is drained: the next generation" wait_for 60 has_event restarted
touch go
finish_run 30
is "... the notice, who has left, who has come" "$rc $(events names)" \
    "0 started notice node_left node_came restarted ended"
is "... their names" "$(events '[one["node"] for one in e if "node" in one]')" "['node2', 'node2', 'node3']"
is "... the notice says when and why" "$(events '(0 < of("notice")["left_s"] <= 300, of("notice")["reason"])')" \
    "(True, 'muster drain')"
is "... what there is then" "$(events 'of("node_came")["text"]')" \
    "leaves (./saves): node3 came; generation 1 has 2 ranks on 2 nodes"

# --- how it is given

begin
mkdir bin
cp keep bin/on-path
run env PATH="$PWD/bin:$PATH" MUSTER_ON_EVENT=on-path muster -H node1:1 true
is "a name on PATH, in the environment" "$rc $(events names)" "0 started ended"
begin
printf '[muster]\non-event = %s/keep\n' "$PWD" >muster.conf
run muster --config muster.conf -H node1:1 true
is "in muster.conf" "$rc $(events names)" "0 started ended"
begin
run muster exec --config muster.conf -H node1:1 true
is "muster exec has no events" "$rc $(cat events)" "0 "
run muster --config muster.conf -H node1:1 --dry-run true
is "--dry-run names it" "$rc $(grep -c "^events go to $PWD/keep (--on-event)\$" out) $(cat events)" "0 1 "

begin
run muster --detach -H node1:1 --name later-event --on-event ./keep sleep 1000
ok "a detached run" wait_for 30 has_event started
run muster stop later-event
is "... and its end" "$rc $(events names) $(events 'e[0]["name"]')" "0 started ended later-event"
begin
start muster resume later-event
ok "resumed, it still has the program" wait_for 30 has_event started
muster stop later-event >/dev/null
finish_run 30
is "... which gets the generation" "$(events names) $(events '[one["generation"] for one in e]')" "started ended [1, 1]"

begin
echo no >not-executable
for bad in './none:No such file or directory' 'none:No such file or directory, and no such program on PATH' \
    './not-executable:Permission denied: write chmod +x ./not-executable' '.:is not a file' \
    './keep -x:No such file or directory; it gets no arguments: put the command into a script'; do
    run muster -H node1:1 --on-event "${bad%%:*}" touch started
    ok "'${bad%%:*}': 65, and why" grep -q "^muster: error: --on-event: .*: ${bad#*:}\$" err
    is "... nothing starts" "$rc $(ls started 2>/dev/null) $(cat events)" "65  "
done
ok "nothing is left" no_leftovers
finish
