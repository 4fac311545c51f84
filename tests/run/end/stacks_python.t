#!/bin/sh
# Stacks of Python without py-spy: --stack-signal asks faulthandler, in the ranks that have called for
# it; no other rank gets the signal.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

! command -v py-spy >/dev/null || skip_all "py-spy is installed: it comes first"
PYTHONPATH=$top_srcdir/contrib/python
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1 # not beside the sources

# What a rank does is the word of its number.
script_file ranks.py <<'END'
import faulthandler, os, signal, sys, threading, time
import muster
def wait():
    pause = 1000 if way == "hangs" else 0.1
    while not os.path.exists('go'): time.sleep(pause)  # all of it in line 5
def spill(form):
    for number in range(30000):
        print(form % number, end='', file=sys.stderr, flush=True)
ways = sys.argv[-1].split(',')
way = ways[int(os.environ['RANK']) % len(ways)]
if way in ('registers', 'hangs', 'prints', 'blocks', 'stops'):
    faulthandler.register(signal.SIGUSR2, all_threads=True)
if way == 'elsewhere':
    faulthandler.register(signal.SIGUSR2, file=open('elsewhere', 'w'))
if way == 'muster':
    assert muster.stacks()
if way == 'blocks':
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
if way == 'floods':
    signal.signal(signal.SIGUSR2, lambda *_: spill('Thread 0x%x (most recent call first):\n'))
open('ready.' + os.environ['RANK'], 'w').close()
if way == 'stops':
    os.kill(os.getpid(), signal.SIGSTOP)
if way in ('prints', 'muster'):
    threading.Thread(target=spill, args=['line %d\n']).start()
wait()
END
# In front of the PATH of the ranks: the real one takes its time.
mkdir bin
script_file bin/gdb <<'END'
#!/bin/sh
for pid; do :; done # the last word
echo "what gdb says"
echo "of $(cat "/proc/$pid/comm")"
END
PATH=$PWD/bin:$PATH
frame="  File \"$PWD/ranks.py\", line 5 in wait"

# begin WAYS RANKS OPTION...: all ranks are ready.
begin() {
    ways=$1 ranks=$2
    shift 2
    rm -f ready.*
    detach "$@" ranks.py "$ways"
    wait_for 60 are_ready || echo "# not all ranks are ready: $(echo ready.*)"
}

are_ready() {
    [ "$(find . -name 'ready.*' | wc -l)" = "$ranks" ]
}

# shows PATTERN: a line of muster stacks is that, sooner or later.
shows() {
    run muster stacks "$id"
    grep -q "$1" out
}

# has LINE: muster stacks has printed it.
has() {
    grep -Fqx -- "$1" out
}

# part RANKS: what it has printed of them.
part() {
    awk -v head="^ranks? $1 on " '/^ranks? [0-9]/ { is_in = $0 ~ head } is_in' out
}

# ---- who has asked for it, and who has not ----
begin registers,registers,sleeps,blocks 4 --stack-signal USR2 -H node1:4
ok "ranks at the same place are shown once" wait_for 60 shows '^ranks 0-1 on node1:$'
is "... status 0" "$rc" 0
ok "... by faulthandler, it says" grep -Eqx 'faulthandler, by SIGUSR2, of pid [0-9]+:' out
is "... with the line of the script, once for both" "$(grep -cFx -- "$frame" out)" 1
is "... before gdb's stack" "$(part 0-1 | grep -Eo '^(Current thread|gdb|what gdb says)' | tr '\n' ,)" \
    "Current thread,gdb,what gdb says,"
ok "a rank that has not asked for it: what to call" has \
    '(the rank does not catch SIGUSR2: call faulthandler.register(signal.SIGUSR2))'
ok "one that blocks the signal" has '(the rank blocks SIGUSR2 in all its threads)'
is "... gdb's stack is there all the same" "$(grep -c '^what gdb says$' out)" 3
ok "no rank has died of it" status_says 'all(r["state"] == "running" for r in d["ranks"])'
run muster stacks "$id"
ok "a second time the line is there, too" has "$frame"
: >go
ok "the run ends well" wait_for 60 is_over
ok "... with status 0" status_says 'd["exit_status"] == 0'

