#!/bin/sh
# muster stacks: where each rank of a run is now. The run goes on. --timeout looks there, too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

# One rank computes, the others sleep.
script_file ranks.py <<'END'
import os, time
while os.environ.get('RANK') == os.environ.get('SPINS'):
    pass
time.sleep(1000)
END
# In front of the PATH of the ranks: a py-spy that answers at once.
mkdir bin
script_file bin/py-spy <<'END'
#!/bin/sh
printf 'Process %s: python3\nThread %s (idle): \033[31m"MainThread"\n    place (train.py:45)\n' "$3" "$3"
END
PATH=$PWD/bin:$PATH

# stacks ARGUMENTS...: into out.
stacks() {
    run muster stacks "$@"
}

# at_place HEADING: the ranks are where they shall be.
at_place() {
    stacks "$id" && [ "$rc" = 0 ] && grep -qx "$1" out && grep -q ': R (running)' out
}

# shellcheck disable=SC2086
{
stacks
is "no run: usage" "$rc $(grep -c 'no active run; there are none' err)" "2 1"

export SPINS=3
detach $four ranks.py
ok "ranks at the same place are shown once, by ranges" wait_for 60 at_place 'ranks 0-2 on node\[1-2\]:'
ok "... one that computes apart" grep -qx 'rank 3 on node2:' out
is "... in the order of ranks" "$(grep -E '^ranks? [0-9]' out | head -n 1)" 'ranks 0-2 on node[1-2]:'
shown=$(sed -n 's/^pid \([0-9]*\): .*ranks.py.*/\1/p' out | head -n 1)
ok "... with the process of the first" status_says "d['ranks'][0]['pid'] == $shown"
ok "... what it waits for" grep -q '^  thread [0-9]* python[0-9.]*: S (sleeping)' out
is "... and its Python stack" "$(grep -c '^    place (train.py:45)$' out)" 2
ok "... safe to print" not grep -q "$(printf '\033')" out
ok "it is kept as it was printed" cmp out "$kept/stacks.txt"
is "nothing is said on stderr" "$(cat err)" ""
run muster stacks --json - "$id"
is "--json: the same for programs" "$rc $(json out 'd["run_id"]')" "0 $id"
ok "... each rank at its place" json_says out \
    'sorted((r["rank"], r["node"]) for s in d["stacks"] for r in s["ranks"]) == [(0, "node1"), (1, "node1"), (2, "node2"), (3, "node2")]'
ok "... with its text" json_says out 'all("place (train.py:45)" in s["text"] for s in d["stacks"]) and d["silent"] == []'
run muster stacks --json stacks.json "$id"
ok "... in a file, beside the text" grep -qx 'rank 3 on node2:' out
ok "... which has it" json_says stacks.json 'len(d["stacks"]) >= 2'
run muster stacks --json /nonexistent/x "$id"
is "... or why not" "$rc $(grep -c '^muster: error: .*/nonexistent/x' err) $(wc -l <err)" "73 1 1"
ok "the run goes on" status_says 'd["state"] == "running" and all(r["state"] == "running" for r in d["ranks"])'
stacks
is "the only run need not be named" "$rc $(grep -Ec '^ranks? [0-9]' out)" "0 2"

# Several at a time, with one answer for each.
for i in 1 2 3 4 5; do
    muster stacks >"out.$i" 2>"err.$i" &
    echo $! >"pid.$i"
done
muster drain "$id" te9 >drained 2>&1
for i in 1 2 3 4 5; do
    wait "$(cat "pid.$i")" && grep -c '^rank 3 on node2:$' "out.$i"
done >answers
is "five at a time are all answered" "$(tr '\n' ' ' <answers)" "1 1 1 1 1 "
ok "... and so is another request" grep -q 'te9 is not a node of this run' drained

first=$id
export SPINS=1
detach --name second $four --role actor:2 ranks.py : --role learner:2 ranks.py
stacks
is "two runs: name one" "$rc $(grep -c 'more than one active run, name one' err)" "2 1"
ok "by name; each role has its own numbers" wait_for 60 at_place \
    'rank 0 of actor, rank 0 of learner on node\[1-2\]:'
ok "... and its own places" grep -Eqx 'ranks? 1 of actor(, rank 1 of learner)? on node(1|\[1-2\]):' out
run muster stop second
run muster stop "$first"
stacks "$first"
is "a run that is over: usage, and why" "$rc $(cat err)" "2 muster: error: $first is not running"
stacks nothing
is "no such run" "$rc $(grep -c "no run 'nothing'" err)" "2 1"

# ---- --timeout ----
run muster --timeout 3 --grace 1 --json end.json $four sh -c 'exec sleep 1001'
is "--timeout: 124" "$rc" 124
kept=$runs/$(json end.json 'd["run_id"]')
ok "... it says where the ranks were" grep -Eq '^  \| ranks? 0.* on node' err
ok "... what they ran" grep -q '^  | pid [0-9]*: sleep 1001$' err
ok "... then where all of it is" grep -qx "muster: all stacks are in $kept/stacks.txt" err
is "... and then the report" "$(grep '^muster: ' err | sed '1d')" \
    "$(printf 'muster: time limit: --timeout 3 s has passed\nmuster: ended after that: ranks 0-3 by SIGTERM')"
ok "stacks.txt has it" grep -Eq '^ranks? 0.* on node' "$kept/stacks.txt"

# A program that looks for stacks and does not end: the ranks are stopped all the same.
script_file bin/gdb <<'END'
#!/bin/sh
exec sleep 1002
END
run muster --timeout 1 --grace 1 -H node1:1 sh -c 'exec sleep 1003'
is "a gdb that hangs does not keep the run: 124" "$rc" 124
ok "... what the kernel knows is there" grep -q '^  |   thread [0-9]* sleep: S (sleeping)' err
ok "... and why there is no more" grep -q '^  | (not finished within 10 s)' err

run muster exec --timeout 1 --grace 1 -H node1 sleep 1004
is "commands on nodes are not looked at" "$rc $(grep -c '  |' err)" "124 0"
ok "nothing is left" no_leftovers
}
finish
