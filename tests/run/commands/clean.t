#!/bin/sh
# muster clean: finds what earlier runs have left, ends it when told to, and nothing else.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# It looks at all processes of a machine: this script has one of its own.
own_namespaces
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /sys/fs/cgroup # others may leave something there

clean() {
    run muster clean -H node1:2 --grace 1 "$@"
}

# stale COMMAND...: a process as a run would leave it; it is $stale, and in a session of its own.
old=20260101-000000-abcd
stale() {
    MUSTER_RUN_ID=$old MUSTER_TEST_TAG=$tag setsid "$@" >/dev/null 2>&1 &
    stale=$!
    test_pids="$test_pids $stale"
    wait_for 5 grep -qs "$1" "/proc/$stale/cmdline"
}

alive() {
    ! is_gone "$1"
}

# row PID WORDS: the table says that of this process.
row() {
    grep -Eq "^node1 +$2 +$1 " out
}

# Those who were not ours keep theirs.
nothing_left_of() {
    for environ in $(grep -lsz "^$1=$old\$" /proc/[0-9]*/environ); do
        [ "${environ%/environ}" = "/proc/$others" ] || return 1
    done
}

all_ready() {
    lines out 2
}

clean
is "nothing is left: 0" "$rc" 0
is "... and it says so" "$(cat out err)" "node1: nothing is left"

# What is ours, and what is not
stale sleep 1001
ours=$stale
stale sh -c 'trap "" TERM; while :; do sleep 0.1; done'
deaf=$stale
sleep 1002 &
plain=$!
MUSTER_RUN_ID=$old setpriv --reuid 65534 --clear-groups sleep 1003 &
others=$!
test_pids="$test_pids $plain $others"
wait_for 5 grep -qs sleep "/proc/$others/cmdline"
echo 123456 >/dev/shm/nccl-stale
echo 1 >/dev/shm/torch_1_2
echo 1 >/dev/shm/precious
sleep 1004 9>/dev/shm/nccl-held &
test_pids="$test_pids $!"
echo 1 >/dev/shm/nccl-others
chown 65534 /dev/shm/nccl-others

clean
is "something is left: 1" "$rc" 1
ok "a process of an old run" row "$ours" "left +process"
ok "... with user, run and command" grep -Eq " root +[0-9]+ s +$old +sleep 1001" out
ok "one that is deaf" row "$deaf" "left +process"
ok "a file" grep -q 'left .*/dev/shm/nccl-stale' out
ok "not one that is open" not grep -q nccl-held out
ok "not one of another user" not grep -q nccl-others out
ok "not a process without a run" not grep -q "sleep 1002" out
ok "not one of another user's" not grep -q "sleep 1003" out
ok "looking ends nothing" alive "$ours"
ok "... and removes nothing" test -e /dev/shm/nccl-stale

for id in '' "$(printf '\377')" "$old-" '*'; do
    clean --kill --run "$id"
    is "--run of what is no run's id: 2" "$rc" 2
    ok "... and nothing is ended" alive "$ours"
done
clean --kill --run 20260101-000000-ffff
is "--run of another run: nothing" "$rc" 0
ok "... and nothing is ended" alive "$ours"

clean --kill --json clean.json
is "--kill: 0" "$rc" 0
ok "the process is gone" is_gone "$ours"
ok "the deaf one too" is_gone "$deaf"
ok "the table says so" row "$ours" "ended +process"
ok "a process without a run is there" alive "$plain"
ok "one of another user's is there" alive "$others"
ok "the files are gone" not ls /dev/shm/nccl-stale /dev/shm/torch_1_2 2>/dev/null
ok "what is open, other users' or unknown is there" \
    test -e /dev/shm/nccl-held -a -e /dev/shm/nccl-others -a -e /dev/shm/precious
ok "--json lists what was ended" json_says clean.json \
    "{p['pid'] for p in d['nodes'][0]['processes'] if p['gone']} >= {$ours, $deaf}"
ok "... what those have started meanwhile, too" nothing_left_of 'MUSTER_RUN_ID'
ok "... and what was removed" json_says clean.json \
    "sorted(f['name'] for f in d['nodes'][0]['shm'] if f['gone']) == ['nccl-stale', 'torch_1_2']"
