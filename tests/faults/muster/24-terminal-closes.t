#!/bin/sh
# Row 24: the terminal goes away: SIGHUP, and then errors from what was a terminal. The run is
# stopped, with 129. With --detach or under nohup(1) it continues, and no byte is missing.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<'END'
echo "ready $RANK"
while :; do echo more; sleep 0.1; done
END
sed -i 's/^while.*/[ "$FAULT" = yes ] || exit 0; &/' rank
# Run muster on a terminal of its own; close it once all ranks are there; say how muster ended.
script_file terminal <<'END'
#!/usr/bin/env python3
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b''
while any(b'ready %d' % rank not in seen for rank in range(4)):
    seen += os.read(terminal, 65536)
os.close(terminal)
began = time.monotonic()
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), int((time.monotonic() - began) * 1000))
END
control 4 -H node1:2,node2:2 ./rank
ran_reset
run ./terminal muster --json end.json --grace 2 --env FAULT=yes -H node1:2,node2:2 ./rank
read -r rc took <out
ok "every rank ran" all_ran 4
ended 129
took_at_most "muster returned within 2 s" 2 "$took"
ok "every rank got TERM" json_says end.json 'all(r["signal"] == 15 for r in d["results"])'

# ---- nohup ----
script_file nohup_rank <<'END'
#!/bin/sh
echo "ready $RANK"
until [ -e closed ]; do sleep 0.2; done
echo "after $RANK"
END
script_file deaf <<'END'
#!/bin/sh
trap '' HUP
exec "$@" >nohup.out 2>&1
END
start ./deaf muster -H node1:2,node2:2 ./nohup_rank
ok "under nohup every rank runs" wait_for 10 sh -c 'test "$(grep -c ready nohup.out)" = 4'
kill -HUP "$pid"
: >closed
finish_run 20
ended 0
is "... to its end" "$(grep -c after nohup.out)" 4
rm closed

# ---- --detach ----
rank_does <<'END'
echo "ready $RANK"
until [ -e closed ]; do sleep 0.2; done
seq 1000000 1300000
END
# What muster says on a terminal of its own, until nobody has that open any more.
script_file terminal <<'END'
#!/usr/bin/env python3
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
try:
    while True:
        sys.stdout.buffer.write(os.read(terminal, 65536))
except OSError:
    pass
os.close(terminal)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
ran_reset
run ./terminal muster --detach --env FAULT=yes -H node1:2,node2:2 ./rank
is "detached: 0, and the terminal is free" "$rc" 0
ok "... every rank ran" all_ran 4
id=$(tr -d '\r' <out | sed -n 's/^muster: running; .* stop //p')
ok "... and continues" sh -c "muster status --json - ${id:-none} | grep -q '\"exit_status\": null'"
: >closed
run muster attach "$id"
ended 0
is "attach gets the rest, to the last byte" "$(for rank in 0 1 2 3; do
    sed -n "s/^node[12]:$rank: \(ready $rank\|[0-9]*\)\$/\1/p" out | sed "s/^ready .*/ready/" | cksum
done | sort -u)" "$({ echo ready; seq 1000000 1300000; } | cksum)"
finish
