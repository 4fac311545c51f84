#!/bin/sh
# --json writes a document that is whole, or muster says that it is not.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

two="-H node1:1,node2:1"
echo x >numbers
# shellcheck disable=SC2086
{
# The document goes where the output goes, behind all of it.
run muster $two --label none --json - sh -c 'echo "{"'
is "--json -: first what the ranks say" "$(head -n 2 out)" "{
{"
sed 1,2d out >end.json
is "... then the document" "$(json end.json '[r["code"] for r in d["results"]]')" "[0, 0]"
ok "... and no file of that name" test ! -e -
run sh -c "muster $two --json - true >/dev/full"
is "--json - on a full disk: 74" "$rc" 74
ok "... and why" grep -q -e '--json -: No space left on device' err
run muster $two --json /dev/full true
is "--json FILE on a full disk: 74" "$rc" 74
ok "... and why" grep -q -e '--json /dev/full: No space left on device' err
for command in "clean -H node1:1" "bcast -H node1:1 --to $PWD/to numbers" status; do
    run muster $command --json -
    ok "${command%% *} --json -: the document and nothing else" python3 -m json.tool out /dev/null
done
}
finish
