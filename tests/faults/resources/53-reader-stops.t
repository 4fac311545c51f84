#!/bin/sh
# Row 53: the reader of muster's output stalls. With per-rank files the ranks do not wait,
# memory stays bounded, the files are whole, and the reader learns what it missed and where it is.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

script_file stalled <<'END'
#!/usr/bin/env python3
"""A reader that reads only once a file says so. Prints the peak memory of muster and of its
agents, in KiB, then what it has read goes to FILE."""
import os, subprocess, sys, time

def memory(pid):
    with open(f'/proc/{pid}/status') as status:
        return int(status.read().split('VmHWM:')[1].split()[0])

def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return [int(word) for word in file.read().split()]

muster = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
while not all(os.path.exists(f'finished-{rank}') for rank in range(2)):
    time.sleep(0.02)
print(max(memory(pid) for pid in [muster.pid] + children(muster.pid)), flush=True)
with open(sys.argv[1], 'wb') as file:
    file.write(muster.stdout.read())
sys.exit(muster.wait())
END
rank_does <<'END'
awk -v rank="$RANK" 'BEGIN { for (i = 0; i < 1000000; i++) printf "%d %07d %80d\n", rank, i, i }'
: >"finished-$RANK"
END
control 2 --log-dir "$PWD/logs" -H node1:1,node2:1 ./rank
rm -rf logs
ran_reset
run ./stalled shown muster --json end.json --log-dir "$PWD/logs" --label none --env FAULT=yes \
    -H node1:1,node2:1 ./rank
ok "the ranks ran to their ends without a reader" test -e finished-0 -a -e finished-1
ended 0
at_most "muster, and each agent" 65536 "$(cat out)"
for rank in 0 1; do
    RANK=$rank FAULT=yes ./rank >wanted
    ok "rank $rank: its file has every byte" cmp wanted logs/*_rank$rank.log
done
says '[0-9]+ bytes were not shown'
ok "the reader saw less than all" test "$(wc -c <shown)" -lt 182000000
is "... and whole lines only" "$(grep -Evn -e '^[01] [0-9]{7} +[0-9]+$' \
    -e 'bytes (were )?(not shown|skipped)' shown | head -n 3 | cut -c 1-300)" ""

# What is folded is kept until the end; the reader is slower than muster then, too.
script_file peak <<'END'
#!/usr/bin/env python3
"""Read all that muster says. Prints its peak memory in KiB."""
import subprocess, sys

muster = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
peak = 0
while muster.stdout.read(65536):
    with open(f'/proc/{muster.pid}/status') as status:
        peak = max([peak] + [int(line.split()[1]) for line in status if line.startswith('VmHWM:')])
print(peak)
sys.exit(muster.wait())
END
run ./peak muster exec -b -H node1:1,node2:1,node3:1,node4:1 \
    sh -c 'yes $PPID is what no other node says | head -c 5900000'
ended 0
at_most "muster, which folds 23 MB" 65536 "$(cat out)"
finish
