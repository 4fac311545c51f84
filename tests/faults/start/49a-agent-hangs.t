#!/bin/sh
# Beside row 49: an agent in the cache of a node that starts, and does not answer.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"
nodes_agents= # it is about sending one

run_limit=60 # openssh waits for three steps and the shell before it tries again
world_control 2 sleep
agent=$(find "$nodes_dir/node2/home" -name muster-agent)
printf '#!/bin/sh\necho $$ >%s\nexec sleep 1000\n' "$PWD/hung.pid" >hung
truncate -s "$(stat -c %s "$agent")" hung

# hangs_by TRANSPORT: the place that it is left for is not the one that all tests of this user share.
hangs_by() {
    rm -rf elsewhere hung.pid
    mkdir elsewhere
    cat hung >"$agent"
    echo "export TMPDIR='$PWD/elsewhere'" >"$nodes_dir/node2/home/.bashrc"
    ran_reset
    run muster --transport "$1" --connect-timeout 2 ./rank
    is "$1: one that hangs is left for another place: 0" "$rc" 0
    ok "... it was tried" test -s hung.pid
    ok "... and every rank ran" all_ran 4
    ok "... it is that place" test -x elsewhere/*/*/muster-agent
    ok "... and the file goes" wait_for 10 not cmp -s hung "$agent"
    # Some versions of sshd leave what hangs to us, and ssh cannot ask it to end that.
    rm "$nodes_dir/node2/home/.bashrc"
    kill "$(cat hung.pid)" 2>/dev/null
    ok "... and nothing else is left" clean_within 5
    control 4 --transport "$1" ./rank
    ok "... which is pushed again where it was" cmp "$agent" "$top_builddir/agent/muster-agent"
}

hangs_by ssh
hangs_by openssh
finish
