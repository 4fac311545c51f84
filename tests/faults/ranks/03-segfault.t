#!/bin/sh
# Row 3: a rank is killed by SIGSEGV. The status is 139, and the report says so in words, with
# whether a core was dumped.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

four="-H node1:2,node2:2"
rank_does <<'END'
[ "$RANK" != 1 ] || { ulimit -c "$CORE"; cd "$CORES" && kill -SEGV $$; }
exec sleep 1000
END
mkdir cores
# dumps_core LIMIT: whether this machine keeps a core of any process with that limit. A program
# behind a pipe in core_pattern gets it whatever the limit is.
dumps_core() {
    (ulimit -c "$1" && cd cores && python3 -c '
import os, signal
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
os._exit(not os.WCOREDUMP(os.waitpid(child, 0)[1]))')
}
core_pattern=$(cat /proc/sys/kernel/core_pattern)
# shellcheck disable=SC2086
for limit in 0 unlimited; do
    control 4 --env CORE=$limit --env CORES="$PWD/cores" $four ./rank
    faulty --env CORE=$limit --env CORES="$PWD/cores" $four ./rank
    ended 139
    says 'rank 1 on node1 failed first: killed by SIGSEGV'
    timed "the others were stopped within 1 s" json_says end.json \
        'all(r["end"] - d["results"][1]["end"] < slow for r in d["results"])'
    if [ "$limit" != 0 ] && [ "${core_pattern#|}" = "$core_pattern" ]; then
        says 'core dumped'
        ok "... and there it is" sh -c 'ls cores | grep -q core'
    elif dumps_core "$limit"; then
        says 'core dumped'
    else
        says_not 'core dumped'
    fi
done
finish
