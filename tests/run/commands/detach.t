#!/bin/sh
# --detach: the run goes on without its terminal; muster status, attach and stop find it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

runs=$HOME/.local/state/muster/runs
MUSTER_HEARTBEAT=0.2
export MUSTER_HEARTBEAT
four="-H node1:2,node2:2"

# Rank 0 writes all the time, until it is let go; then 3 MB, and the end.
script_file rank <<'END'
#!/bin/sh
echo "begun $RANK"
echo "begun $RANK" >&2
until [ -e go ]; do
    [ "$RANK" != 0 ] || echo more
    sleep 0.05
done
seq 1000000 1400000
exit ${CODE:-0}
END

# detach ARGUMENTS...: the run is $id, its directory $kept.
detach() {
    rm -f go
    run muster --detach "$@"
    id=$(cat out)
    kept=$runs/$id
}

# status_says EXPRESSION: over what muster status --json says of the run.
status_says() {
    muster status --json state.json "$id" >state && json_says state.json "$1"
}

is_over() {
    status_says 'd["state"].startswith("ended")'
}

launcher() {
    json state.json 'd["pid"]'
}

# Whoever else runs tests here has runs that end badly.
complaints() {
    grep -v 'of earlier runs are still there' err
}

# The second in which that run was named is over.
is_later_than() {
    [ "$(date +%Y%m%d-%H%M%S)" != "${1%-*}" ]
}

numbers_of() {
    sed -n "s/^node[12]:$1: \(1[0-9]*\)\$/\1/p" out | cksum
}

# shellcheck disable=SC2086
{
# ---- nothing is there ----
run muster status
is "without a run: 0, and a line about it" "$rc $(cat out)" "0 no run is kept in $runs"
run muster status --json -
is "... none in JSON" "$(json out d)" "{'runs': []}"
run muster attach
is "attach: where it has looked" "$rc $(cat err)" \
    "2 muster: error: no run goes on that was started with --detach; none is kept in $runs"
run muster status nothing
ok "... also for a name" grep -q "no run 'nothing' is kept in $runs;" err

# ---- it goes on ----
detach $four ./rank
is "the foreground ends with 0 once all ranks run" "$rc" 0
is "... its output is the id of the run" "$(ls "$runs")" "$id"
ok "... and says what that is good for" \
    grep -q "^muster: $id goes on: muster status, attach or stop $id\$" err
is "... and nothing else of its own" \
    "$(complaints | grep -Ev '^node[12]:[0-3]: (begun [0-3]|more)$|goes on')" ""
ok "its launcher lives" status_says 'd["pid"] > 0'
pid=$(launcher)
is "... in a session of its own" "$(ps -o sid= -p "$pid" | tr -d ' ')" "$pid"
if ls "/proc/$pid/fd" >/dev/null 2>&1; then
    is "... reading nothing" "$(readlink "/proc/$pid/fd/0")" /dev/null
    is "... writing into files" "$(readlink "/proc/$pid/fd/1") $(readlink "/proc/$pid/fd/2")" \
        "$kept/stdout $kept/stderr"
else
    skip "... reading nothing" "needs root: who leaves no core file shows it to nobody else"
    skip "... writing into files" "needs root"
fi
is "nobody else can read them" "$(find "$runs" -perm /077 | wc -l)" 0
kill -HUP "$pid"
ok "its state is running" wait_for 10 status_says 'd["state"] == "running"'
ok "status has every rank" status_says \
    '[(r["rank"], r["node"]) for r in d["ranks"]] == [(i, "node%d" % (i // 2 + 1)) for i in range(4)]'
ok "... by a pid that is alive" kill -0 "$(json state.json 'd["ranks"][3]["pid"]')"
ok "... with the seconds since its last byte" wait_for 20 status_says \
    'all(r["silent_s"] for r in d["ranks"]) and d["ranks"][0]["silent_s"] < 1 < min(r["silent_s"]
    for r in d["ranks"][1:])'
ok "... also for people" grep -Eq '^3 +node2 +[0-9]+ +running +[0-9]+ s$' state
ok "without a run it lists all" sh -c "muster status | grep -q '^$id  .* running  *2 *4 *./rank'"
ok "a part of its name will do" sh -c "muster status ${id##*-} | grep -q '^$id: running'"

