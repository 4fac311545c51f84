#!/bin/sh
# --detach: a start that fails is as without it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

# shellcheck disable=SC2086
{
printf '#!/no/such/interpreter\n' | script_file broken
for arguments in "--cwd=/no/such/directory sleep 1" "./broken" "--agent /no/such/agent sleep 1"; do
    run muster -H node1:1 $arguments
    wanted=$rc
    complaints | sort >wanted
    run muster --detach -H node1:1 $arguments
    is "$arguments: exit status" "$rc" "$wanted"
    is "... the same errors" "$(complaints | sort)" "$(cat wanted)"
    is "... and no success" "$(grep -c 'is running' err)" 0
done
script_file slow <<'END'
: >preparing
sleep 1004
END
start muster --detach -H node1:1 --grace 1 --venv_script "$PWD/slow" sleep 1
ok "while it is being prepared" wait_for 10 test -e preparing
kill -INT "$pid"
finish_run 20
is "Ctrl-C stops the start: 130" "$rc" 130
ok "nothing is left" no_leftovers
# When the launcher has just left the terminal, it does not get what comes from there any more.
for _ in 1 2 3 4; do
    rm -rf "$runs" preparing
    start muster --detach -H node1:1 --grace 1 --venv_script "$PWD/slow" sleep 1
    until set -- "$runs"/*/stdout && [ -e "$1" ]; do
        kill -0 "$pid" || break
    done
    kill -INT "$pid"
    finish_run 20
    echo "$rc" && no_leftovers
done >early
is "nor if it comes at once: 130" "$(tr '\n' ' ' <early)" "130 130 130 130 "
run muster exec --detach -H node1 true
is "muster exec cannot be detached: 2" "$rc" 2
XDG_STATE_HOME=/dev/null/nowhere
export XDG_STATE_HOME
run muster --detach -H node1:1 true
is "without a directory: 73" "$rc" 73
ok "... and why" grep -q 'needs a place for the output: /dev/null/nowhere' err
unset XDG_STATE_HOME
}
finish
