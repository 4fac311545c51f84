#!/bin/sh
# Row 46: MASTER_PORT is taken on node 0. Another one is chosen, and held until the ranks start;
# one that was asked for is an error that names who has it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

need world
script_file hold <<'END'
#!/usr/bin/env python3
import socket, sys, time
s = socket.socket()
s.bind(("", int(sys.argv[1])))
s.listen()
print("held", flush=True)
time.sleep(100)
END
rank_does <<'END'
echo "$MASTER_PORT"
# What rank 0 does: it must be able to listen there.
[ "$RANK" != 0 ] || python3 -c 'import os, socket
s = socket.socket()
s.bind(("", int(os.environ["MASTER_PORT"])))
s.listen()'
END
ports() {
    sort -u out | cut -d' ' -f2 | sort -u | tr '\n' ' '
}
control 4 -H node1:2,node2:2 ./rank
faulty -H node1:2,node2:2 ./rank
is "free: 29500" "$rc $(ports)" "0 29500 "
./hold 29500 >held &
holder=$!
test_pids="$test_pids $holder"
wait_for 10 grep -q held held
faulty -H node1:2,node2:2 ./rank
within "muster returns" 5 "$began"
ended 0
ok "taken: another one, the same for all" sh -c "echo '$(ports)' | grep -Eqx '[0-9]+ '"
ok "... which is not 29500" test "$(ports)" != "29500 "
faulty --master_port 29500 -H node1:2,node2:2 ./rank
ended 73
says "29500.*held by pid $holder \(hold\)|29500.*held by pid $holder"
ok "no rank was started" all_ran 0
finish
