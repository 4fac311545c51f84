#!/bin/sh
# muster clean refuses what is no run's id, no option of its own, or an argument.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

stale sleep 1001
ours=$stale

for id in '' "$(printf '\377')" "$old-" '*'; do
    clean --kill --run "$id"
    is "--run of what is no run's id: 2" "$rc" 2
    ok "... and nothing is ended" alive "$ours"
done
clean --kill --run 20260101-000000-ffff
is "--run of another run: nothing" "$rc" 0
ok "... and nothing is ended" alive "$ours"


run muster clean -H node1:1 what
is "an argument is refused: 2" "$rc" 2
run muster --kill -H node1:1 true
is "--kill is refused elsewhere: 2" "$rc" 2
ok "... saying where it belongs" grep -q 'it belongs to clean' err
finish
