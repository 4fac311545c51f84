#!/bin/sh
# The promise holds for an ordinary user too, where containment needs a user namespace: some
# of the scripts again, as somebody else.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need user
user=65534

# The build may be in a place that nobody else can read.
for file in launcher/muster agent/muster-agent tests/run/agent/muster-agent tests/run/env/echo_args; do
    mkdir -p "$tmp/copy/$(dirname "$file")"
    cp "$top_builddir/$file" "$tmp/copy/$file"
done
cp -r "$here"/*.sh "$here/end" "$here/commands" "$here/env" "$tmp/copy/tests/run/"
mkdir "$tmp/scratch"
chmod 755 "$tmp"
chown "$user" "$tmp/scratch"

run_limit=240
for script in end/failure commands/exec env/env; do
    run env top_srcdir="$tmp/copy" top_builddir="$tmp/copy" TMPDIR="$tmp/scratch" \
        setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
        sh "$tmp/copy/tests/run/$script.t"
    ok "$script.t as an ordinary user" test "$rc" = 0 || grep -A 8 '^not ok' out | sed 's/^/# /'
done
finish
