#!/bin/sh
# Which hosts and slots a hostfile, -H and what stands in their place give, as for DeepSpeed.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/start/plan.sh"

hostfile() {
    printf '%b' "$1" >hosts
    plan --hostfile=hosts train.py
}

is "two hosts" "$(plan --hostfile=pool train.py)" "worker-0:0,1,2,3 worker-1:0,1,2,3"
is "a file without newline at its end" "$(hostfile 'te1 slots=2')" "te1:0,1"
is "tab, CRLF, leading blanks" "$(hostfile '  te1\tslots=2\r\n')" "te1:0,1"
is "comments and blank lines" "$(hostfile '# a\n\n  # b\nte1 slots=1 # c\n')" "te1:0"
is "leading zero" "$(hostfile 'te1 slots=02\n')" "te1:0,1"
is "max_slots is passed over" "$(hostfile 'te1 slots=2 max_slots=8\n')" "te1:0,1"
is "a range of hosts" "$(hostfile 'node[08-10] slots=1\n')" "node08:0 node09:0 node10:0"
for line in 'te1 slots=-1' 'te1 slots =4' 'te1 slots= 4' 'te1 Slots=4' \
    'te1 foo slots=4' 'te1 slots=0' 'te1 slots=4\nte1 slots=4' '# only' \
    '-oProxyCommand=x slots=1' 'a;b slots=1'; do
    is "refused: $line" "$(hostfile "$line\\n")" "exit 65"
done
hostfile 'te1 slots=1\nte2 slots=x\n' >/dev/null
ok "the error names file and line" grep -q 'hosts:2:' err
is "a list of hosts is no hostfile" "$(plan --hostf te1:2,te2:2 train.py)" "exit 65"
is "more ranks than a node can have" "$(hostfile 'te1 slots=1\nte2 slots=1025\n')" "exit 2"
ok "... names file and line" grep -q 'hosts:2: te2: 1025 ranks exceed the limit of 1024' err
is "... fewer are fine" "$(plan --hostfile=hosts -np 3 train.py)" "te1:0 te2:0,1"
is "... by another way" "$(plan -np 1048576 train.py)" "exit 2"
is "... or in all" "$(plan -H 'te[1-1025]:1024' train.py)" "exit 2"
ok "... names the host" grep -q 'te1025: with its 1024 ranks the run exceeds the limit of 1048576' err
is "no hostfile: this machine" "$(plan --num_gpus=2 train.py)" "localhost:0,1"
is "one that is named must exist" "$(plan --hostfile=none train.py)" "exit 65"
ok "... and is named" grep -q 'hostfile none: No such file' err
is "-H as horovodrun" "$(plan -H te1:2,te2:1 train.py)" "te1:0,1 te2:0"
is "-H with a range" "$(plan -H 'node[1-3]:1' train.py)" "node1:0 node2:0 node3:0"
is "-H as deepspeed: a file" "$(plan -H ./pool train.py)" "worker-0:0,1,2,3 worker-1:0,1,2,3"
finish
