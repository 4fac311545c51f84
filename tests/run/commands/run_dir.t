#!/bin/sh
# What is kept of a run, and what is not: $XDG_STATE_HOME/muster/runs.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

runs=$HOME/.local/state/muster/runs
run muster -H node1:2,node2:2 --env TOKEN=correct-horse -- sh -c '[ $RANK != 3 ] || exit 5'
is "the run ends as it should" "$rc" 5
kept=$(ls "$runs")
is "one run is kept" "$(echo "$kept" | wc -l)" 1
is "its files are" "$(ls "$runs/$kept" | tr '\n' ' ')" "log plan.json result.json "
ok "the log has every state" sh -c "
    grep -q 'node2: preparing -> ready' '$runs/$kept/log' &&
    grep -q 'running -> stopping' '$runs/$kept/log'"
is "the result names the culprit" "$(python3 -c "
import json; r = json.load(open('$runs/$kept/result.json'))
print(r['exit_status'], r['first_failure']['rank'], r['run_id'] == '$kept')")" "5 3 True"
is "the plan has the name of a variable: for each node, and for muster resume" \
    "$(grep -c '"TOKEN"' "$runs/$kept/plan.json")" 3
ok "... and nobody its value" not grep -rq correct-horse "$runs"
is "nobody else can read it" "$(find "$runs" -perm /077 | wc -l)" 0
run muster -vv -H node1:1 --env TOKEN=correct-horse true
ok "-vv keeps no values either" not grep -rq correct-horse "$runs"

run muster exec -H node1 -- true
is "muster exec leaves none" "$(ls "$runs" | wc -l)" 2

# Run ids begin with their date, so these are older than any.
for i in $(seq 10 40); do
    mkdir "$runs/20200101-0000$i-abcd"
    touch "$runs/20200101-0000$i-abcd/log"
done
echo precious >"$runs/20200101-000010-abcd/notes"
run muster -H node1:1 true
is "the last 20 are kept, and one that holds somebody's own file" "$(ls "$runs" | wc -l)" 21
ok "... which is untouched" grep -q precious "$runs/20200101-000010-abcd/notes"

# unkept CASE WHY: the run has ended well, with one line that says what it lacks, and why.
unkept() {
    is "$1: a run anyway" "$rc $(cat out)" "0 ran"
    is "... with one line" "$(wc -l <err)" 1
    ok "... which says what it lacks, why, and what to do" grep -q "warning: muster status, attach, stop, \
drain, scale and resume will not find this run, since it has no directory: $2; XDG_STATE_HOME may name" err
}
run env XDG_STATE_HOME=/dev/null/nowhere muster -H node1:1 echo ran
unkept "a directory that cannot be made" "/dev/null/nowhere: Not a directory"
run env -u HOME muster -H node1:1 echo ran
unkept "no home" "neither HOME nor XDG_STATE_HOME is an absolute path"
run env HOME="$tmp/nowhere" muster -H node1:1 echo ran
unkept "a home that is not there" "HOME is .*/nowhere: No such file or directory"
ok "... which is not made" test ! -e "$tmp/nowhere"

run muster --name unwritten -H node1:1 sh -c "cd '$runs'/*-unwritten && mkdir result.json; echo ran"
is "a result that cannot be written: 0" "$rc $(cat out) $(wc -l <err)" "0 ran 1"
ok "... with one line that says what follows" grep -q \
    "[-]unwritten: result.json: Is a directory; muster status will say that this run has died" err
ok "... as it does" sh -c 'muster status unwritten | grep -q "^[^ ]*-unwritten: died, "'
finish
