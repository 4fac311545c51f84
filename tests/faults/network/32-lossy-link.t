#!/bin/sh
# Row 32: a link that loses packets and is slow. Nobody is declared dead, nothing is lost. 8 s here,
# 60 s and other packets each time with MUSTER_TEST_WIDE=yes.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
seconds=8 seed=32
if [ "${MUSTER_TEST_WIDE:-}" = yes ]; then
    seconds=60 seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    echo "# seed $seed"
fi
rank_does <<END
for i in \$(seq $seconds); do echo "line \$i"; sleep 1; done
END
control 4 ./rank

lossy_line 2 "$seed"
faulty_start 4 ./rank
: >bad
finish_run $((seconds + 52))
is "exit status 0" "$rc" 0
# A second agent, made beside a silent connection, has no ranks. That it is not needed any more
# its sshd must hear first, over the same line.
ok "no process, socket, file or control group is left" clean_within 60
ok "packets were lost" test "$(grep -c lost line)" -gt 5
is "every line arrived" "$(grep -c 'line' out)" $((4 * seconds))
ok "nobody was declared dead" json_says end.json 'd["node_failures"] == []'
finish
