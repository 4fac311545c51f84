#!/bin/sh
# muster clean --kill leaves who holds a GPU alone, and says so; --kill-gpu ends it: the user's own,
# those of a user, or one PID, and nothing else.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"
. "$here/commands/clean_gpu.sh"

me=$(id -un)
sleep 1001 &
plain=$!
test_pids="$test_pids $plain"

holds sleep 1002
clean
is "who holds a GPU is shown: 0" "$rc" 0
ok "... as in use" row "$holder" "in use +gpu 0"
ok "... and no more" lines out 2
clean --kill
is "--kill leaves it: 0" "$rc" 0
ok "... alive" alive "$holder"
ok "... still in use" row "$holder" "in use +gpu 0"
ok "... and says so" \
    grep -qx "node1: processes of $me with a GPU open are not of a run of muster: left alone" out
ok "... with the command" grep -qx "  to end them: muster clean --kill-gpu mine -H=node1:2" out
suggested
is "that command ends it: 0" "$rc" 0
ok "... it is gone" is_gone "$holder"
ok "... the table says so" row "$holder" "ended +gpu 0"
ok "... nothing is said to be left alone" not grep -q "left alone" out
clean --kill
is "then nothing is left" "$rc $(cat out)" "0 node1: nothing is left"

# The same hosts, however they were chosen
printf 'node1 slots=1\nnode2 slots=1\nnode3 slots=1\n' >"my hosts"
holds sleep 1003
run muster clean --kill --hostfile "my hosts" --exclude node2 --grace 1
ok "hosts with the same to say are one line" grep -q "^node\[1,3\]: processes of $me with" out
ok "the command has them" \
    grep -qx "  to end them: muster clean --kill-gpu mine '--hostfile=my hosts' --exclude=node2" out
suggested
is "... and ends what is there: 0" "$rc" 0
ok "... it is gone" is_gone "$holder"

# TERM, and KILL after the grace
holds sh -c 'trap "echo saved >saved; exit" TERM; : >begun; while :; do sleep 0.1 </dev/null; done'
polite=$holder
holds sh -c 'trap "" TERM; : >begun; while :; do sleep 0.1 </dev/null; done'
deaf=$holder
holds sh -c 'trap "exec </dev/null" TERM; : >begun; while :; do sleep 0.1 </dev/null; done'
frees=$holder
holds sh -c 'trap "echo saved >saved.2; exit" TERM; : >begun; while :; do sleep 0.1 </dev/null; done'
stopped=$holder
kill -STOP "$stopped"
stale sleep 1004 9<dev/nvidia1
of_user 65534 sleep 1005
others=$holder
clean --kill-gpu mine --json clean.json
is "--kill-gpu mine: 0" "$rc" 0
ok "what handles TERM ends with it" test -e saved
ok "... and has ended" row "$polite" "ended +gpu 0"
ok "what is stopped, too" test -e saved.2
ok "... it has ended" row "$stopped" "ended +gpu 0"
ok "what ignores TERM is killed" is_gone "$deaf"
ok "... the table says so" row "$deaf" "ended +gpu 0"
ok "what closes the GPU continues" alive "$frees"
ok "... the table says so" row "$frees" "freed +gpu 0"
ok "... and a line below it" \
    grep -q "^node1: pid $frees of $me (sh -c .*: it has closed the GPU, and continues$" out
ok "what an earlier run has left on a GPU ends, too" row "$stale" "ended +gpu 1"
ok "another user's is there" alive "$others"
ok "... in use" row "$others" "in use +gpu 0"
ok "what holds no GPU is there" alive "$plain"
# And maybe a child of theirs, which holds the GPU until it has executed sleep.
gone="{p['pid'] for p in d['nodes'][0]['gpu_holders'] if p.get('gone')}"
ok "--json has those" json_says clean.json "$gone >= {$polite, $deaf, $stopped, $stale}"
ok "... and none that is left" json_says clean.json "not $gone & {$frees, $others, $plain}"
ok "... and that one" json_says clean.json \
    "[p['pid'] for p in d['nodes'][0]['gpu_holders'] if p.get('free')] == [$frees]"
