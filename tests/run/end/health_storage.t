#!/bin/sh
# Storage that no longer answers: the node is not fit, and its agent does not hang.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
limit=$(stretched 2) # of what must time out, and of what must not
export MUSTER_TRANSPORT=exec
[ -w /dev/fuse ] || skip_all "needs /dev/fuse"
MUSTER_AGENT=$test_agent
MUSTER_TEST_GATE_S=$limit
export MUSTER_AGENT MUSTER_TEST_GATE_S

# mount_dead: it answers until the file stop is there.
mount_dead() {
    rm -f stop mounted
    mkdir -p data
    python3 "$here/end/dead_storage.py" "$PWD/data" "$PWD/stop" >mounted 2>&1 &
    server=$!
    test_pids="$test_pids $server"
    wait_for 20 test -s mounted
    grep -qx mounted mounted
}
mount_dead || skip_all "a file system cannot be mounted here: $(cat mounted)"

script_file breaks <<'END'
#!/bin/sh
[ "$MUSTER_GENERATION" = 0 ] || exit 0
: >"$STOP"
exit 1
END
STOP=$PWD/stop
export STOP

run muster -v -H node1:1 --cwd "$PWD/data" pwd
is "it answers: the run begins there" "$rc $(cat out)" "0 $PWD/data"
ok "... after a look at it" grep -Eq 'node1: fit for ranks: storage \(' err
start muster -v --max-restarts 1 --restart-delay 0 --max-wait 1 --grace 1 -H node1:1 --cwd "$PWD/data" "$PWD/breaks"
finish_run 60
is "it stops before the second generation" "$rc" 75
ok "... which node, and what" grep -q "node node1 not fit (the storage of $PWD/data does not answer within $limit s; \
process [0-9]* of muster's agent hangs in the kernel there); waiting for a node" err
hung=$(sed -n 's/.*; process \([0-9]*\) of muster.*/\1/p' err | head -n 1)
ok "... that process is there, and nothing else" sh -c "! grep -q '^State:.Z' /proc/$hung/status"
kill "$server"
wait "$server" 2>/dev/null
ok "... until the storage answers" wait_for 20 is_gone "$hung"

umount data
mount_dead
kill -KILL "$server"
wait "$server" 2>/dev/null
run muster -H node1:1 --cwd "$PWD/data" true
is "it fails at once" "$rc $(sed -n 's/^ *node1 *health *//p' err)" \
    "73 the storage of $PWD/data fails: Transport endpoint is not connected"
umount data
ok "nothing is left" no_leftovers
finish
