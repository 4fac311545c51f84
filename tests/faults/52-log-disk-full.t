#!/bin/sh
# Row 52: the disk with the per-rank files is full. The training goes on, one line says so, the
# lost bytes are counted, and the run is no success.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

need world
mkdir logs
mount -t tmpfs -o size=1m tmpfs logs
rank_does <<'END'
head -c 3000000 /dev/zero | tr '\0' x | fold -w 99
: >"finished-$RANK"
END
control 2 --log-dir "$PWD/logs" -H node1:1,node2:1 ./rank
rm -f logs/*
faulty --enable_each_rank_log "$PWD/logs" -H node1:1,node2:1 ./rank
ok "both ranks went on to their end" test -e finished-0 -a -e finished-1
ended 74
says '[0-9]+ bytes of output were lost'
ok "... how many" json_says end.json '4.5e6 < d["lost_bytes"] < 6.1e6'
is "... and once for each node" "$(grep -c 'could not be written to the log files' err)" 2
# The rank's own failure goes before.
sed -i '$a exit 6' rank
rm -f logs/*
faulty --enable_each_rank_log "$PWD/logs" -H node1:1,node2:1 ./rank
ended 6
umount logs
finish
