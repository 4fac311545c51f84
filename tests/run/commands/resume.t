#!/bin/sh
# muster resume: a run whose launcher was killed is started again as its next generation, once
# nothing is left of the one before; never beside it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# A generation before the last ignores TERM and stays; each of its ranks holds a lock as long as it
# lives. Those of one generation look at the same moment, so they look with a lock that all may have.
script_file rank <<'END'
#!/usr/bin/env python3
import fcntl, glob, os, signal, sys, time
now = int(os.environ["MUSTER_GENERATION"])
for name in glob.glob("alive.*"):
    if int(name.split(".")[1]) < now:
        try:
            fcntl.flock(os.open(name, os.O_RDWR), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            print("two generations at once", flush=True)
print("generation", now, os.environ["TOKEN"], sys.argv[1:], os.getcwd().split("/")[-1], flush=True)
if now < int(os.environ["LAST"]):
    file = os.open(f"alive.{now}.{os.environ['RANK']}", os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(file, fcntl.LOCK_EX)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("stays", flush=True)
    time.sleep(1000)
END


mkdir work elsewhere
cd work || exit 1
printf 'node1 slots=2\nnode2 slots=1\n' >hosts
# They are to be there still when muster resume looks for them.
run env MUSTER_GRACE="$(stretched 2)" LAST=1 muster --detach --hostfile hosts --env TOKEN=first --env LAST --env 'LAS?' --env=-NOT \
    --reconnect 1 --log-dir logs --name resumed ../rank 'a b' --x
id=$(cat out)
stdout=$HOME/.local/state/muster/runs/$id/stdout
stay() {
    [ "$(grep -c stays "$stdout")" = 3 ]
}
ok "a detached run" wait_for 20 stay
run muster resume "$id"
is "it lives: 2" "$rc" 2
ok "... says who has it" grep -q "$id is running, launched by pid [0-9]*; muster attach" err
cd ../elsewhere || exit 1
muster status --json=state.json "$id" >/dev/null
launcher=$(json state.json "d['pid']")
kill -KILL "$launcher"
wait_for 10 is_gone "$launcher"
run muster resume resumed
is "without the values that are not kept: 2" "$rc" 2
is "... which it names, and what to type" "$(cat err)" "muster: error: $id: muster has not recorded the \
values of --env, and this environment lacks TOKEN LAST; type: TOKEN=VALUE LAST=VALUE muster resume $id"
ok "muster status has the same line" sh -c \
    "muster status resumed | grep -q '^to start it again: TOKEN=VALUE LAST=VALUE muster resume $id\$'"
export LAST=1
run muster status --json state.json resumed
is "... without those that are set here" "$(json state.json 'd["resume"]')" \
    "TOKEN=VALUE muster resume $id"
line=$(sed -n 's/^to start it again: //p' out)
run sh -c "$(echo "$line" | sed 's/TOKEN=VALUE/TOKEN=second/')"
is "that line works, from another directory" "$rc $(cat out)" "0 $id"
unset LAST
ok "... it says what it waits for" grep -q "still there (.*: pid [0-9]*); waiting until" err
ok "... and what follows" grep -q "restarting $id: generation 1" err
run muster attach "$id"
is "it ends well" "$rc" 0
is "... each generation once, with its words, in its directory" "$(grep generation out |
    sed 's/^[^ ]* //' | sort | uniq -c | tr -s ' ' | tr '\n' ';')" \
    " 3 generation 0 first ['a b', '--x'] work; 3 generation 1 second ['a b', '--x'] work;"
is "... a log for each rank and generation" \
    "$(ls ../work/logs | wc -l) $(ls ../work/logs | grep -c -e '-1_rank')" "6 3"
run muster status --json state.json "$id"
ok "muster status knows" json_says state.json "d['state'] == 'ended 0' and d['generation'] == 1"
run muster status --cost --json state.json "$id"
ok "... and what both generations cost, of which the first is lost" json_says state.json \
    "d['cost']['lost_hours'] > 0 and d['cost']['useful_hours'] > 0"
ok "... for people, too" grep -q '^cost: [0-9.]* node hours: .* % useful, .* % lost' out
run muster status --cost
is "the cost of no run: 2" "$rc" 2
ok "no value is on disk" not grep -rqE 'TOKEN=|TOKEN": "' "$HOME/.local/state/muster"
ok "what has ended well has no line for that" sh -c \
    "! muster status resumed | grep -q 'to start it again'"
run muster resume "$id"
is "it has ended: 2" "$rc" 2
ok "... with 0" grep -q 'has ended with exit status 0: there is nothing to resume' err
run muster resume
is "no run named: 2" "$rc" 2
ok "nothing is left" no_leftovers
cd ..

# An agent that is stopped ends nothing: its ranks are in the way. Those that look for them are
# given up as late as the run's own.
start env LAST=9 TOKEN=x muster -H node1:1,node2:1 --env LAST --env TOKEN --grace 0.2 \
    --reconnect 0.2 --heartbeat 0.1 --dead-after "$(stretched 2)" --max-restarts 2 ./rank
ok "another run" wait_for 20 lines out 4
id=$(muster status | sed -n 2p | cut -d' ' -f1)
agent=$(pgrep -P "$pid" | head -n 1)
guard=$(pgrep -P "$agent" | head -n 1)
kill -STOP "$agent" "$guard"
kill -KILL "$pid"
wait_for 10 is_gone "$pid"
run env TOKEN=x LAST=1 muster resume "$id"
is "a node still has something: 75" "$rc" 75
ok "... which is named" grep -q "^muster: error: node[12]: [0-9]* of its processes .* after [0-9]* s; \
to kill them: muster clean --kill --run $id -H node[12]" err
for one in a b; do
    env MUSTER_TEST_TAG="$tag" TOKEN=x LAST=1 muster resume "$id" >"out-$one" 2>"err-$one" &
    eval "pid_$one=$!"
    test_pids="$test_pids $!"
done
both_wait() {
    grep -q 'waiting until' err-a && grep -q 'waiting until' err-b
}
ok "two at once wait for it" wait_for 20 both_wait
kill -CONT "$agent" "$guard"
rc_a=0 rc_b=0
wait "$pid_a" || rc_a=$?
wait "$pid_b" || rc_b=$?
is "... one goes on, and the other does not" "$(printf '%s\n' "$rc_a" "$rc_b" | sort -n | tr '\n' ' ')" \
    "0 73 "
ok "... and says why" grep -qE \
    'error: muster resume: .*: another muster (is running|has already resumed) it' err-a err-b
is "... each rank once" "$(cat out-a out-b | grep -c 'generation 1 x')" 2
ok "... nothing of both at once" not grep -q 'two generations' out-a out-b

# A time limit is one of the run that goes on, too.
start env LAST=9 TOKEN=x muster -H node1:1,node2:1 --env LAST --env TOKEN --grace 0.2 \
    --reconnect 0.2 --heartbeat 0.1 --dead-after 1 --timeout 3 ./rank
ok "a run with --timeout" wait_for 20 lines out 4
id=$(muster status | sed -n 2p | cut -d' ' -f1)
kill -KILL "$pid"
wait_for 10 is_gone "$pid"
run env LAST=9 TOKEN=x muster resume "$id"
is "... has it when it is started again: 124" "$rc" 124
ok "nothing is left" no_leftovers
finish