# ---- attach ----
start muster attach
ok "attach shows it from the beginning" wait_for 10 grep -q 'begun 3' out
ok "... on both streams" wait_for 10 grep -q 'begun 3' err
kill -INT "$pid"
finish_run 10
is "Ctrl-C ends attach with 130" "$rc" 130
ok "... and says that the run goes on" grep -q "^muster: $id goes on" err
ok "... which it does" status_says 'd["state"] == "running"'

# One reader stands still from before the output comes until the run is over.
: >still.out
muster attach "$id" >>still.out 2>>still.err &
still=$!
test_pids="$test_pids $still"
ok "one attach stands still" wait_for 10 grep -q 'begun 3' still.out
kill -STOP "$still"
start muster attach "$id"
: >go
ok "the run does not wait for it" wait_for 60 is_over
finish_run 30
is "the other one ends with the status of the run" "$rc" 0
ok "... and has every byte" cmp -s out "$kept/stdout"
is "... of every rank" "$(for i in 0 1 2 3; do numbers_of $i; done | sort -u)" \
    "$(seq 1000000 1400000 | cksum)"
kill -CONT "$still"
ok "the one that stood still gets the rest" wait_for 30 is_gone "$still"
ok "... to the last byte" cmp -s still.out "$kept/stdout"
is "a run that is over leaves these" "$(ls "$kept" | tr '\n' ' ')" \
    "log plan.json result.json stderr stdout "
ok "nothing is left" no_leftovers
run muster attach "$id"
is "a run that is over can be seen again" "$rc $(cksum <out)" "0 $(cksum <"$kept/stdout")"
detach $four --env CODE=5 ./rank
: >go
run muster attach "$id"
is "attach ends as the run did" "$rc" 5
ok "... with its report" grep -q 'failed first: exit 5' err

if need_pty >/dev/null; then
    detach -H node1:1 printf 'a\033[2Jb\033[31mred\033[0m\n'
    ok "it is over" wait_for 10 is_over
    script -qec "muster attach $id" typescript </dev/null >/dev/null 2>&1
    ok "a terminal gets no escapes but colours" grep -qF "a^[[2Jb$(printf '\033')[31mred" typescript
    ok "the file has them" grep -qF "$(printf 'a\033[2Jb')" "$kept/stdout"
else
    skip "a terminal gets no escapes but colours" "script(1) is missing (Debian: bsdutils)"
fi

# Files whose lines are known, some of them longer than what is read at once.
detach -q -H node1:1 true
ok "it is over" wait_for 10 is_over
line=$(printf '%070000d' 0)
printf '%s\n' one "$line" three "$line" five >"$kept/stdout"
printf 'err1\nerr2' >"$kept/stderr"
tail_is() {
    run muster attach --tail "$1" "$id"
    is "--tail $1" "$rc $(cksum <out) $(cat err)" "0 $(tail -n "$1" "$kept/stdout" | cksum) $2"
}
tail_is 0 ""
tail_is 1 err2
tail_is 2 "$(cat "$kept/stderr")"
tail_is 3 "$(cat "$kept/stderr")"
tail_is 4 "$(cat "$kept/stderr")"
tail_is 9 "$(cat "$kept/stderr")"
detach -H node1:1 sh -c 'seq 10; until [ -e go ]; do sleep 0.05; done; echo end'
start muster attach --tail 2 "$id"
ok "--tail of a run that goes on: what is there" wait_for 10 grep -q 10 out
: >go
finish_run 10
is "... and what comes" "$(tr '\n' ' ' <out)" "9 10 end "
detach -q -H node1:1 true
is "-q: the id alone" "$rc $(cat err)" "0 "
ok "... which attach knows" muster attach "$id"

# ---- stop ----
detach $four sleep 1001
first=$id
if need_root >/dev/null && unshare --pid --fork true 2>/dev/null; then
    run unshare --pid --fork muster stop
    is "from another PID namespace it cannot be stopped: 70" "$rc" 70
    ok "... but seen" status_says 'd["exit_status"] is None'
else
    skip "from another PID namespace it cannot be stopped: 70" "needs root and PID namespaces"