kill -KILL "$frees"
wait_for 10 is_gone "$frees"
clean --kill-gpu mine
is "no process of mine: 0" "$rc $(tail -n 1 out)" "0 node1: no process of yours has a GPU open"

# Before it ends it starts another one.
holds sh -c 'exec 3<&0; trap "sleep 1006 & exit" TERM; : >begun
    while :; do sleep 0.1 3<&- </dev/null; done'
clean --kill-gpu mine
is "what is started in between: 0" "$rc" 0
ok "... ends, too" not pgrep -fx 'sleep 1006'
is "... in a row of its own" "$(grep -c 'ended *gpu 0 .* sleep 1006$' out)" 1

# --kill beside it ends orphans as ever, each once
stale sh -c 'trap "echo told >>told" TERM; : >told; while :; do sleep 0.1 9<&-; done' 9<dev/nvidia0
wait_for 10 test -e told
clean --kill --kill-gpu mine
is "with --kill: 0" "$rc" 0
ok "... the orphan has ended" row "$stale" "ended +process"
is "... in one row" "$(grep -c "ended .* $stale " out)" 1
ok "... it had one TERM" lines told 1

# A user
ok "the other user's is still there" alive "$others"
holds sleep 1008
mine=$holder
clean --kill-gpu "$(id -un 65534)"
is "--kill-gpu USER: 0" "$rc" 0
ok "... ends those" is_gone "$others"
ok "... and no others" alive "$mine"
clean --kill-gpu "$(id -un 65534)"
is "if there are none: 0" "$rc" 0
ok "... it says so" grep -qx "node1: no process of $(id -un 65534) has a GPU open" out
clean --kill-gpu no-such-user
is "a user that the node does not know: 1" "$rc" 1
ok "... it says so" grep -qx "node1: /etc/passwd has no user no-such-user" out
of_user 54321 sleep 1009
nameless=$holder
clean --kill
ok "a user without a name" \
    grep -qx "  to end them: muster clean --kill-gpu 'uid 54321' -H=node1:2" out
clean --kill-gpu 'uid 54321'
is "... has a number: 0" "$rc" 0
ok "... which is enough" is_gone "$nameless"

# A PID
clean --kill-gpu "$plain"
is "a PID without a GPU: 1" "$rc" 1
ok "... it says so" grep -qx "node1: pid $plain of $me (sleep 1001) has no GPU open" out
ok "... and is not touched" alive "$plain"
of_user 65534 sleep 1010
clean --kill-gpu "$nameless"
is "a PID that is not there: 1" "$rc" 1
ok "... it says so" grep -qx "node1: there is no process $nameless" out
run muster clean --kill-gpu "$holder" -H node1:1,node2:1
is "a PID, and two hosts: 2" "$rc" 2
ok "... it says why" grep -q "a PID is of one host, and these are 2: choose it with --include" err
ok "... nothing is ended" alive "$holder"
run muster clean --kill-gpu "$holder" -H node1:1,node2:1 --include node2 --grace 1
is "with --include: 0" "$rc" 0
ok "... it is gone" is_gone "$holder"
ok "what was not asked for is there" alive "$mine"
clean --kill-gpu mine
is "the rest: 0" "$rc" 0

run muster clean --kill-gpu '' -H node1:1
is "an empty value: 2" "$rc" 2
ok "... it says why" grep -q "neither mine, nor the name of a user, nor a PID" err
run muster clean --kill-gpu mine --run "$old" -H node1:1
is "with --run: 2" "$rc" 2
ok "what holds no GPU has never been touched" alive "$plain"
kill "$plain"
wait "$plain" 2>/dev/null
ok "nothing is left" no_leftovers
finish
