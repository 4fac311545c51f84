#!/bin/sh
# muster-init --report: how muster's run ended, as JSON that Kubernetes keeps of the launcher.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_init() {
    [ -x "$top_builddir/k8s/muster-init" ] ||
        { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need init

# init COMMAND...: with an empty report, as kubelet makes it, and a home of its own.
homes=0
init() {
    : >report
    homes=$((homes + 1))
    HOME=$PWD/home$homes
    mkdir -p "$HOME"
    run "$top_builddir/k8s/muster-init" --report="$PWD/report" -- "$@"
}
# says EXPRESSION: of the report, r.
says() {
    python3 -c 'import json, sys
r = json.load(open("report"))
sys.exit(not (eval(sys.argv[1])))' "$1"
}

init muster --transport=exec -H node1:2,node2:2 --no_local_rank --no_python sh -c '[ "$RANK" != 3 ] || exit 7; sleep 1000'
is "the exit status is muster's" "$rc" 7
ok "the report has it" says 'r["exit_status"] == 7 and r["generation"] == 0'
ok "and who was first" says 'r["first_failure"]["rank"] == 3 and r["first_failure"]["node"] == "node2"'
ok "in words" says '"exit" in r["first_failure"]["text"]'
ok "it is in one line" test "$(wc -l <report)" = 0

init muster --transport=exec -H node1:1 --no_local_rank --no_python true
is "a good end is reported, too" "$rc" 0
ok "without a failure" says 'r["exit_status"] == 0 and r["first_failure"] is None'

# Many nodes, each with a failure of its own.
hosts=$(seq -f 'nowhere%g.invalid' -s , 1 60)
init muster --transport=ssh --ssh-config=/dev/null -H "$hosts" --no_local_rank --no_python true
is "nodes that cannot be reached" "$rc" 68
ok "are reported" says 'r["exit_status"] == 68 and r["first_failure"]["stage"]'
ok "as far as there is room" test "$(wc -c <report)" -le 4000

# Of a run before ours there is nothing to say.
homes=$((homes - 1))
init sh -c 'exit 3'
is "another command" "$rc" 3
is "has no report" "$(cat report)" ""
run "$top_builddir/k8s/muster-init" --report="$PWD/none" -- muster --transport=exec -H node1:1 --no_local_rank --no_python true
is "where nobody asks for one" "$rc" 0
ok "none is made" not test -e none
finish