fi
detach $four sleep 1001
run muster stop
is "stop asks which of two: 2" "$rc" 2
ok "... and shows them" grep -q "^$first  .* sleep 1001" err
ok "... and stops none" status_says 'd["exit_status"] is None'
run muster stop "$first"
is "stop with a name: 0" "$rc" 0
run muster stop
is "stop of the only one: 0" "$rc" 0
ok "both ended by SIGTERM" status_says 'd["exit_status"] == 143'
ok "nothing is left" no_leftovers
run muster stop "$id"
is "a run that is over stays so: 0" "$rc" 0
run muster attach
is "nothing to attach to: 2" "$rc" 2
ok "... and what there is" grep -q "^$id  .* ended 143" err
detach --grace 60 -H node1:1 sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
ok "the rank is deaf" wait_for 10 grep -q deaf "$kept/stdout"
start muster stop
ok "stop waits for the grace" wait_for 10 grep -q Terminated "$kept/stderr"
MUSTER_TEST_TAG=$tag muster stop >stop2
finish_run 20
is "a second one kills" "$rc $(cat out)" "0 $id is over"
start muster $four sleep 1002
ok "a run in the foreground" wait_for 10 sh -c 'muster status | grep -Eq "running .* sleep 1002"'
MUSTER_TEST_TAG=$tag muster stop >stop2
finish_run 20
is "... is stopped as well" "$rc" 143

# ---- muster itself dies ----
detach -q $four sleep 1003
ok "its ranks are known" wait_for 10 status_says 'len(d["ranks"]) == 4'
kill -KILL "$(launcher)"
ok "its lock tells that it is dead" wait_for 5 status_says 'd["state"] == "died"'
ok "no rank is said to be silent" status_says 'all(r["silent_s"] is None for r in d["ranks"])'
run muster attach "$id"
is "attach: 69" "$rc" 69
ok "... and why" grep -q "$id: muster itself died" err
run muster stop "$id"
is "stop: nothing to do" "$rc" 0
ok "its ranks end" wait_for 20 nothing_left

# ---- a start that fails is as always ----
printf '#!/no/such/interpreter\n' | script_file broken
for arguments in "--cwd=/no/such/directory sleep 1" "./broken" "--agent /no/such/agent sleep 1"; do
    run muster -H node1:1 $arguments
    wanted=$rc
    complaints | sort >wanted
    run muster --detach -H node1:1 $arguments
    is "$arguments: exit status" "$rc" "$wanted"
    is "... the same errors" "$(complaints | sort)" "$(cat wanted)"
    is "... and no success" "$(grep -c 'goes on' err)" 0
done
script_file slow <<'END'
: >preparing
sleep 1004
END
start muster --detach -H node1:1 --grace 1 --venv_script "$PWD/slow" sleep 1
ok "while it is being prepared" wait_for 10 test -e preparing
kill -INT "$pid"
finish_run 20
is "Ctrl-C stops the start: 130" "$rc" 130
ok "nothing is left" no_leftovers
run muster exec --detach -H node1 true
is "muster exec cannot be detached: 2" "$rc" 2
XDG_STATE_HOME=/dev/null/nowhere
export XDG_STATE_HOME
run muster --detach -H node1:1 true
is "without a directory: 73" "$rc" 73
ok "... and why" grep -q 'needs a place for the output: /dev/null/nowhere' err
unset XDG_STATE_HOME

# ---- what is kept ----
other=$runs/20200101-000000-abcd
mkdir "$other"
cp "$kept/log" "$other"
sed 's/"host": *"'"$(uname -n)"'"/"host": "elsewhere"/' "$kept/plan.json" >"$other/plan.json"
run muster status
ok "another machine's run is shown as such" grep -q '^20200101-000000-abcd .* on elsewhere ' out
run muster attach 20200101
is "... cannot be attached to here: 2" "$rc" 2
run muster stop 20200101
is "... nor be stopped: 2" "$rc" 2
detach -H node1:1 ./rank
wait_for 5 is_later_than "$id" # ids of the same second are in no order
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
    muster -H node1:1 true
done
is "more than 20 are kept, if the oldest goes on" "$(ls "$runs" | wc -l)" 22
ok "... it is there" test -e "$kept/log"
ok "... and alive" status_says 'd["state"] == "running"'
: >go
run muster attach "$id"
is "... to its end" "$rc $(tail -n 1 out)" "0 1400000"
ok "another machine's run is left alone" test -e "$other/log"
}
finish
