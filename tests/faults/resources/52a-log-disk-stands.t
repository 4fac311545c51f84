#!/bin/sh
# Row 52a: the disk with the per-rank files hangs, as when a file server is gone. The
# run continues, and what has room in memory reaches the files later. At its end muster waits for
# them, but not for ever, and says which of them may be short.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

can_freeze 240

# An agent hangs in the kernel.
agent_hangs() {
    grep -qs '^State:.D' $(pgrep -x muster-agent | sed 's|.*|/proc/&/task/*/status|')
}

# Of each rank the file has what came here.
files_are_whole() {
    for rank in 0 1; do
        sed -n "s/^node[12]:$rank: //p" out >wanted
        cmp wanted frozen/logs/*_rank$rank.log || return 1
    done
}

# gives_up HOST RANK: what it says of a file.
gives_up() {
    says "$1: .*/logs/.*_rank$2.log: its last bytes may be missing"
}

ranks_count
: >go
control 2 --log-dir "$PWD/frozen/logs" -H node1:1,node2:1 ./rank
rm -rf go frozen/logs
faulty_start 2 --heartbeat 0.2 --dead-after 2 --log-dir "$PWD/frozen/logs" \
    -H node1:1,node2:1 ./rank
ok "the ranks write" wait_for 10 all_count_to 2 10
fsfreeze -f frozen
time_passes 5
lines_before=$(wc -l <out)
ok "5 s with a disk that hangs: the run continues" \
    wait_for 5 sh -c "test \$(wc -l <out) -gt $((lines_before + 20))"
fsfreeze -u frozen
: >go
finish_run 20
ended 0
is "... and nobody complains" "$(cat err)" ""
ok "... and the files are whole" files_are_whole

# More than has room in memory.
rank_does <<'END'
while [ ! -e is-frozen ]; do sleep 0.2; done
yes "$(printf %99s)" | head -c 10000000
: >written
while [ ! -e go ]; do sleep 0.2; done
END
rm -rf go written frozen/logs
faulty_start 1 --heartbeat 0.2 --dead-after 2 --log-dir "$PWD/frozen/logs" \
    -H node1:1 ./rank
fsfreeze -f frozen
: >is-frozen
ok "10 MB: the rank is not held up" wait_for 20 test -e written
fsfreeze -u frozen
: >go
finish_run 20
ended 74
says 'node1: [0-9]+ bytes could not be written to the log files' '[0-9]+ bytes of output were lost'
ok "... how many" json_says end.json '5e6 < d["lost_bytes"] < 6.1e6'
is "... and the file has the others" "$(json end.json '10000000 - d["lost_bytes"]')" \
    "$(cat frozen/logs/* | wc -c)"

# It still hangs at the end.
ranks_count
rm -rf go frozen/logs
faulty_start 2 --log-dir "$PWD/frozen/logs" -H node1:1,node2:1 ./rank
ok "the ranks write" wait_for 10 all_count_to 2 10
fsfreeze -f frozen
ok "an agent hangs" wait_for 10 agent_hangs
since=$(now_ms)
kill -INT "$pid"
# 10 s for the files, and 5 for the agents, which cannot end while a thread of theirs hangs.
finish_within "Ctrl-C: muster returns" 17
is "exit status 130" "$rc" 130
gives_up node1 0
gives_up node2 1
fsfreeze -u frozen
ok "once they can, the agents end: nothing is left" clean_within 10
run muster -H node1:1 true
is "... and the next run has nothing to say" "$rc $(cat err)" "0 "

fsfreeze -f frozen
since=$(now_ms)
faulty --log-dir "$PWD/frozen/more" -H node1:1,node2:1 ./rank
within "it hangs before the start: muster returns" 24 "$since"
is "exit status 73" "$rc" 73
says 'cannot create the log file .*/more/.*: no answer for 15 s'
fsfreeze -u frozen
ok "nothing is left" clean_within 10

# Over SSH; the ranks have ended.
world_nodes 2
ranks_count
rm -rf go frozen/logs
faulty_start 4 --log-dir "$PWD/frozen/logs" ./rank
ok "the ranks write" wait_for 10 all_count_to 4 10
fsfreeze -f frozen
ok "an agent hangs" wait_for 10 agent_hangs
: >go
ok "all output comes" wait_for 10 all_counted 4
since=$(now_ms)
if [ "${MUSTER_TEST_WIDE:-}" = yes ]; then
    finish_within "the ranks have ended: muster returns" 66
    is "exit status 74" "$rc" 74
else
    time_passes 3
    ok "muster waits for the files" not is_gone "$pid"
    kill -INT "$pid"
    finish_within "... and after Ctrl-C it returns" 17
    is "exit status 130" "$rc" 130
fi
gives_up node1 0
gives_up node2 3
says '[0-9]+ bytes of output were lost'
fsfreeze -u frozen
ok "once they can, the agents end: nothing is left" clean_within 10
umount frozen
finish
