#!/bin/sh
# muster clean does not touch a run that is running, unless it is told which one, and spares the
# run that it is part of.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

rank_until_killed
start muster --grace 5 --json end.json -H node1:2 ./rank
launcher=$pid
wait_for 20 all_ready
cp out out.run
cp err err.run
run muster -H node1:1 true
is "a run beside another has nothing to say" "$rc $(cat err)" "0 "
run muster clean --kill --grace 1 -H node1:2
is "a run that is running is not touched: 0" "$rc" 0
ok "... but shown" grep -Eq '^node1 +running +run .* [2-9][0-9]* processes' out
ok "... and continues" alive "$launcher"
id=$(awk '$2 == "running" { print $(NF - 2) }' out)
run muster clean --kill --grace 1 -H node1:2 --run "$id"
is "--kill --run ends it: 0" "$rc" 0
ok "... the table says so" grep -Eq "ended +process .* $id " out
wait_for 20 is_gone "$launcher"
ok "... its launcher has seen it" is_gone "$launcher"
ok "nothing is left" no_leftovers

# In the middle of a run
run muster -H node1:1 muster clean --kill -H node1:1
is "a rank may clean, and spares its own run" "$rc" 0
script_file nested <<'END'
#!/bin/sh
if [ "$RANK" != 0 ]; then
    : >there
    while [ ! -e cleaned ]; do sleep 0.2; done
    echo still there
    exit
fi
while [ ! -e there ]; do sleep 0.2; done
muster clean --kill --grace 0.5 -H node1:1
: >cleaned
END
chmod 755 "$tmp" "$PWD"
mkdir -m 777 shared
cd shared || exit 1
run muster -H node1:2 ../nested
is "... also the other ranks of it: 0" "$rc" 0
ok "... who are still there" grep -q "node1:1: still there" out
rm -f there cleaned
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
if $nobody test -x "$top_builddir/agent/muster-agent"; then
    # shellcheck disable=SC2086
    HOME=$PWD run $nobody muster -H node1:2 ../nested
    is "... in a user namespace too" "$rc $(grep -c 'node1:1: still there' out)" "0 1"
else
    skip "... in a user namespace too" "others cannot read this build"
fi
cd ..
finish
