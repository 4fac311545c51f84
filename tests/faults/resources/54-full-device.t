#!/bin/sh
# Row 54: standard output cannot be written. The run is no success, and stderr says why.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

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
says '[0-9]+ bytes of output were lost: stdout: File too large'
limited --enable_each_rank_log "$PWD/logs" ./rank
ended 74
says '[0-9]+ bytes could not be written to the log files there: File too large' \
    '[0-9]+ bytes of output were lost: log files on node[12]: File too large'

# A file server may say so only when a file is closed.
late=$top_builddir/tests/stress/inject/late.so
[ -e "$late" ] || skip_all "late.so was not built: a sanitizer has to be the first library"
closed_late() {
    program=$1
    shift
    ran_reset
    run env LD_PRELOAD="$late" LATE_FILE="$PWD/late" INJECT_IN="$program" sh -c 'exec muster --json end.json "$@" >late-out' \
        sh --agent "$top_builddir/tests/stress/inject/muster-agent" --env FAULT=yes -H node1:1,node2:1 "$@"
    ended 74
    ok "... and every byte was written" lines late-out "$wanted"
}
rank_does <<'END'
echo "a line"
END
wanted=2
closed_late muster ./rank
says 'output may be missing: stdout: Disk quota exceeded'
ok "... and --json, too" json_says end.json 'd["output_error"] == "stdout: Disk quota exceeded"'
wanted=0
closed_late muster-agent --enable_each_rank_log "$PWD/late-logs" ./rank
says 'node1: the log files there may be incomplete: Disk quota exceeded'
finish
