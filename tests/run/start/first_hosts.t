#!/bin/sh
# A run that may have nodes come and go waits for its first hosts: until the script or the hostfile
# names enough of them, or --max-wait is over.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# discovered COMMANDS: from now on the script executes these.
discovered() {
    printf '#!/bin/sh\ndate +%%s%%3N >>%s/asked\n%s\n' "$PWD" "$1" >new
    chmod +x new
    mv new find
}

# asked_again: three more times; what it said first was judged by then.
asked_again() {
    : >asked
    ok "... the script is asked again and again" wait_for 20 sh -c '[ "$(wc -l <asked)" -ge 3 ]'
}

# asked_early: sooner than muster asks by itself, a second after the last answer? The script's stamps
# are in ms.
asked_early() {
    awk 'NR > 1 && $1 - last < 900 { early = 1 } { last = $1 } END { exit !early }' asked
}

hup_asks_early() {
    kill -HUP "$pid"
    asked_early
}

# waits OPTIONS...: a run of ranks that tell how many they are.
waits() {
    start muster --host-discovery-script ./find --label none "$@" sh -c 'echo "$WORLD_SIZE ranks"'
    ok "$what: muster waits" wait_for 20 grep -q \
        'waiting for hosts, at most [0-9]* s (--max-wait)$' err
}

# begins RANKS
begins() {
    finish_run 30
    is "... and the run begins" "$rc $(sort -u out)" "0 $1 ranks"
}

what="too few hosts"
discovered 'echo node1:1'
waits --nnodes 2:3
asked_again
is "... which is told once" "$(grep -c 'waiting for' err)" 1
discovered 'echo node1:1; echo node2:1'
begins 2

what="too few slots"
discovered 'echo node1:1; echo node2:1'
waits --min-np 4
discovered 'echo node1:1; echo node2:3'
begins 4

what="spares are missing"
discovered 'echo node1:1'
waits --spares 1
discovered 'echo node1:1; echo node2:1'
begins 1

what="the script fails"
discovered 'echo no cloud today >&2; exit 3'
waits --nnodes 1:2
asked_again
is "... its error is told once" "$(grep -c 'no cloud today' err)" 1
ok "... as it is" grep -q 'warning: ./find: exit 3 (no cloud today); muster waits for another answer$' err
discovered 'echo node1:1'
begins 1

what="Ctrl-C"
discovered 'echo node1:1'
waits --spares 2
kill -INT "$pid"
finish_run 20
is "... ends it" "$rc" 130
ok "... with what was missing" grep -q \
    'error: --spares 2: there is only 1 in the list of hosts; interrupted$' err
waits --spares 2
kill -TERM "$pid"
finish_run 20
is "... so does TERM" "$rc" 143

# A session of its own has no terminal, so HUP is for us to read the hosts.
rm asked
discovered 'until [ -e go ]; do sleep 0.1; done; echo node1:1'
start setsid muster --host-discovery-script ./find --label none --nnodes 2:3 \
    sh -c 'echo "$WORLD_SIZE ranks"'
ok "a script that takes its time" wait_for 20 [ -e asked ]
kill -HUP "$pid"
touch go
ok "HUP does not end muster before it waits" wait_for 20 grep -q 'waiting for hosts' err
asked_again
ok "... each second" not asked_early
ok "... and at once after HUP" wait_for 20 hup_asks_early
discovered 'echo node1:1; echo node2:1'
begins 2

discovered 'echo node1:1'
run muster --host-discovery-script ./find --spares 2 --max-wait 1 true
is "--max-wait is over: 75" "$rc" 75
ok "... with what was missing" grep -q \
    'error: --spares 2: there is only 1 in the list of hosts; waited for 1 s (--max-wait)$' err
run muster --host-discovery-script ./find --spares 2 --max-wait 0 true
is "--max-wait=0 does not wait: 2" "$rc" 2

what="hosts without slots"
discovered 'echo node1'
waits --nnodes 2:3
asked_again
is "... are asked for their GPUs once" "$(grep -c 'using the GPUs found as slots: node1 ' err)" 1
discovered 'echo node1; echo node2:1'
finish_run 30
is "... and the run begins" "$rc" 0
is "... and again when the list has changed" \
    "$(grep -c 'using the GPUs found as slots: node1 ' err)" 2

what="a hostfile"
echo 'node1 slots=1' >hosts
start muster --hostfile hosts --nnodes 2:2 --recovery elastic --label none \
    sh -c 'echo "$WORLD_SIZE ranks"'
ok "$what: muster waits" wait_for 20 grep -q 'waiting for hosts' err
printf 'node1 slots=1\nnode2 slots=1\n' >new
mv new hosts
begins 2

echo 'node1 slots=1' >hosts
run muster --hostfile hosts --nnodes 2:3 --dry-run true
is "--dry-run does not wait: 2" "$rc" 2
run muster -H node1 --nnodes 2:3 true
is "nor does -H, which does not change: 2" "$rc" 2
run muster --host-discovery-script ./none --nnodes 2:3 true
is "nor does a script that is not there: 65" "$rc" 65
run muster --host-discovery-script ./find --nnodes 2:3 --include node1 --exclude node2 true
is "nor do filters that exclude each other: 2" "$rc" 2
run muster --host-discovery-script ./find --nnodes 2:3 ./no-such-program
ok "nor does a program that is not there" grep -q 'no-such-program' err
is "... which is not run" "$rc $(grep -c waiting err)" "127 0"
ok "nothing is left" no_leftovers
finish
