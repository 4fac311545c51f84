#!/bin/sh
# Row 56: fewer file descriptors than 32 nodes need. The soft limit is raised; a hard one is found
# before anything starts, with the number that it takes.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

hosts='node[01-32]:1'
rank_does <<'END'
echo "rank $RANK"
END
control 32 -H "$hosts" ./rank
ran_reset
run sh -c "ulimit -Sn 24; exec muster -H '$hosts' --env FAULT=yes ./rank"
is "a soft limit of 24 is raised" "$rc $(sort -u out | wc -l)" "0 32"
ran_reset
began=$(now_ms)
run sh -c "ulimit -n 24; exec muster -H '$hosts' --env FAULT=yes ./rank"
now_ms >ended_ms
within "a hard one: muster returns" 0.5 "$began"
ended 73
says '32 nodes need [0-9]+ file descriptors.*limit is 24.*ulimit'
ok "no rank was started" all_ran 0
# The number it names is enough.
enough=$(sed -n 's/.*need \([0-9]*\) file.*/\1/p' err)
run sh -c "ulimit -n $enough; exec muster -H '$hosts' --env FAULT=yes ./rank"
is "with as many as it says" "$rc $(sort -u out | wc -l)" "0 32"
finish