kill "$plain" "$others"

# What it finds need not be text
id=$old
old=$(printf 'a\377\033b')
stale sh -c "$(printf 'sleep 1005; : \377\033[2J')"
old=$id
clean --kill --json clean.json
is "a process of a strange name and run: 0" "$rc" 0
ok "... it is shown, without what a terminal would act on" \
    grep -Eq "ended +process +$stale .* a\?\^\[b +sh -c sleep 1005; : \?\^\[\[2J" out
ok "... and is gone" is_gone "$stale"

# More than an answer holds, with names of which it holds fewer still
crowd() {
    MUSTER_RUN_ID=$old MUSTER_TEST_TAG=$tag python3 -c '
import os
for i in range(256):
    open("/dev/shm/nccl-%03d" % i + "\1" * 240, "w")
for _ in range(700):
    if os.fork() == 0:
        os.execv("/bin/sleep", ["\1" * 195, "1006"])'
    wait_for 20 all_sleep
}
all_sleep() {
    [ "$(pgrep -fc '^.*1006$')" = 700 ]
}
id=$old
old=$(printf '%063d' 0 | tr 0 '\001')
crowd
clean --json clean.json
is "more processes than an answer holds: 1" "$rc" 1
ok "... it is said" grep -q '^node1: and more than one answer holds' out
ok "... most are shown" test "$(grep -Ec 'left +process' out)" -gt 300
clean --kill
is "--kill says so too: 1" "$rc" 1
ok "... but has ended them all" nothing_left_of 'MUSTER_RUN_ID'
clean --kill
is "... as one sees: 0" "$rc" 0
old=$id

# A run that goes on
script_file rank <<'END'
#!/bin/sh
echo ready
while :; do sleep 0.1; done
END
start muster --grace 5 --json end.json -H node1:2 ./rank
launcher=$pid
wait_for 20 all_ready
cp out out.run
cp err err.run
run muster -H node1:1 true
is "a run beside one that goes on has nothing to say" "$rc $(cat err)" "0 "
run muster clean --kill --grace 1 -H node1:2
is "a run that goes on is not touched: 0" "$rc" 0
ok "... but shown" grep -Eq '^node1 +running +run .* [2-9][0-9]* processes' out
ok "... and goes on" alive "$launcher"
id=$(awk '$2 == "running" { print $(NF - 2) }' out)
run muster clean --kill --grace 1 -H node1:2 --run "$id"
is "--kill --run ends it: 0" "$rc" 0
ok "... the table says so" grep -Eq "ended +process .* $id " out
wait_for 20 is_gone "$launcher"
ok "... its launcher has seen it" is_gone "$launcher"
ok "nothing is left" no_leftovers

# A stopped agent without a launcher
start muster -H node1:2 ./rank
wait_for 20 all_ready
agent=$(leftovers | sed -n 's/ .*muster-agent.*//p' | sort -n | head -n 1)
kill -STOP "$agent"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
clean
is "a stopped agent and its ranks: 1" "$rc" 1
ok "... is listed" row "$agent" "left +agent"
ok "... and they are" grep -Eq "left +process .*/rank" out
clean --kill
is "--kill ends them: 0" "$rc" 0
ok "nothing is left" wait_for 5 nothing_left

# All of muster is killed where only the weakest containment is to be had
script_file daemon <<'END'
#!/bin/sh
setsid sleep 1005 &
echo ready
while :; do sleep 0.1; done
END
MUSTER_TEST_CONTAIN=none start muster -H node1:2 ./daemon
wait_for 20 all_ready
# Stopped first: a guard that outlives its agent for a moment would end them.
muster=$(leftovers | sed -n 's/ .*muster-agent.*//p')
# shellcheck disable=SC2086
kill -STOP $muster
# shellcheck disable=SC2086
kill -KILL "$pid" $muster
wait "$pid" 2>/dev/null
wait_for 5 not pgrep -f '[.]/daemon' >/dev/null
clean
is "daemons of a run that lost all of muster: 1" "$rc $(grep -c 'left .*sleep 1005' out)" "1 2"
clean --kill
is "--kill ends them: 0" "$rc" 0
ok "nothing is left" wait_for 5 nothing_left

