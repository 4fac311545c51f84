#!/bin/sh
# Row 70a: muster bcast, where the receiver is no agent: it wants what there is not, takes what was
# not sent, or talks without end. It gets nothing that it was not meant to have.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

mkdir -p tree/d/e
echo new >tree/f
echo new >tree/d/f
echo new >tree/d/e/f

run muster bcast -H node1 tree --to there
is "without the fault: 0" "$rc" 0
ok "... and all of it is there" diff -r tree there/tree
is "... and nobody complains" "$(cat err)" ""

# receiver CODE KIND
receiver() {
    run env FAKE="$2" python3 -c '
import resource, subprocess, sys
rc = subprocess.call(sys.argv[1:])
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(rc)' muster bcast --agent "$here/hostile/tree_receiver.py" -H node1 tree --to there
    is "$2: exit status" "$rc" "$1"
    ok "... the node is named" grep -q node1 err
    at_most "... memory" 98304 "$(cat peak)"
}
for kind in wants-no-such wants-directory wants-twice wants-backwards wants-unasked wants-part \
    much-credit no-credit fails-no-such fails-no-number fails-no-tree needs-no-such needs-no-tree \
    needs-directory needs-unspoken needs-part needs-without-end has-unsent has-part \
    listens-nowhere linked-no-number floods; do
    receiver 76 "$kind"
done
ok "... what it says is cut" test "$(wc -c <err)" -lt 200000
ok "... and made harmless" not grep -q "$(printf '\033')" err
rc=0
ended 0
finish
