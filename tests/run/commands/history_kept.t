#!/bin/sh
# What is kept of a run: not for ever, but longer than it runs; and not what is not ours.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

# shellcheck disable=SC2086
{
detach -q -H node1:1 true
ok "it is over" wait_for 10 is_over
other=$runs/20200101-000000-abcd
mkdir "$other"
cp "$kept/log" "$other"
sed 's/"host": *"'"$(uname -n)"'"/"host": "elsewhere"/' "$kept/plan.json" >"$other/plan.json"
dead=$runs/20200102-000000-abcd
cp -r "$kept" "$dead"
: >"$dead/control"
run muster status
ok "another machine's run is shown as such" grep -q '^20200101-000000-abcd .* on elsewhere ' out
run muster attach 20200101
is "... cannot be attached to here: 2" "$rc" 2
run muster stop 20200101
is "... nor be stopped: 2" "$rc" 2
detach -H node1:1 ./rank
wait_for 5 is_later_than "$id" # ids of the same second are in no order
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
    muster -H node1:1 true
done
is "more than 20 are kept, if the oldest is running" "$(ls "$runs" | wc -l)" 22
ok "... it is there" test -e "$kept/log"
ok "... and alive" status_says 'd["state"] == "running"'
: >go
run muster attach "$id"
is "... to its end" "$rc $(tail -n 1 out)" "0 1400000"
ok "one whose launcher was killed is removed, with all that muster made" not test -e "$dead"
ok "another machine's run is left alone" test -e "$other/log"
}
finish
