#!/bin/sh
# A program, script or directory that cannot be used: which one, and why.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

four="-H node1:2,node2:2"

# shellcheck disable=SC2086
{
run muster $four ./nothing-here
is "no such program: 127" "$rc" 127
ok "... is named" grep -q nothing-here err
echo x >plain
run muster $four ./plain
is "not executable: 126" "$rc" 126
cat >strict.py <<'END'
import argparse
argparse.ArgumentParser().parse_args()
END
run muster $four strict.py
is "a script that does not take --local_rank: its own status" "$rc" 2
ok "... and what to do" grep -q 'hint: .*: use muster --no_local_rank' err
run muster --no_local_rank $four strict.py --epochs 3
ok "... not for other arguments" not grep -q hint: err
: >secret.py
chmod 0 secret.py
if [ "$(id -u)" != 0 ]; then # root reads everything; see nonroot.t
    run muster $four secret.py
    is "a script that cannot be read: 126" "$rc" 126
    ok "... is named" grep -q 'cannot read the script secret.py: Permission denied' err
fi
run muster -H node1:1 --cwd /no/such/place true
ok "no such directory: not 0" test "$rc" != 0
ok "... is named" grep -q /no/such/place err
run muster --json /no/such/place/end.json $four sh -c ': >ran'
is "no such directory for --json: 73" "$rc" 73
ok "... before anything is started" not test -e ran
}
finish