# GPUs
mkdir dev
: >dev/nvidia0
sleep 1006 <dev/nvidia0 &
holder=$!
test_pids="$test_pids $holder"
wait_for 5 grep -qs sleep "/proc/$holder/cmdline"
MUSTER_TEST_GPU_GLOB="$PWD/dev/nvidia[0-9]*" clean --kill
is "a GPU that somebody uses is no leftover: 0" "$rc" 0
ok "... but shown" row "$holder" "in use +gpu 0"
ok "... and not ended" alive "$holder"
kill "$holder"

# What muster itself has left: files, and control groups, where they can be made
cache=$HOME/.cache/muster/$(printf '%064d' 0)
mkdir -p "$cache"
part=$cache/.$(printf '%032d' 7)
sending=$cache/.$(printf '%032d' 8)
echo x >"$part"
echo x >"$sending"
echo x >"$cache/muster-agent"
touch -d '1 hour ago' "$part" "$cache/muster-agent"
clean
is "a part of an agent: 1" "$rc $(grep -c "^node1  left  file .*$part" out)" "1 1"
clean --kill
is "--kill: 0" "$rc" 0
ok "... the part is gone" not test -e "$part"
ok "... what is being sent, or used, is not" test -e "$sending" -a -e "$cache/muster-agent"

umount /sys/fs/cgroup
groups=
for controller in unified freezer; do
    place=/sys/fs/cgroup/$controller
    [ -e "$place/cgroup.procs" ] || place=/sys/fs/cgroup
    mkdir "$place/test-$tag" 2>/dev/null && groups="$groups $place/test-$tag"
done
if [ -n "$groups" ]; then
    for group in $groups; do
        for number in 4711 4712 4713; do
            mkdir "$group/muster-$old-$number"
        done
        mkdir "$group/muster-x"
        sleep 1008 &
        member=$!
        test_pids="$test_pids $member"
        echo "$member" >"$group/muster-$old-4712/cgroup.procs"
        flock "$group/muster-$old-4713" sleep 1009 &
        test_pids="$test_pids $!"
        wait_for 5 not flock -n "$group/muster-$old-4713" true
    done
    clean --kill
    for group in $groups; do
        ok "a dead run's control group goes" \
            grep -Eq "^node1  removed  group .* $group/muster-$old-4711" out
        is "... not one that is in use" "$(ls -d "$group"/muster-* | sed 's/.*-//' | tr '\n' ' ')" \
            "4713 x "
    done
    ok "... with what is in it, which nothing else tells of" grep -Eq \
        "^node1  ended +process +$member .* $old +sleep 1008" out
    pkill -f 'sleep 1009'
    for group in $groups; do
        rmdir "$group"/muster-* "$group"
    done
else
    skip "a dead run's control group goes" "no control groups to be had"
fi
mount -t tmpfs tmpfs /sys/fs/cgroup

# In the middle of a run
run muster -H node1:1 muster clean --kill -H node1:1
is "a rank may clean, and spares its own run" "$rc" 0
script_file nested <<'END'
#!/bin/sh
if [ "$RANK" != 0 ]; then
    : >there
    while [ ! -e cleaned ]; do sleep 0.05; done
    echo still there
    exit
fi
while [ ! -e there ]; do sleep 0.05; done
muster clean --kill --grace 0.5 -H node1:1
: >cleaned
END
chmod 755 "$tmp" "$PWD"
mkdir -m 777 shared
cd shared || exit 1
run muster -H node1:2 ../nested
is "... also the other ranks of it: 0" "$rc" 0
ok "... who are still there" grep -q "node1:1: still there" out
rm -f there cleaned
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
if $nobody test -x "$top_builddir/agent/muster-agent"; then
    # shellcheck disable=SC2086
    HOME=$PWD run $nobody muster -H node1:2 ../nested
    is "... in a user namespace too" "$rc $(grep -c 'node1:1: still there' out)" "0 1"
else
    skip "... in a user namespace too" "others cannot read this build"
fi
cd ..

run muster clean -H node1:1 what
is "an argument is refused: 2" "$rc" 2
run muster --kill -H node1:1 true
is "--kill is refused elsewhere: 2" "$rc" 2
ok "... saying where it belongs" grep -q 'only of clean' err

