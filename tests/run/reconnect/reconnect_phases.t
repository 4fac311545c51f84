#!/bin/sh
# A connection may break whatever the run is doing: while it prepares, in a PMI barrier, while it
# stops.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

use_sshd 2

script_file barrier <<'END'
#!/usr/bin/env python3
# Put, barrier, get what the next rank has put. FIRST waits for the file "go".
import os, time
rank, size = int(os.environ['PMI_RANK']), int(os.environ['PMI_SIZE'])
pmi = os.fdopen(int(os.environ['PMI_FD']), 'r+b', buffering=0)
def ask(line):
    pmi.write(line.encode() + b'\n')
    return pmi.readline().decode()
ask('cmd=init pmi_version=1 pmi_subversion=1')
name = dict(word.split('=', 1) for word in ask('cmd=get_my_kvsname').split())['kvsname']
for turn in range(3):
    ask(f'cmd=put kvsname={name} key=k{turn}-{rank} value=v{turn}-{rank}')
    open(f'in-{turn}-{rank}', 'w')
    while rank == 0 and not os.path.exists(f'go-{turn}'):
        time.sleep(0.01)
    assert 'barrier_out' in ask('cmd=barrier_in')
    other = (rank + 1) % size
    assert f'value=v{turn}-{other}' in ask(f'cmd=get kvsname={name} key=k{turn}-{other}')
ask('cmd=finalize')
END
all_in() {
    [ "$(ls -d in-"$1"-* 2>/dev/null | wc -l)" = 4 ]
}
# shellcheck disable=SC2086
start muster $patient -H node1:2,node2:2 --no_python ./barrier
for turn in 0 1 2; do
    wait_for 20 all_in $turn
    lost=$(grep -c 'node2: connection lost' err)
    break_connection node2
    [ "$turn" = 1 ] || wait_for 20 says $((lost + 1)) 'node2: connection lost'
    : >go-$turn
done
finish_run 60
is "killed in three PMI barriers: 0" "$rc" 0
ok "... it was made again" grep -q 'node2: reconnected after' err

# Before the ranks have begun: node1 still prepares, node2 is ready, and is told to start while it
# cannot be reached.
cat >slow <<END
case \$HOME in
*/node1/*) : >'$PWD/prepares'; until [ -e '$PWD/go' ]; do sleep 0.2; done ;;
esac
END
rm -f go
# shellcheck disable=SC2086
start muster -v $patient --venv_script "$PWD/slow" sh -c 'echo ran'
wait_for 20 test -e prepares
wait_for 20 says 1 'node2: preparing -> ready'
kill -STOP "$(cat "$nodes_dir/node2/pid")"
break_connection node1
break_connection node2
ok "connections are lost before the start" wait_for 20 says 2 'node[12]: connection lost'
wait_for 20 says 1 'node1: reconnected after'
: >go
wait_for 20 says 1 'node2: ready -> running'
is "... one of them still is" "$(grep -c 'node2: reconnected' err)" 0
kill -CONT "$(cat "$nodes_dir/node2/pid")"
finish_run 30
is "... and made again: 0" "$rc" 0
is "... every rank ran" "$(grep -c ran out)" 4

script_file saves <<'END'
#!/bin/sh
trap 'sleep 0.5; echo "rank $RANK saved"; exit 0' TERM
echo ready
while :; do sleep 0.2; done
END
# shellcheck disable=SC2086
start muster $patient --no_python ./saves
wait_for 20 lines out 4
kill -STOP "$(cat "$nodes_dir/node1/pid")"
break_connection node1
wait_for 20 says 1 'node1: connection lost'
kill -INT "$pid"
wait_for 20 says 1 'interrupted'
kill -CONT "$(cat "$nodes_dir/node1/pid")"
finish_run 30
is "Ctrl-C while a connection is lost: 130" "$rc" 130
ok "... it was made again" says 1 'node1: reconnected after'
is "... and every rank has ended in its own way" "$(grep -c saved out)" 4
ok "... nothing is left" wait_for 5 nothing_left

# shellcheck disable=SC2086
start muster $patient --no_python ./saves
wait_for 20 lines out 4
kill -INT "$pid"
wait_for 20 says 1 'interrupted'
break_connection node1
break_connection node2
finish_run 30
is "both connections lost while the ranks stop: 130" "$rc" 130
is "... and every rank has ended in its own way" "$(grep -c saved out)" 4
finish
