#!/bin/sh
# Row 3: a rank is killed by SIGSEGV. The status is 139, and the report says so in words, with
# whether a core was dumped.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

four="-H node1:2,node2:2"
rank_does <<'END'
[ "$RANK" != 1 ] || { ulimit -c "$CORE"; cd "$CORES" && kill -SEGV $$; }
exec sleep 60
END
mkdir cores
core_pattern=$(cat /proc/sys/kernel/core_pattern)
# shellcheck disable=SC2086
for limit in 0 unlimited; do
    control 4 --env CORE=$limit --env CORES="$PWD/cores" $four ./rank
    faulty --env CORE=$limit --env CORES="$PWD/cores" $four ./rank
    ended 139
    says 'rank 1 on node1 failed first: killed by SIGSEGV'
    ok "the others were stopped within 1 s" json_says end.json \
        'all(r["end"] - d["results"][1]["end"] < 1 for r in d["results"])'
    if [ "$limit" = 0 ]; then
        says_not 'core dumped'
    elif [ "${core_pattern#|}" = "$core_pattern" ]; then
        says 'core dumped'
        ok "... and there it is" sh -c 'ls cores | grep -q core'
    else
        skip "core dumped" "core_pattern is a pipe here"
    fi
done
finish