# ---- a hang ----
rm -f go ready.*
run muster --hang-timeout 5 --grace 1 --stack-signal sigusr2 -H node1:2,node2:2 ranks.py hangs
is "a hang: 124" "$rc" 124
ok "... its report has the line" grep -Fqx -- "  | $frame" err
ok "... once for all ranks" grep -qx '  | ranks 0-3 on node\[1-2\]:' err
is "... and the user gets it from each rank, as faulthandler writes" \
    "$(grep -cE '^node[12]:[0-3]: .*line 5 in wait$' err)" 4
stacks=$(sed -n 's/^muster: all stacks are in \([^ ]*\).*/\1/p' err)
ok "stacks.txt has it, too" grep -Fqx -- "$frame" "$stacks"

# ---- no answer ----
begin elsewhere,stops 2 --grace 1 --stack-signal 12 -H node1:2
ok "a rank that has stopped" wait_for 60 shows ': T (stopped)'
is "no answer: its deadline" "$rc $(grep -cx '(no stack of faulthandler within 3 s of SIGUSR2)' out)" "0 2"
is "... and gdb's stack after it" "$(grep -c '^what gdb says$' out)" 2
ok "... the signal was sent" grep -q 'line 5 in wait' elsewhere
run muster stop "$id"

# ---- much output at the same time ----
begin floods,prints 2 --stack-signal USR2 -H node1:2
run muster stacks "$id"
is "a rank that floods its agent with such lines" "$rc $(part 0 | grep -cx '(and more)')" "0 1"
ok "... is bounded" [ "$(wc -c <out)" -lt 131072 ]
: >go
ok "its run ends" wait_for 60 is_over

# muster.stacks(): faulthandler writes to a file of muster's.
begin muster 2 --stack-signal USR2 --log-dir logs -H node1:2
# In time: one that is busy may need more than 3 s.
each_shows() {
    run muster stacks "$id"
    [ "$rc $(grep -cFx -- "$frame" out)" = "0 $(grep -cE '^ranks? [0-9]' out)" ]
}
ok "muster.stacks(): the line of each, though they print" wait_for 30 each_shows
ok "... and again" wait_for 30 each_shows
: >go
ok "... its run ends well" wait_for 60 is_over
ok "... with status 0" status_says 'd["exit_status"] == 0'
ok "... and has nothing of it in its output" not grep -rq 'most recent call' logs
is "... but all that it has printed" "$(cat logs/* | grep -cx 'line [0-9]*')" 60000

# ---- without it ----
begin sleeps 2 -H node1:2
run muster stacks "$id"
ok "without --stack-signal: what would show Python's stack" has \
    '(py-spy is not installed on this node; --stack-signal would do for Python)'
: >go
wait_for 60 is_over
rm -f go ready.*
ranks=1
detach --no_python --no_local_rank -H node1:1 sh -c 'python3 ranks.py sleeps; :'
ok "a shell that starts Python" wait_for 60 are_ready
run muster stacks "$id"
ok "... gdb looks at that Python" grep -q '^of python' out
: >go
wait_for 60 is_over
begin sleeps 1 --python "$(command -v python3)" --env PATH=/nonexistent -H node1:1
run muster stacks "$id"
ok "... nor any other program" has \
    '(neither py-spy nor gdb is installed on this node; --stack-signal would do for Python)'
: >go
wait_for 60 is_over

for value in INT 15 SEGV KILL STOP 0 65 -1 USR3 ''; do
    run muster --stack-signal "$value" -H node1:1 ranks.py sleeps
    [ "$rc" = 2 ] && grep -q '^muster: error: --stack-signal: ' err || echo "$value: $rc $(cat err)"
done >bad
is "what is no signal for that" "$(cat bad)" ""
run muster --stack-signal INT -H node1:1 ranks.py sleeps
is "... is explained" "$(cat err)" \
    "muster: error: --stack-signal: 'INT' has another meaning for Python: take USR2, for example"
run muster --stack-signal USR1 -H node1:1 ranks.py sleeps
is "the signal of a notice" "$rc $(cat err)" "2 muster: error: --stack-signal and --notice-signal are \
the same signal, SIGUSR1: take another one for the stacks (USR2), or --notice-signal=none"
run muster --dry-run --stack-signal USR1 --notice-signal none -H node1:1 ranks.py sleeps
is "... may be another one" "$rc" 0
ok "nothing is left" no_leftovers
finish
