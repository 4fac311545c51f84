#!/bin/sh
# muster k8s controller, killed after each of its actions and started again, comes to the same end; and
# what 500 workers cost. The API server is one in memory, which kubernetes.t compares with a real one.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

program=$top_builddir/tests/run/kubernetes/muster-k8s
need_program() {
    [ -x "$program" ] || { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need program

many() {
    [ "$1" -ge 12 ] && [ "$2" -ge 3 ]
}
run_limit=500 run python3 "${script%/*}/killed.py" "$program"
is "the stories were told" "$rc" 0
for story in success failure two-retries expiry; do
    line=$(grep "^$story: " out)
    ok "$story: the same end, whenever the controller was killed" \
        sh -c "echo '$line' | grep -q 'different ends: \[\]$'"
    # A dozen actions at least, and at least three controllers in one life.
    moments=$(echo "$line" | sed -n 's/.*each of \([0-9]*\) actions, and \([0-9]*\) times.*/\1 \2/p')
    ok "which were many moments" many "${moments% *}" "${moments#* }"
done
is "of two controllers one acts, and the other one at once when that has ended" "$(grep '^held' out)" \
    "held by one other, exit status 0, given back: True"
is "a Lease that somebody deletes is made again" "$(grep '^deleted' out)" \
    "deleted Lease: held by one"
is "a job of the same name does not get the end of the one before" "$(grep '^replaced' out)" \
    "replaced: Succeeded"
is "Events tell of retry and end" "$(grep '^Cluster' out)" \
    "Cluster has Events: 1.retry 2.succeeded, waiting: True, requests: True"
is "and who may not write them tries once a minute" "$(grep '^Mute' out)" \
    "Mute has Events: , waiting: False, requests: False"
is "Pods that have not run get 5 s to end" "$(grep '^paused' out)" "paused: 0, graces [5, 5, 5], left []"
grep '^workers' out | sed 's/^/# /'
# figure NUMBER: of the line of 500 workers.
figure() {
    grep '^workers 500: ' out | tr -c '0-9.\n' ' ' | awk -v n="$1" '{ print $n }'
}
is "500 workers are submitted" "$(figure 2)$(figure 6)" 00
below() {
    awk -v got="$1" -v most="$2" 'BEGIN { exit !(got != "" && got <= most) }'
}
ok "with at most 3 s of CPU" below "$(figure 3)" 3
if grep -q __asan_init "$program"; then
    skip "memory, and the time of get" "built with sanitizers"
else
    ok "and 60 MiB" below "$(figure 4)" 60
    ok "get takes at most 0.2 s of CPU" below "$(figure 7)" 0.2
fi
requests() {
    grep "^workers $1: " out | tr -c '0-9.\n' ' ' | awk '{ print $5 }'
}
is "each more is one request more" "$(($(requests 500) - $(requests 250)))" 250
finish
