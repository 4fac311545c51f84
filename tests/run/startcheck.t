#!/bin/sh
# What speaks against a start is found before any rank runs, and all of it is shown at once.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

two="-H node1:1,node2:1"

# Ranks that leave a trace.
script_file trace <<'END'
#!/bin/sh
: >"started-$RANK"
END

nothing_started() {
    [ -z "$(find . -name 'started-*')" ]
}

# shellcheck disable=SC2086
{
# Containment
MUSTER_TEST_CONTAIN=subreaper run muster --strict-containment $two ./trace
is "--strict-containment where there is only a subreaper: 73" "$rc" 73
ok "... both nodes are in one row" grep -Eq 'node\[1-2\] +containment +neither' err
ok "... with what they have" grep -q 'subreaper+lease' err
ok "... and what to do" grep -q 'hint: node\[1-2\]' err
ok "... nothing was started" nothing_started
MUSTER_TEST_CONTAIN=subreaper run muster $two true
is "without it such nodes will do" "$rc" 0
run muster -v --strict-containment $two true
if grep -Eq 'containment .*(pidns|cgroup)' err; then
    is "strong containment passes" "$rc" 0
else
    skip "strong containment passes" "there is none on this machine"
fi
}
finish
