#!/bin/sh
# NCCL's counts of collectives: muster gives each run an address for NCCL's RAS, asks there, and names
# the ranks that wait for each other. NCCL is played by ras_server.py.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

run_limit=30
four="-H node1:2,node2:2"
mkdir bin # in front of the PATH of muster, and so of the ranks: the real ones take their time
PATH=$PWD/bin:$PATH
script_file bin/gdb <<'END'
#!/bin/sh
echo "#0 where gdb says"
END
rank=$top_srcdir/tests/run/end/ras_server.py
# shellcheck disable=SC2086
{
ask() {
    run muster --heartbeat 0.2 --dead-after 60 --grace 1 --hang-timeout 2 "$@"
}
# One rank of 16 skips a collective; all print heartbeats.
script_file event <<'END2'
#!/bin/sh
cat >>events
END2
ask --on-event ./event -H node1:8,node2:8 "$rank" json skip
is "one of 16 ranks skips a collective: 124" "$rc" 124
ok "... which is why" grep -q '^muster: hang: no further collective in NCCL from any rank for 2 s (--hang-timeout)$' err
late='NCCL: communicator 0x1c2b \(16 ranks\): rank 3 on node1 \(pid 7003, GPU 3\) launched 119 AllReduce, the other 15 120; the same for [0-9]+ s'
ok "... which rank, which collective, and how many" grep -Eq "^muster: $late\$" err
ok "... and where the ranks are" grep -Eq '^  \| ranks? [0-9,-]+ on node' err
ok "all of it is kept" sh -c "cat $HOME/.local/state/muster/runs/*/stacks.txt >stacks; grep -Eq '^$late\$' stacks"
ok "... and told to --on-event" grep -q 'hang.*rank 3 on node1 .* launched 119 AllReduce' events
ok "nothing is left" no_leftovers

ask -H node1:8,node2:8 "$rank" text skip
ok "the same by NCCL's text" grep -Eq "^muster: $late\$" err
ask $four "$rank" text224 skip
ok "... of 2.24, which does not name the collective" grep -Eq \
    '^muster: NCCL: .*: rank 3 on node2 \(pid 7003, GPU 1\) launched 119 collectives, the other 3 120;' err

# Two communicators wait for each other.
ask $four "$rank" json deadlock
is "a deadlock between two communicators: 124" "$rc" 124
ok "... the first is named" grep -Eq '^muster: NCCL: communicator 0xa1 \(2 ranks\): rank 1 on node1 \(pid 7001, GPU 1\) launched 7 AllGather, rank 0 on node1 \(pid 7000, GPU 0\) 8;' err
ok "... and the second" grep -Eq '^muster: NCCL: communicator 0xb2 \(2 ranks\): rank 0 on node1 \(pid 7000, GPU 0\) launched 5 AllReduce, rank 1 on node1 \(pid 7001, GPU 1\) 6;' err
is "... nothing else is" "$(grep -c '^muster: NCCL' err)" 2
ask $four "$rank" text deadlock
ok "the same by text: its first" grep -Eq '0xa1 \(2 ranks\): its rank 1 \(pid 7001, GPU 1 at 10.0.0.1\) launched 7 AllGather' err
ok "... and its second" grep -Eq '0xb2 \(2 ranks\): its rank 1 \(pid 7000, GPU 0 at 10.0.0.1\) launched 5 AllReduce' err

ask -H node1:4,node2:2 --role train:4 "$rank" json skip : --role gen:2 "$rank" json equal
ok "in roles: each is asked, and the rank is one of its own" grep -Eq \
    '^muster: NCCL: communicator 0x1c2b \(4 ranks\): rank 3 of train on node1' err
is "... of the other one there is nothing to say" "$(grep -c '^muster: NCCL' err)" 1

# Slow, and with 10 MB after it: it is an answer all the same.
for way in slow huge; do
    ask $four "$rank" json skip $way
    ok "$way: the rank is named" grep -q '^muster: NCCL: .*rank 3 on node2' err
done

# --timeout: what NCCL said last.
begin() {
    start muster -vv --heartbeat 0.2 --dead-after 60 --grace 1 --name ras "$@"
}
looks() { # that many answers have come since the start
    [ "$(grep -c -- '-> COLLECTIVES' err)" -ge "$1" ]
}
end() {
    muster stop ras >stop.log 2>&1
    finish_run 30
}
waits() { # what muster status says
    muster status --json state.json ras >state 2>/dev/null && json_says state.json "$1"
}
begin --hang-timeout 28 --timeout 29 $four "$rank" json skip
ok "status: who waits for whom" wait_for 29 waits \
    '[s["ops"][0]["late"]["named"][0]["rank"] for s in d["collectives"][0]["stuck"]] == [3]'
ok "... in words" grep -Eq '^NCCL: communicator 0x1c2b \(4 ranks\): rank 3 on node2 .*; the same for [0-9]+ s$' state
finish_run 60
ok "--timeout: who waited for whom" grep -Eq '^muster: NCCL: .*rank 3 on node2 .* launched 119 AllReduce' err
ok "... it was no hang" not grep -q '^muster: hang' err

# Counts that differ and move, and counts that are equal, are no hang.
for scene in moving equal; do
    begin --hang-timeout 2 $four "$rank" json $scene
    ok "$scene: NCCL is asked again and again" wait_for 30 looks 8
    ok "... and there is no hang" not grep -q 'no further collective' err
    end
    ok "... nor a word of it" not grep -q ' NCCL: ' err
done
begin --hang-timeout 4 $four "$rank" json missing
ok "a rank that does not answer the others is named" wait_for 60 waits \
    'd["waits"][0].startswith("NCCL: communicator 0x1c2b (4 ranks): rank 2 on node2 ")'
ok "... as such" grep -q 'did not answer the other ranks; the same for' state
end
ok "... it is no hang alone" not grep -q 'no further collective' err

# What is no answer: a reason, once; the run goes on.
reason() {
    grep -Eq "NCCL's RAS does not say how many collectives the ranks have launched: $1\$" err
}
while read -r form way why; do
    begin --hang-timeout 2 $four "$rank" "$form" skip "$way" </dev/null
    ok "$form $way: the reason" wait_for 60 reason "$why"
    ok "... the run goes on" wait_for 30 looks 3
    end
    is "... muster says it once" "$(grep -Ec "RAS does not say.*: $why\$" err)" 1
    ok "... and no rank is named" not grep -q ' NCCL: ' err
done <<END2
json cut its answer is not JSON: .*
text cut its answer is cut short
json garbage it does not speak NCCL's RAS protocol
json endless its answer is longer than 16 MiB
json absent Connection refused
END2
begin --hang-timeout 28 $four "$rank" json skip late
ok "nothing listens yet: the reason" wait_for 60 reason 'Connection refused'
: >listen
ok "... then something that is not NCCL: that reason, too" wait_for 60 reason \
    "it does not speak NCCL's RAS protocol"
end
for way in mute deaf; do
    begin --hang-timeout 2 $four "$rank" json skip $way
    ok "$way: after 10 s muster says so" wait_for 60 reason 'no answer within 10 s'
    ok "... no rank is named" not grep -q ' NCCL: ' err
    end
done
ok "nothing is left" no_leftovers

# The address.
script_file show <<'END2'
#!/usr/bin/env python3
import os, socket
address = os.environ.get('NCCL_RAS_ADDR', 'none')
print(address, os.environ.get('NCCL_RAS_ENABLE', ''))
if address.startswith('127.0.0.1:'):
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        other.bind(('127.0.0.1', int(address.split(':')[1])))
        print('it is free for all')
    except OSError as error:
        print(error.strerror)
END2
run muster $four ./show
is "each node has a port of its own" "$(grep -o '127.0.0.1:[0-9]*' out | sort -u | wc -l)" 2
is "... which a program that is not NCCL does not get" "$(grep -c 'Address already in use' out)" 4
run muster --env NCCL_RAS_ADDR=127.0.0.1:28028 $four ./show
is "NCCL_RAS_ADDR is the user's if it is set" "$(grep -c '127.0.0.1:28028' out)" 4
run muster --env NCCL_RAS_ENABLE=0 $four ./show
is "NCCL_RAS_ENABLE=0: none" "$(grep -c 'none 0' out)" 4
run env NCCL_RAS_ADDR=127.0.0.1:28029 muster -x NCCL_RAS_ADDR $four ./show
is "... nor if it comes from here" "$(grep -c '127.0.0.1:28029' out)" 4
run muster exec -H node1,node2 -- "$PWD/show"
is "muster exec sets none" "$(grep -c 'none' out)" 2
}
ok "nothing is left" no_leftovers
finish
