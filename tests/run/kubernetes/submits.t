#!/bin/sh
# muster k8s submit leaves nothing if it is refused halfway, and of two submits of one name at the same
# moment one is refused. The API server is one in memory, which kubernetes.t compares with a real one.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

program=$top_builddir/tests/run/kubernetes/muster-k8s
need_program() {
    [ -x "$program" ] || { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need program

run_limit=300 run python3 "${script%/*}/submits.py" "$program"
is "the stories were told" "$rc" 0
# said WHAT STORY START: of its line.
said() {
    ok "$1" grep -qF "$2: $3" out || grep "^$2: " out | sed 's/^/# /'
}
said "a quota ends it, and nothing is left" refused "73 '' left []: "
said "... which is said, with the Pod" refused "73 '' left []: muster k8s: error: the cluster refuses \
(403): pods \"j-worker-2\" \
is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2 | muster k8s: warning: \
the job j was not submitted; muster deletes its objects"
ok "what cannot be taken back is named, and how to" grep -q \
    '^stuck: 73 .*quota.*; a part of job j still exists: run `muster k8s delete j`$' out
said "a name that is taken ends it" taken "73 left ['pods'] ['j-worker-0']: "
ok "... and is said" grep -q \
    '^taken: .*Pod j-worker-0 already exists and does not belong to this job' out
is "of two at the same moment one is refused, be they the same or not" "$(grep '^at once' out | sort -u)" \
    "at once: 1 created, its job: True, the other: muster k8s: error: another submit has just created \
a job j; \`muster k8s get j\` shows it, or choose another --name"
said "what was interrupted is continued" interrupted \
    "-9 ['configmaps', 'secrets'], then 0 '' ['configmaps', 'networkpolicies', 'pods', 'secrets', 'services']"
ok "but not while another is at work" grep -q '^young: 73 .*waiting.*the job j was already submitted' out
is "a server with another clock measures by that" "$(grep '^clock' out | sort -u)" \
    "clock: 0 Succeeded its time: True"
said "Ctrl-C leaves the job running, and says how to come back" "let go" "130 muster k8s: warning: the job is \
still running: \`muster k8s logs -f j\` shows it, \`muster k8s delete j\` ends it; Ctrl-C again deletes it left 5"
said "Ctrl-C again deletes it" "let go twice" "130 muster k8s: warning: job j deleted left []"
finish
