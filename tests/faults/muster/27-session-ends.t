#!/bin/sh
# Row 27: the node ends the login session, and with it the agent: SIGTERM or SIGHUP, to the agent
# or to all that is in the session. The report says that, and what can be done.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<'END'
exec sleep 1000
END
control 4 -H node1:2,node2:2 ./rank
for signal in TERM HUP; do
    faulty_start 4 --grace 2 -H node1:2,node2:2 ./rank
    since=$(now_ms)
    kill -$signal "$(agent_of 0)"
    finish_within "SIG$signal: muster returns" 1.5
    ended 69
    says "node1 .*the login session ended \(SIG$signal to muster's agent\)" 'hint: node1: .*loginctl'
done

# systemd tells everything in the session at once: with sshd the connection goes, and the ranks
# end as soon as the agent hears of it. muster logs in again, which takes its time, and hears why.
if [ -n "$world" ] && need_sshd >/dev/null; then
    world_nodes 2
    echo "[ ! -e '$PWD/login-is-slow' ] || sleep 2" >"$nodes_dir/node1/home/.bashrc"
    # Without --reconnect the agent waits 5 s for the question why; the login takes 2 of them, on a
    # quiet machine.
    faulty_start 4 --grace 2 --reconnect "$(stretched 5)" ./rank
    : >login-is-slow
    since=$(now_ms)
    session=$(below "$(pgrep -P "$(cat "$nodes_dir/node1/pid")" | head -n 1)")
    for process in $session; do
        case $(name_of "$process") in
        muster-agent) agent=${agent:-$process} ;;
        sleep) ranks="${ranks:-} $process" ;;
        esac
    done
    kill -STOP "$agent"
    # shellcheck disable=SC2086
    kill -TERM $session
    for process in $ranks; do
        ok "a rank ends before the agent can say anything" wait_for 10 is_gone "$process"
    done
    kill -CONT "$agent"
    finish_within "the whole session: muster returns" 7
    ended 69
    says "node1 .*the login session ended" 'hint: node1: .*loginctl'
else
    skip "the whole session" "needs root and sshd"
fi
finish
