#!/bin/sh
# --name: what a run is called, and that there is no second one of that name on a node.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

script_file rank <<'END'
#!/bin/sh
echo "$MUSTER_RUN_ID" >>begun
until [ -e go ]; do sleep 0.2; done
END

two="-H node1:1,node2:1"
run muster --detach --name llama-7b.x $two ./rank
is "a run with a name" "$rc" 0
id=$(head -n 1 begun)
ok "... which ends its id" test "${id#*-*-*-}" = llama-7b.x

rm begun
# Knocks that nobody answers must not wear it out, whoever they are from.
cat >knock.py <<'END'
import os, re, signal, socket
signal.alarm(60)
if os.getuid() == 0:
    os.setuid(65534)
plates = re.findall('@(muster-name-.*-llama-7b.x-.*)', open('/proc/net/unix').read())
callers = [(socket.socket(socket.AF_UNIX), plate) for plate in plates for _ in range(40)]
for caller, plate in callers:
    caller.connect('\0' + plate)
for caller, plate in callers:
    assert caller.recv(1) == b'', 'it speaks'
END
ok "whoever connects to its socket is turned away" python3 knock.py
run muster --name llama-7b.x -H node2:1,node3:1 ./rank
is "a second one of that name: 73" "$rc" 73
ok "... says which one there is" grep -Eq "prepare +a run with the same name is running there: $id, launched by pid [0-9]+ of $(uname -n), 20" err
ok "... and starts nothing" not test -e begun

is "... in the same words for every node" "$(grep -c 'same name' err)" 1

run muster --name llama-7b $two true
is "another name" "$rc" 0
run muster $two true
is "none" "$rc" 0

run muster status llama-7b.x
ok "muster status knows it" grep -q "^$id: running" out
run muster stop llama-7b.x
is "muster stop" "$rc" 0
touch go
run muster --name llama-7b.x $two ./rank
is "then the name is free" "$rc" 0
run muster status llama-7b.x
is "of two that have ended neither is meant: 2" "$rc" 2
rm go
run muster --detach --name llama-7b.x2 $two ./rank
run muster stop llama-7b.x
is "... nor one whose name only begins so" "$rc" 2
run muster stop llama-7b.x2
is "... which is stopped by its own" "$rc" 0
run muster --detach --name llama-7b.x $two sh -c 'rm -f go; exec ./rank'
run muster stop llama-7b.x
is "... but of three the one that is running" "$rc" 0

# The next generation gets another plan.
: >begun
script_file again <<'END'
#!/bin/sh
[ "$MUSTER_GENERATION" = 1 ] || exit 1
exec ./rank
END
run muster --detach --name again --max-restarts 2 --restart-delay 0 $two ./again
ok "a run that has started again" wait_for 20 lines begun 2
run muster --name again $two true
ok "... still says who launched it" grep -Eq "prepare +a run with the same name is running there: [^ ]*, launched by pid [0-9]+ of $(uname -n), 20" err
run muster stop again

# Two at once: each sees the other, or one does
rm -f go begun
muster --name twin $two ./rank 2>err.1 &
one=$!
muster --name twin $two ./rank 2>err.2 &
other=$!
either_is_refused() {
    grep -q 'same name' err.1 err.2
}
ok "two that begin at once: at least one is refused" wait_for 20 either_is_refused
touch go
wait "$one" && one=0 || one=$?
wait "$other" && other=0 || other=$?
ok "... and that is all that happens" expr "$one $other" : '\(0 73\|73 0\|73 73\)$'
ok "... never do both run" test "$(sort -u begun 2>/dev/null | wc -l)" -le 1


# --replace: the launcher ends what its machine has launched; what another one has launched is ended
# by its agents. With its own history a launcher is as one of another machine.
# began ID: that run, and it has written so.
began() {
    grep -qx "$1" begun
}
rm -f go begun
run muster --detach --name llama $two sh -c 'trap "echo term >>ended; exit 0" TERM; echo "$MUSTER_RUN_ID" >>begun; while :; do sleep 0.2; done'
first=$(cat out)
run muster --detach --replace --name llama $two ./rank
second=$(cat out)
is "--replace starts" "$rc" 0
ok "... and says what it ends" grep -q "stopping $first, launched by pid [0-9]" err
is "... with TERM" "$(sort -u ended)" term
run muster status "$first"
ok "... as muster stop does" grep -q "^$first: ended 143" out
export XDG_STATE_HOME="$tmp/other"
rm -f begun
ok "the second one runs" test "$second" != "$first"
run muster --detach --replace --name llama -H node2:1,node3:1 sh -c 'touch third; exec ./rank'
is "from another machine: 0" "$rc" 0
third=$(cat out)
unset XDG_STATE_HOME
ended_with_143() {
    run muster status "$second"
    grep -q "^$second: ended 143" out
}
ok "... the agents have ended the second one" wait_for 20 ended_with_143
run muster attach "$second"
ok "... which says why" grep -q "$third replaces this run (--replace)" err

# Two at once
start muster --replace --name llama $two ./rank
one=$pid
muster --replace --name llama $two ./rank 2>err.2 &
other=$!
touch go
wait "$one" && one=0 || one=$?
wait "$other" && other=0 || other=$?
ok "of two that replace each other one is left" expr "$one $other" : '\(0 143\|143 0\|0 0\)$'
run muster --replace $two true
is "--replace without --name: usage" "$rc" 2

for name in '' -x _x .x 'a b' a/b "$(printf 'a\303\251')" abcdefghijklmnopqrstuvwxyz12345; do
    run muster --name "$name" $two true
    is "'$name' is no name: 2" "$rc" 2
done

# Anybody can listen on such a socket.
if [ "$(id -u)" = 0 ]; then
    cat >squatter.py <<'END'
import os, socket, sys
os.setuid(65534)
plate = socket.socket(socket.AF_UNIX)
plate.bind('\0muster-name-20260101-000000-abcd-llama-4711')
plate.listen(0)
print('listens', flush=True)
sys.stdin.read()
END
    mkfifo end
    python3 squatter.py <end >squatter &
    exec 9>end
    wait_for 10 grep -q listens squatter
    run muster --name llama $two ./rank
    is "another user's run is none of ours" "$rc" 0
    exec 9>&-
else
    skip "another user's run is none of ours" "needs root"
fi
ok "nothing is left" nothing_left
finish
