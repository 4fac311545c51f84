#!/bin/sh
# No port of muster's listens while a run is running.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Inodes of all listening sockets that a process of the run holds.
listening() {
    leftovers | while read -r process _; do
        for fd in "/proc/$process/fd"/*; do
            readlink "$fd"
        done
    done | sed -n 's/^socket:\[\([0-9]*\)\]$/\1/p' | sort -u >held
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4 == "0A" { print $10 }' | sort -u >open
    comm -12 held open
}

start muster -H node1:1,node2:1 sh -c 'echo ready; exec sleep 1000'
ok "the ranks run" wait_for 20 lines out 2
is "no process of the run listens" "$(listening)" ""
ok "the oracle sees sockets at all" test -s held
kill -INT "$pid"
finish_run 20
is "it ends" "$rc" 130

# A rank can take the port that muster kept for it.
cat >bind.py <<'END'
import os, socket
if os.environ["RANK"] == "0":
    s = socket.socket()
    s.bind(("", int(os.environ["MASTER_PORT"])))
    s.listen()
    print("bound")
END
run muster --label none -H node1:1,node2:1 bind.py
is "rank 0 can bind MASTER_PORT" "$(cat out)" "bound"

# Rank 0 takes its time to bind it; meanwhile another run must not choose the same.
start muster --label none -H node1:1,node2:1 sh -c 'echo $MASTER_PORT; exec sleep 1000'
first=$pid
ok "a run that has not bound its port yet" wait_for 20 lines out 2
mv out first.out
run muster --label none -H node1:1,node2:1 sh -c 'echo $MASTER_PORT'
is "another run beside it" "$rc" 0
ok "... has another port" test "$(sort -u out)" != "$(sort -u first.out)"
kill -INT "$first"
wait_for 20 is_gone "$first"

# The process that has the port has the name of its program, which a terminal would act on.
ln -s "$(command -v python3)" "$(printf '\033[8mhidden')"
script_file named <<'END'
#!/bin/sh
shift
exec "./$(printf '\033[8mhidden')" "$@"
END
take_port ./named
run muster -H node1:1,node2:1 --master_port "$taken_port" true
ok "a fixed port that is taken is an error" test "$rc" != 0
ok "... that names the port" grep -q "$taken_port" err
ok "... and who has it, made harmless" grep -q 'held by pid [0-9]* (^\[\[8mhidden)' err
run muster doctor --master_port "$taken_port" -H node1:1
ok "... as muster doctor does" grep -q 'pid [0-9]* (?\[8mhidden)' out
finish
