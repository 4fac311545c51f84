#!/bin/sh
# Row 52: the disk with the per-rank files is full. The training continues, one line says so, the
# lost bytes are counted, and the run is no success. So with the disk that has the output of a
# detached run.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

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

mkdir state
mount -t tmpfs -o size=1m tmpfs state
sed -i '$d' rank
rm -f finished-*
ran_reset
XDG_STATE_HOME=$PWD/state
export XDG_STATE_HOME
run muster --detach --env FAULT=yes -H node1:1,node2:1 ./rank
id=$(cat out)
run muster attach "$id"
ok "detached: both ranks went on to their end" test -e finished-0 -a -e finished-1
is "... all that there was room for is shown" "$(stat -c %s out)" \
    "$(stat -c %s "state/muster/runs/$id/stdout")"
ok "... and there was room to say how much was lost" json_says "state/muster/runs/$id/result.json" \
    '4e6 < d["lost_bytes"] < 6.2e6'
ended 74
umount state

# status.json is behind while there is no room for it.
mount -t tmpfs -o size=1m tmpfs state
rank_does <<'END'
until [ -e speak ]; do sleep 0.2; done
echo "at last"
until [ -e go ]; do sleep 0.2; done
END
faulty_start 2 --heartbeat 0.2 -H node1:1,node2:1 ./rank
all_have_said() {
    ! grep -q '"said_ns":0}' state/muster/runs/*/status.json 2>/dev/null
}
shows_running() {
    muster status "$(ls state/muster/runs)" >status && grep -q '^1 .* running ' status
}
ok "status.json is written" wait_for 10 shows_running
head -c 2000000 /dev/zero >state/full 2>/dev/null
: >speak
wait_for 10 lines out 2
ok "muster status shows what it can" shows_running
ok "a full disk: it has not heard of the ranks' output" not all_have_said
rm state/full
ok "... until there is room again, though nothing more happens" wait_for 10 all_have_said
: >go
finish_run 20
ended 0
umount state

# A home that hangs: status.json and the log wait for it, the run does not.
truncate -s 8M disk
if command -v fsfreeze >/dev/null && mkfs.ext4 -q disk 2>/dev/null &&
    mount -o loop disk state 2>/dev/null; then
    (sleep 200; fsfreeze -u state) 2>/dev/null & # whatever happens below, it may not stay so
    test_pids="$test_pids $!"
    rank_does <<'END'
until [ -e thawed ]; do echo "$(date +%s)"; sleep 0.1; done
END
    faulty_start 2 --heartbeat 0.2 --dead-after "$(stretched 2)" -H node1:1,node2:1 ./rank
    ok "status.json is written" wait_for 10 sh -c 'test -e state/muster/runs/*/status.json'
    fsfreeze -f state
    kill -TSTP "$pid"
    ok "muster has something to say" wait_for 5 grep -q 'Ctrl-Z ignored' err
    time_passes "$(stretched 5)"
    lines_before=$(wc -l <out)
    ok "longer than a lease with a home that hangs: the ranks continue" \
        wait_for 5 sh -c "test \$(wc -l <out) -gt $lines_before"
    fsfreeze -u state
    : >thawed
    finish_run 20
    ended 0
    is "... and nobody complains" "$(grep -v 'Ctrl-Z ignored' err)" ""
    ok "... and the log has it" grep -q 'Ctrl-Z ignored' state/muster/runs/*/log
    umount state
else
    skip "5 s with a home that hangs: the ranks continue" "no loop device, fsfreeze or mkfs.ext4"
fi
finish
