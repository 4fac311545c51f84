#!/bin/sh
# Beside row 43: a login shell that never comes to the agent. What is left of it is found by muster
# clean. (muster asks the sshd to end the shell: from OpenSSH 7.9 on it does, from 10 on for root,
# too. A muster that is killed cannot ask.)
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash) ;;
*) skip_all "the login shell here is not bash" ;;
esac
ranks_wait
control 4 ./rank

echo 'sleep 1000; :' >"$nodes_dir/node1/home/.bashrc"
run_begins() {
    run_on node1 | grep -q .
}
start muster --json end.json --env FAULT=yes ./rank
ok "the shell hangs" wait_for 20 run_begins
kill -INT "$pid"
since=$(now_ms)
finish_within "Ctrl-C ends muster" 4
is "exit status" "$rc" 130
shell_ended() {
    ! run_begins
}
wait_for 20 shell_ended
start muster --env FAULT=yes ./rank
ok "the next one hangs, too" wait_for 20 run_begins
kill -KILL "$pid"
finish_run 10
rm "$nodes_dir/node1/home/.bashrc"
clean_finds() {
    run muster clean
    grep -q 'sleep 1000' out
}
ok "muster clean finds it" wait_for 20 clean_finds
run muster clean --kill
is "muster clean --kill" "$rc" 0
ok "nothing is left" clean
control 4 ./rank
finish
