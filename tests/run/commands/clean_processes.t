#!/bin/sh
# muster clean finds the processes and files of earlier runs, ends them with --kill, and nothing else.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

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
wait_for 5 grep -qsx sleep "/proc/$others/comm" # not setpriv any more
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
ok "... what those have started meanwhile, too" nothing_left_of_run
ok "... and what was removed" json_says clean.json \
    "sorted(f['name'] for f in d['nodes'][0]['shm'] if f['gone']) == ['nccl-stale', 'torch_1_2']"
kill "$plain" "$others"

# What it finds need not be text
id=$old
old=$(printf 'a\377\033b')
stale sh -c "$(printf 'sleep 1005; : \377\033[2J\033[8m')"
old=$id
clean --kill --json clean.json
is "a process of a strange name and run: 0" "$rc" 0
ok "... it is shown, without what a terminal would act on" \
    grep -Eq "ended +process +$stale .* a\?\^\[b +sh -c sleep 1005; : \?\^\[\[2J\^\[\[8m\$" out
ok "... nor is there anything else of the kind" not grep -q "$(printf '\033')" out
ok "... and is gone" is_gone "$stale"
finish
