#!/bin/sh
# Beside row 43: a login shell that never comes to the agent. It costs what --connect-timeout says,
# and muster clean finds what is left of it: by its command, or, if it has executed another program,
# by what that has not read. (muster asks the sshd to end the shell: from OpenSSH 7.9 on it does,
# from 10 on for root, too. A muster that is killed cannot ask.)
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash) ;;
*) skip_all "the login shell here is not bash" ;;
esac
ranks_wait
control 4 ./rank

run_begins() {
    run_on node1 | grep -q .
}
shell_ended() {
    ! run_begins
}
clean_finds() {
    run muster clean
    grep -q 'sleep 1000' out
}

# Sets sleeper to what sleeps on node1.
sleeps() {
    sleeper=$(for process in $(run_on node1); do
        [ "$(name_of "$process")" != sleep ] || echo "$process"
    done)
    [ -n "$sleeper" ]
}

# hangs WHAT PROFILE COMMAND: node1's login shell reads that profile and hangs; muster is killed, and
# then the command runs.
hangs() {
    echo "$2" >"$nodes_dir/node1/home/.bashrc"
    start muster --env FAULT=yes ./rank
    ok "$1: it hangs" wait_for 20 sleeps
    kill -KILL "$pid"
    finish_run 10
    rm "$nodes_dir/node1/home/.bashrc"
    $3
    ok "... muster clean finds it" wait_for 20 clean_finds
    run muster clean --kill
    is "... and ends it" "$rc" 0
    ok "... nothing is left" clean
}

shell_is_killed() {
    kill -KILL "$(parent_of "$sleeper")"
}

echo 'sleep 1000; :' >"$nodes_dir/node1/home/.bashrc"
start muster --json end.json --env FAULT=yes ./rank
ok "the shell hangs" wait_for 20 run_begins
kill -INT "$pid"
since=$(now_ms)
finish_within "Ctrl-C ends muster" 4
is "exit status" "$rc" 130
wait_for 20 shell_ended
hangs "a command of the profile" 'sleep 1000; :' :
hangs "the same without its shell" 'sleep 1000; :' shell_is_killed
hangs "a program in place of the shell" 'exec sleep 1000' :
# What the user has left there is no affair of ours.
ssh -F "$nodes_dir/ssh_config" node1 'exec sleep 1000' 2>/dev/null &
client=$!
ok "a command of the user's" wait_for 20 sleeps
kill -KILL "$client"
wait "$client" 2>/dev/null || :
lost_its_parent() {
    [ "$(parent_of "$sleeper")" = 1 ]
}
ok "... has lost its sshd" wait_for 20 lost_its_parent

for transport in ssh openssh; do
    echo 'exec sleep 1000' >"$nodes_dir/node1/home/.bashrc"
    faulty --transport "$transport" --connect-timeout "$(stretched 1)" ./rank
    is "$transport: a shell that hangs: 75" "$rc" 75
    # Two tries; ssh has three steps before it. It was 30 s, whatever --connect-timeout was.
    within "... muster ends" 14 "$began"
    rm "$nodes_dir/node1/home/.bashrc"
    run muster clean --kill
    is "... muster clean ends the shells of both tries" "$rc" 0
    ok "... but not the user's command" kill -0 "$sleeper"
done
run muster clean
ok "nor does it show that" not grep -q 'sleep 1000' out
kill "$sleeper"
ok "nothing is left" clean_within 10
control 4 ./rank
finish
