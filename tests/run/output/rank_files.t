#!/bin/sh
# A file for each rank: --enable_each_rank_log, --log-dir.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

two="-H node1:1,node2:1"
script_file numbers <<'END'
#!/bin/sh
exec awk -v rank="$RANK" 'BEGIN { for (i = 0; i < 100000; i++)
    printf "%d %07d %s\n", rank, i, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghij" }'
END

# shellcheck disable=SC2086
{
run muster $two --enable_each_rank_log logs sh -c 'echo out $RANK; echo err $RANK >&2'
is "each_rank_log: nothing on the console" "$(cat out)" ""
is "... a file a rank, called by the run" \
    "$(ls logs | sed 's/^[0-9]\{8\}-[0-9]\{6\}-[0-9a-f]\{4\}_//' | tr '\n' ' ')" "rank0.log rank1.log "
is "... with both streams" "$(sort logs/*rank1.log | tr '\n' ' ')" "err 1 out 1 "
for run in 1 2 3 4 5 6 7 8; do
    muster $two --enable_each_rank_log together true || echo "$run: $?"
done >failed 2>&1
is "runs of one second do not want the same files" "$(cat failed)" ""
run muster $two --enable_each_rank_log None sh -c 'echo x'
is "each_rank_log None is off" "$(wc -l <out)" 2
run muster $two --log-dir both sh -c 'echo out $RANK'
is "--log-dir: the console too" "$(sort out | tr '\n' ' ')" "node1:0: out 0 node2:1: out 1 "
is "... and the files" "$(cat both/*rank0.log)" "out 0"
: >plain
run muster $two --log-dir plain true
is "a log directory that is a file: 73" "$rc" 73
}
# With files the ranks do not wait for a reader that stalls.
mkfifo pipe
start sh -c 'exec 3<>pipe; exec muster -H node1:1 --log-dir files ./numbers >pipe'
ok "ranks with files do not wait for the reader" \
    wait_for 20 sh -c 'cat files/*rank0.log 2>/dev/null | wc -l | grep -qx 100000'
kill -KILL "$pid"
ok "nothing is left" wait_for 30 nothing_left
finish
