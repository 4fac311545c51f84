#!/bin/sh
# --detach: the run continues without its terminal, and muster status finds it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

# shellcheck disable=SC2086
{
run muster status
is "without a run: 0, and a line about it" "$rc $(cat out)" "0 there are no runs in $runs"
run muster status --json -
is "... none in JSON" "$(json out d)" "{'runs': []}"
run muster attach
is "attach: where it has looked" "$rc $(cat err)" \
    "2 muster: error: no active run was started with --detach; there are none in $runs"
run muster status nothing
ok "... also for a name" grep -q "no run 'nothing' in $runs;" err

# ---- it continues ----
detach $four ./rank
is "the foreground ends with 0 once all ranks run" "$rc" 0
is "... its output is the id of the run" "$(ls "$runs")" "$id"
ok "... and says what that is good for" \
    grep -q "^muster: running; see muster status, attach or stop $id\$" err
is "... and nothing else of its own" \
    "$(complaints | grep -Ev '^node[12]:[0-3]: (begun [0-3]|more)$|running; see')" ""
ok "its launcher lives" status_says 'd["pid"] > 0'
pid=$(launcher)
is "... in a session of its own" "$(ps -o sid= -p "$pid" | tr -d ' ')" "$pid"
if ls "/proc/$pid/fd" >/dev/null 2>&1; then
    is "... reading nothing" "$(readlink "/proc/$pid/fd/0")" /dev/null
    is "... writing into files" "$(readlink "/proc/$pid/fd/1") $(readlink "/proc/$pid/fd/2")" \
        "$kept/stdout $kept/stderr"
else
    skip "... reading nothing" "needs root: who leaves no core file shows it to nobody else"
    skip "... writing into files" "needs root"
fi
is "nobody else can read them" "$(find "$runs" -perm /077 | wc -l)" 0
kill -HUP "$pid"
ok "its state is running" wait_for 10 status_says 'd["state"] == "running"'
ok "status has every rank" status_says \
    '[(r["rank"], r["node"]) for r in d["ranks"]] == [(i, "node%d" % (i // 2 + 1)) for i in range(4)]'
ok "... by a pid that is alive" kill -0 "$(json state.json 'd["ranks"][3]["pid"]')"
ok "... with the seconds since its last byte" wait_for 20 status_says \
    'all(r["silent_s"] for r in d["ranks"]) and d["ranks"][0]["silent_s"] < 1 < min(r["silent_s"]
    for r in d["ranks"][1:])'
ok "... also for people" grep -Eq '^3 +node2 +[0-9]+ +running +[0-9]+ s$' state
ok "without a run it lists all" sh -c "muster status | grep -q '^$id  .* running  *2 *4 *./rank'"
ok "a part of its name will do" sh -c "muster status ${id##*-} | grep -q '^$id: running'"
: >go
ok "it ends as its ranks do" wait_for 60 status_says 'd["exit_status"] == 0'
ok "nothing is left" no_leftovers
}
finish
