#!/bin/sh
# Process numbers: programs name files on a shared disk by them, and find each other on one
# machine. Two nodes that are one machine share them; otherwise they differ from node to node.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

two="-H node1:2,node2:2"
script_file rank <<'END'
#!/bin/sh
echo $$ $(sh -c 'echo $PPID') $(readlink /proc/self/ns/pid)
END

# How many different words are in that column of the ranks' lines.
different() {
    awk -v column="$1" '{ print $column }' out | sort -u | wc -l
}

# shellcheck disable=SC2086
{
run muster -v $two ./rank
is "two nodes on one machine: 0" "$rc" 0
ok "... the log says so" grep -q 'node\[1-2\]: one machine (the same boot id)' err
is "... they have our PID namespace" "$(awk '{ print $4 }' out | sort -u)" \
    "$(readlink /proc/self/ns/pid)"
is "... and a number for each rank" "$(different 2)" 4

run muster -v $two --strict-containment ./rank
if grep -q 'containment .*pidns' err; then
    is "--strict-containment: each a PID namespace even so" "$(different 4)" 2
else
    skip "--strict-containment: each a PID namespace even so" "no PID namespaces here"
fi

# Two machines, as far as agents can tell.
MUSTER_AGENT=$test_agent
MUSTER_TEST_BOOT_ID=/proc/sys/kernel/random/uuid
export MUSTER_AGENT MUSTER_TEST_BOOT_ID
run muster -v $two ./rank
is "two machines: 0" "$rc" 0
ok "... nobody takes them for one" not grep -q 'one machine' err
if grep -q 'containment .*pidns' err; then
    is "... each has a PID namespace" "$(different 4)" 2
    is "... there is a number for each rank" "$(different 2)" 4
    ok "... none is as in an empty namespace" awk '$2 <= 300 { bad = 1 } END { exit bad }' out
    ok "... children know it, too" awk '$2 != $3 { bad = 1 } END { exit bad }' out
    awk '{ print $2 }' out | sort >before
    run muster $two ./rank
    is "the next run has others" "$(awk '{ print $2 }' out | sort | comm -12 - before)" ""
else
    skip "... each has a PID namespace" "no PID namespaces here"
fi
}
ok "nothing is left" no_leftovers
finish
