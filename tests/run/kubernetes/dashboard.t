#!/bin/sh
# muster k8s dashboard says what to do if there is no page to forward, and forwards to the launcher if
# there is one; submit --metrics makes what Prometheus needs, or nothing. The API server is one in memory,
# which kubernetes.t compares with a real one; there the page really is forwarded.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

program=$top_builddir/tests/run/kubernetes/muster-k8s
need_program() {
    [ -x "$program" ] || { echo "muster-k8s was not built (libcurl is missing)"; return 1; }
}
need program

mkdir bin
printf '#!/bin/sh\necho "kubectl $*"\n' >bin/kubectl
chmod +x bin/kubectl
run_limit=300 run env PATH="$PWD/bin:$PATH" python3 "${script%/*}/dashboard.py" "$program"
is "the stories were told" "$rc" 0

# said WHAT STORY WORDS [TIMES]: so many of its lines are just this.
said() {
    is "$1" "$(grep -cxF "$2: $3" out)" "${4-1}" || grep "^$2: " out | sed 's/^/# /'
}
error="68 muster k8s: error:"
said "a job that is not there" none \
    "$error there is no job j in namespace default; \`muster k8s list\` shows them"
said "one without a page" without "$error the job j serves no page: it was submitted without --dashboard \
(dashboard: true in a document); \`muster k8s logs -f j\` shows its output"
submitted='0 deepspeedjob.muster.dev/j created | The job j has been submitted successfully | You can run '
submitted="$submitted\`muster k8s get j\` to check the job status | and \`muster k8s dashboard j\` to see its page"
said "submit names the command" submitted "$submitted" 2
said "before the launcher runs" pending "$error Pod j-launcher, which serves the page, is not running \
(Pending); \`muster k8s get j\` shows why" 2
said "before the workers are ready" early "$error the run of job j has not begun, or is about to end: \
1 of 2 workers are ready; \`muster k8s get j\` shows what it waits for" 2
said "then kubectl forwards, to a port that one chooses" running "0 The page of job j: http://localhost:8000/ \
until Ctrl-C | kubectl --namespace=default port-forward pod/j-launcher 8000:9464"
said "... or to the usual one, from the job's" running "0 The page of job j: http://localhost:9464/ \
until Ctrl-C | kubectl --namespace=default port-forward pod/j-launcher 9464:9000"
said "not while the launcher ends" ending "$error Pod j-launcher, which serves the page, is not running \
(it is ending); \`muster k8s get j\` shows why" 2
said "the job ends" recorded 0 2
said "nor after that, whether its end is recorded or not" ended "$error the job j has ended (Succeeded), and its page with it; \`muster k8s logs j\` \
shows its output, and \`muster k8s get j\` how it ended" 4
said "an elastic job needs a worker" "elastic, early" "$error the run of job j has not begun, or is about to \
end: 0 of 1 workers are ready; \`muster k8s get j\` shows what it waits for"
said "... and no more" elastic "0 The page of job j: http://localhost:9464/ until Ctrl-C | kubectl \
--namespace=default port-forward pod/j-launcher 9464:9464"
ok "a cluster without ServiceMonitors refuses the job, and says what to write" grep -q "^operator False: 73 .*error: \
the cluster has no ServiceMonitors: the Prometheus operator is not installed; write --metrics=annotation .*muster \
deletes its objects left$" out
said "... of which nothing is left" "operator False objects" 0
said "one with them has all three objects" "operator True" "$submitted left networkpolicies/j-metrics \
servicemonitors/j-metrics services/j-metrics"
said "... which go with the job" deleted "0 deepspeedjob.muster.dev/j deleted 0"
ok "nothing is left" no_leftovers
finish
