#!/bin/sh
# muster-init --idle, the launcher of a job in debug mode: it is there until SIGTERM, which what runs in
# it gets, too, and its exit status says that nothing was done.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_init() {
    [ -x "$top_builddir/k8s/muster-init" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need init
need root # for a PID namespace: it signals all processes that it sees

cat >shell <<END
cd $PWD || exit 1
trap 'echo "it has got SIGTERM" >told; exit 0' TERM
echo ready >ready
while :; do
    sleep 0.1
done
END
start unshare --pid --fork --kill-child --mount-proc "$top_builddir/k8s/muster-init" --idle
first_process() {
    init=$(pgrep -P "$pid" -x muster-init)
}
ok "muster-init waits" wait_for 20 first_process
nsenter -t "$init" -p -m sh "$PWD/shell" &
test_pids="$test_pids $!"
has_shell() {
    [ -s ready ]
}
ok "somebody opens a shell in it" wait_for 20 has_shell
kill -TERM "$init"
finish_run 20
is "SIGTERM ends it, and its status says how" "$rc" 143
is "the shell has got it, too" "$(cat told)" "it has got SIGTERM"
run "$top_builddir/k8s/muster-init"
is "without --idle there is nothing to do" "$rc" 2
finish
