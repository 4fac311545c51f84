#!/bin/sh
# contrib/metrics: Prometheus takes the alarms, which say what they should; the alarms, the dashboard
# and the manual name figures that muster has.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/output/metrics.sh"

contrib=$top_srcdir/contrib/metrics

# names FILE...: of figures there, with their labels left out; each once. C has counters and infos
# without their suffix.
names() {
    grep -ohE 'muster_[a-z_]+' "$@" | sed 's/_total$//; s/_info$//' | sort -u
}

names "$top_srcdir/launcher/course/run_figures.c" >figures
ok "figures" test "$(wc -l <figures)" -ge 20
is "the dashboard has no other" "$(names "$contrib/dashboard.json" | grep -vxFf figures)" ""
is "... and many of them" "$(test "$(names "$contrib/dashboard.json" | wc -l)" -ge 15 && echo yes)" yes
is "the alarms have no other" "$(grep -oE 'expr|muster_[a-z_]+' "$contrib/alerts.yml" >words; names words | grep -vxFf figures)" ""
sed 's/\\f.//g; s/, _lowest/, muster_step_lowest/' "$top_srcdir/doc/muster-watch.7" >manual
is "the manual has all of them" "$(names manual >named; grep -vxFf named figures)" ""
is "... and no other" "$(grep ^muster_ manual >table; names table | grep -vxFf figures)" ""

# A run has those of the alarms, whatever it does.
run muster --transport exec -H node1:1 --metrics m.prom true
is "a run has those of the alarms, but no steps" \
    "$rc $(names m.prom >run; names words | grep -vxFf run | grep -v ^muster_step_)" "0 "

# panels EXPRESSION: of Python, over the dashboard d.
panels() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$contrib/dashboard.json" "$1"
}
is "each panel has figures, a title, and a place of its own" \
    "$(panels 'all(p["targets"] and p["title"] and t["expr"] for p in d["panels"] for t in p["targets"]), len({(p["gridPos"]["x"], p["gridPos"]["y"]) for p in d["panels"]}) == len(d["panels"])')" "(True, True)"
is "... of the runs that are chosen" \
    "$(panels '[t["expr"] for p in d["panels"] for t in p["targets"] if "run_id=~\"$run\"" not in t["expr"]]')" "[]"

if has_promtool "the alarms"; then
    ok "Prometheus takes the alarms" promtool check rules "$contrib/alerts.yml"
    ok "... which say what they should" promtool test rules "$contrib/alerts_test.yml"
fi
ok "nothing is left" no_leftovers
finish
