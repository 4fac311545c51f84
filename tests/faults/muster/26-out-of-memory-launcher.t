#!/bin/sh
# Row 26: muster itself gets no more memory, at any moment of the run. It ends with a word, the
# nodes end what they run as when it is killed, and no core file keeps what it knew.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

[ -e "$top_builddir/tests/stress/inject/fail.so" ] ||
    skip_all "not built: a sanitizer has its own malloc"

# Enough output for most of the calls to be made while the ranks run.
rank_does <<'END'
i=0
while [ "$i" -lt "$LINES" ]; do
    echo "line $i"
    i=$((i + 1))
done
[ "$LINES" = 0 ] || sleep 0.2
END
# inject CALL LINES
inject() {
    ran_reset
    rm -f log
    run_limit=30
    run env INJECT_CALL="$1" INJECT_IN=muster INJECT_LOG="$PWD/log" \
        LD_PRELOAD="$top_builddir/tests/stress/inject/fail.so" muster --grace 0.5 --heartbeat 0.1 \
        --env FAULT=yes --env LINES="$2" -H node1:1,node2:1 ./rank
}
calls() {
    awk '$1 == "malloc" { print $2 }' log
}
control 2 --env FAULT= --env LINES=0 -H node1:1,node2:1 ./rank
inject "" 0
short=$(calls)
inject "" 2000
is "counted, not failing: 0" "$rc" 0
long=$(calls)
ok "a run that continues asks for memory" test "$long" -gt $((short + 20)) ||
    echo "# $short calls to the end of a short one, $long of a long one"

failures=0
late=0
# try N: the N-th call fails.
try() {
    inject "malloc:$1" 2000
    now=$(now_ms)
    if [ "$rc" = 0 ]; then
        # Fewer calls this time, or one that can be done without.
        ok "call $1: all is well, and all output there" test "$(grep -c line out)" = 4000
    else
        failures=$((failures + 1))
        ! all_ran 2 || late=$((late + 1))
        ok "call $1: an exit status of muster's own, and a word" \
            sh -c "case $rc in 6? | 7?) test -s err ;; *) false ;; esac"
    fi
    ok "call $1: nothing is left" clean_within 4
}
# From the first to the last of the start, then while the ranks run.
for part in 0 1 2 3 4 5 6 7; do
    try $((1 + short * part / 8))
done
for part in 0 1 2 3 4 5; do
    try $((short + (long - short) * part / 6))
done
ok "most of them were failures" test "$failures" -ge 7 || echo "# $failures of 14"
ok "... some of them while the ranks ran" test "$late" -ge 1

# A crash, where limit and kernel would let a core file be written.
script_file crash <<'END'
#!/usr/bin/env python3
import os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while not os.path.exists("began"):
    time.sleep(0.01)
os.kill(pid, signal.SIGSEGV)
print(signal.Signals(os.WTERMSIG(status := os.waitpid(pid, 0)[1])).name,
      "core" if os.WCOREDUMP(status) else "no core")
END
rm -f began
ran_reset
run ./crash muster --grace 0.5 -H node1:1,node2:1 sh -c ': >began; exec sleep 1000'
is "a crash leaves no core file" "$(cat out)" "SIGSEGV no core"
ok "... and nothing else" clean_within 5
rm -f began
run ./crash sh -c ': >began; sleep 1000'
case $(cat /proc/sys/kernel/core_pattern) in
'|'*) skip "... which would be written" "core_pattern is a pipe here" ;;
*) is "... which would be written" "$(cat out)" "SIGSEGV core" ;;
esac
rm -f core*
finish
