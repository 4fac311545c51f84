#!/bin/sh
# muster open: where the page of a run is, and from another machine the ssh command that forwards it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/output/metrics.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG SSH_CONNECTION
export MUSTER_TRANSPORT=exec
command -v curl >/dev/null || skip_all "curl is missing"
me=$(id -un)@$(hostname)

runs_now() {
    muster status --json=- "$1" 2>/dev/null | grep -q '"state": *"running"'
}

run muster open
is "no run" "$rc $(grep -c 'no active run' err)" "2 1"

start muster -H node1:1 --name opened --metrics-listen 127.0.0.1:0 sleep 1000
ok "a run that serves" wait_for 30 runs_now opened
page=$(address | sed 's/metrics$//')
is "its page" "$(muster open)" "$page"
is "... by its name" "$(muster open opened)" "$page"
is "... is where figures are" "$(curl -s "$(muster open)metrics" | grep -c ^muster_run_info)" 1
port=${page##*:}
is "after a login over ssh: how to forward it" "$(SSH_CONNECTION='10.0.0.1 1 10.0.0.2 22' muster open)" \
    "$page
from your machine: ssh -N -L ${port%/}:127.0.0.1:${port%/} $me"

# The run of another machine that shares this home.
id=$(muster status --json=- opened | sed -n 's/.*"run_id": *"\([^"]*\)".*/\1/p')
runs=$HOME/.local/state/muster/runs
afar=20261101-120000-abcd
mkdir "$runs/$afar"
sed "s/\"host\": *\"[^\"]*\"/\"host\": \"login7\"/g" "$runs/$id/plan.json" >"$runs/$afar/plan.json"
cp "$runs/$id/status.json" "$runs/$afar"
is "of a run on another machine" "$(muster open $afar | tail -n 1)" \
    "from your machine: ssh -N -L ${port%/}:127.0.0.1:${port%/} $(id -un)@login7"
rm -r "${runs:?}/$afar"
muster stop opened >/dev/null
finish_run 30
run muster open opened
is "a run that is over has none" "$rc $(grep -c 'is over, and its page with it: muster status --html' err)" "2 1"

start muster -H node1:1 --name closed sleep 1000
ok "a run that serves nothing" wait_for 30 runs_now closed
run muster open
is "... has none, and muster says how it has" "$rc $(grep -c 'serves no page: start runs with --metrics-listen' err)" "2 1"
muster stop closed >/dev/null
finish_run 30

start muster -H node1:1 --name at_file --metrics-listen "$PWD/a.sock" sleep 1000
ok "a run that serves at a file" wait_for 30 runs_now at_file
is "... needs ssh, also from here" "$(muster open)" "http://127.0.0.1:9464/
from your machine: ssh -N -L 9464:$PWD/a.sock $me"
muster stop at_file >/dev/null
finish_run 30
ok "nothing is left" no_leftovers
finish