# A node that answers with far too much, or too long
cat >fake <<'END'
#!/usr/bin/env python3
import json, os, struct, sys, time
def send(kind, body):
    body = json.dumps(body).encode()
    sys.stdout.buffer.write(struct.pack('>IBBHII', len(body), kind, 0, 0, 1, 0) + body)
    sys.stdout.buffer.flush()
print(sys.argv[2], flush=True)
send(1, {'protocol': 1, 'now_ns': time.monotonic_ns()})
while len(head := sys.stdin.buffer.read(16)) == 16:
    size, kind = struct.unpack('>IB', head[:5])
    sys.stdin.buffer.read(size)
    if kind == 20:
        send(21, {'processes': [{}] * 2000} if os.environ['FAKE'] == 'many' else
             {'processes': [{'pid': i, 'user': 'me', 'run': 'r', 'command': 'x'} for i in range(99)] +
                           [{'pid': 99, 'user': 'u' * 200000, 'command': '\033[31m' * 20000}],
              'gpu_holders': [{'pid': 100, 'gpus': list(range(50000))}]})
    if kind == 15:
        send(19, {'left': 0})
        break
END
chmod +x fake
run env FAKE=many muster clean --agent ./fake -H node1:1
is "too many items from a node: 76" "$rc" 76
ok "... is named" grep -Eq 'node1 +protocol +CLEANED frame: more than 1024' err
began=$(date +%s)
run env FAKE=long muster clean --agent ./fake -H node1:1
is "long ones: 1" "$rc" 1
ok "... are cut" test "$(wc -c <out)" -lt 30000
ok "... at once" test $(($(date +%s) - began)) -lt 10
ok "... and do not move the others away" grep -Eq '^node1 .{1,120} x$' out

# An agent that has lost muster and waits for a deaf rank; somebody else listens as if it had a
# door.
start muster --reconnect 0 --grace 60 --dead-after 2 --heartbeat 0.5 -H node1:1 \
    sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
wait_for 20 grep -q ready out
agent=$(pgrep -x muster-agent | sort -n | head -n 1)
deaf=$(pgrep -f 'echo ready' | tail -n 1)
id=$(tr '\0' '\n' <"/proc/$deaf/environ" | sed -n 's/^MUSTER_RUN_ID=//p')
python3 -c '
import os, socket, sys, time
os.setuid(65534)
door = socket.socket(socket.AF_UNIX)
door.bind("\0muster-" + sys.argv[1] + "-0-0123456789abcdef")
door.listen(64)
print("listens", flush=True)
time.sleep(1000)' "$id" >squatter &
test_pids="$test_pids $!"
wait_for 10 grep -q listens squatter
kill -KILL "$pid"
wait "$pid" 2>/dev/null
clean
ok "another user cannot vouch for an agent" row "$agent" "left +agent"
clean --kill
is "... it is ended: 0" "$rc" 0
ok "nothing is left" wait_for 5 nothing_left

# Over SSH, where one node does not answer
use_sshd 1
cat >>"$nodes_dir/ssh_config" <<END
Host nowhere
    HostName 127.0.0.1
    Port 1
END
stale sleep 1007
unset MUSTER_HOSTFILE
run muster clean --kill --grace 1 -H node1:1,nowhere:1
is "a node that does not answer: 68" "$rc" 68
ok "... and the other one is cleaned" is_gone "$stale"

# A run whose SSH session was killed, and which has its launcher back: its agent has lost its
# parent for good.
start muster --reconnect 10 -H node1:2 "$PWD/rank"
wait_for 20 all_ready
agent=$(pgrep -x muster-agent | sort -n | head -n 1)
kill -KILL "$(ps -o ppid= -p "$agent" | tr -d ' ')"
ok "a run is reconnected" wait_for 20 grep -q "node1: reconnected" err
cp out out.run
cp err err.run
ok "... and its agent an orphan" test "$(ps -o ppid= -p "$agent" | tr -d ' ')" = 1
launcher=$pid
run muster clean --kill --grace 1 -H node1:1
is "... it goes on: 0" "$rc" 0
ok "... and is shown so" grep -Eq '^node1 +running +run' out
ok "... its agent is there" alive "$agent"
kill -INT "$launcher"
wait_for 20 is_gone "$launcher"
ok "nothing is left" no_leftovers
finish
