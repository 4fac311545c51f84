#!/bin/sh
# muster clean --kill-gpu never ends a process of a run that is running, nor who has called it; what
# it may not end, or may not see, it says.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"
. "$here/commands/clean_gpu.sh"

me=$(id -un)
nobody=$(id -un 65534)

# A rank, and two processes below it: without the environment of the run, and a daemon
script_file rank <<'EOS'
#!/bin/sh
exec 9<dev/nvidia0
env -i sleep 1001 &
setsid sleep 1002 &
echo ready
while :; do sleep 0.1 9<&-; done
EOS
start muster --grace 5 -H node1:2 --name busy ./rank
launcher=$pid
wait_for 20 all_ready
below_run() {
    [ "$(pgrep -fx 'sleep 100[12]' | wc -l)" = "$1" ]
}
wait_for 20 below_run 4
rank=$(pgrep -f '^/bin/sh [.]/rank$' | head -n 1)
cleared=$(pgrep -fx 'sleep 1001' | head -n 1)
cp out out.run
holds sleep 1003
clean --kill
ok "what is not of the run is left alone: --kill says so" grep -q ": processes of $me with a GPU" out
kill "$holder"
wait_for 10 is_gone "$holder"
clean --kill
is "it says nothing of what is of the run" "$rc $(grep -c 'left alone' out)" "0 0"
holds sleep 1003
clean --kill-gpu mine
is "--kill-gpu mine beside a run: 0" "$rc" 0
ok "... ends what is not of it" is_gone "$holder"
ok "... and not its processes" below_run 4
ok "... nor the run" alive "$rank"
id=$(sed -n 's/^node1: run \(.*\) is running and has a GPU open: left alone$/\1/p' out)
ok "... which it names" test -n "$id"
is "... with what stops it" "$(grep -A 1 "^node1: run $id" out | tail -n 1)" "  to stop it: muster stop $id"
clean --kill --kill-gpu mine
is "with --kill too: 0" "$rc" 0
ok "... the run continues" below_run 4
for one in "$rank" "$cleared"; do
    clean --kill-gpu "$one"
    is "the PID of one: 1" "$rc" 1
    ok "... it continues" alive "$one"
    ok "... it is shown with its run" grep -Eq "^node1 +(running|left) .* $id " out
    ok "... and how to stop that" grep -qx "  to stop it: muster stop $id" out
done
suggested_stop=$(sed -n 's/^  to stop it: //p' out)
run sh -c "$suggested_stop"
is "that command stops it: 0" "$rc" 0
wait_for 20 is_gone "$launcher"
ok "... it is over" below_run 0

# A run of another user
if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$test_agent"; then
    mkdir -m 777 shared
    cd shared || exit 1
    ln -s ../dev ../rank .
    start setpriv --reuid 65534 --regid 65534 --clear-groups \
        env HOME="$PWD" XDG_RUNTIME_DIR= muster --grace 5 -H node1:1 ./rank
    launcher=$pid
    wait_for 20 grep -q ready out
    wait_for 20 below_run 2
    cd ..
    of_user 65534 sleep 1004
    clean --kill-gpu "$nobody"
    is "beside a run of that user: 0" "$rc" 0
    ok "... what is not of it has ended" is_gone "$holder"
    ok "... its processes have not" below_run 2
    ok "... it is named" grep -Eq "^node1: run [0-9]{8}-[0-9]{6}-[0-9a-f]{4} is running" out
    kill "$launcher"
    wait_for 20 is_gone "$launcher"
else
    for _ in 1 2 3 4; do skip "a run of another user" "others cannot read this build"; done
fi

# Who calls it, by a program that has a GPU itself, and in the middle of a run
script_file calls <<'EOS'
#!/bin/sh
exec 9<dev/nvidia0
: >begun
muster clean --kill-gpu mine --grace 1 -H node1:1 >out.calls 2>&1
echo $? >called
EOS
holds ./calls
ok "who calls it continues" wait_for 20 test -s called
is "... it gets 0" "$(cat called)" 0
ok "... and is named" \
    grep -q "^node1: pid $holder of $me (/bin/sh ./calls): it has called this muster clean$" out.calls
rm called
run muster --grace 5 -H node1:1 ./calls
is "a rank that calls it, too" "$rc $(cat called)" "0 0"
ok "... hears of its run" grep -q "^node1: run .* is running and has a GPU open: left alone" out.calls

# What is not permitted. Root without CAP_KILL sees who has a GPU, and may not end it.
of_user 65534 sleep 1005
run setpriv --bounding-set -kill muster clean -H node1:2 --grace 1 --kill-gpu "$nobody"
is "what it may not end: 1" "$rc" 1
ok "... is left" row "$holder" "left +gpu 0"
ok "... it says why" grep -qx "node1: pid $holder of $nobody (sleep 1005): Operation not permitted" out
ok "... and does not suggest to be root" not grep -q "as root" out
ok "... it is there" alive "$holder"
clean --kill-gpu "$holder"
is "with that right: 0" "$rc" 0
ok "... it is gone" is_gone "$holder"

# Root by sudo: mine is who has called sudo.
of_user 65534 sleep 1007
others=$holder
holds sleep 1008
SUDO_UID=65534 clean --kill-gpu mine
is "as root by sudo: 0" "$rc" 0
ok "... ends the caller's" is_gone "$others"
ok "... and not root's" alive "$holder"
SUDO_UID=65534 clean --kill
ok "... which are called root's" grep -qx "  to end them: muster clean --kill-gpu root -H=node1:2" out
kill "$holder"
wait_for 10 is_gone "$holder"

if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$test_agent"; then
    holds sleep 1006
    for whose in "$holder" "$me"; do
        HOME=$PWD/shared run setpriv --reuid 65534 --regid 65534 --clear-groups muster clean -H node1:2 \
            --grace 1 --kill-gpu "$whose"
        is "what only root sees: 1" "$rc" 1
        ok "... it says so" grep -Eq "^node1: (pid $holder of $me|[0-9]+ process(es)? of $me, such as pid [0-9]+).*: Operation not permitted: only root" out
        ok "... and what does" grep -qx "  as root: muster clean --kill-gpu $whose --sudo -H=node1:2" out
        ok "... it is there" alive "$holder"
        ok "... and does not call that nothing" not grep -q "nothing is left" out
    done
    HOME=$PWD/shared run setpriv --reuid 65534 --regid 65534 --clear-groups muster clean -H node1:2 \
        --grace 1 --kill-gpu mine
    is "of another user's it knows nothing" "$(tail -n 1 out)" "node1: no process of yours has a GPU open"
    ok "... which is there" alive "$holder"
    kill "$holder"
else
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do skip "what only root sees" "others cannot read this build"; done
fi
ok "nothing is left" wait_for 10 nothing_left
finish
