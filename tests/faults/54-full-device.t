#!/bin/sh
# Row 54: standard output cannot be written. The run is no success, and stderr says why.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

need_full() {
    [ -e /dev/full ] || { echo "no /dev/full here"; return 1; }
}
need full
rank_does <<'END'
echo "a line"
END
control 4 -H node1:2,node2:2 ./rank
ran_reset
began=$(now_ms)
run sh -c 'exec muster --env FAULT=yes -H node1:2,node2:2 ./rank >/dev/full'
ended 74
ok "every rank ran" all_ran 4
says 'stdout: No space left on device'
# A rank that failed is still what decides.
sed -i '$a [ "$RANK" != 1 ] || exit 3' rank
run sh -c 'exec muster --env FAULT=yes -H node1:2,node2:2 ./rank >/dev/full'
ended 3
# Neither is a limit of the size of files a death: muster's by SIGXFSZ, or an agent's.
printf '#!/bin/sh\nyes | head -n 100000\n' >rank
limited() {
    ran_reset
    run sh -c 'ulimit -f 64; exec muster "$@" >limited' sh --env FAULT=yes \
        -H node1:1,node2:1 "$@"
}
limited ./rank
ended 74
says 'stdout: File too large' '[0-9]+ bytes of output were lost'
limited --enable_each_rank_log "$PWD/logs" ./rank
ended 74
says '[0-9]+ bytes could not be written to the log files' '[0-9]+ bytes of output were lost'
finish
