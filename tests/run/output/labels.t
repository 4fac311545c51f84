#!/bin/sh
# Each line has the label of its rank, and is else as the rank wrote it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

two="-H node1:1,node2:1"
# shellcheck disable=SC2086
{
run muster $two sh -c 'echo out; echo err >&2'
is "the label is host and rank" "$(sort out | tr '\n' ' ')" "node1:0: out node2:1: out "
is "stderr goes to stderr" "$(complaints | sort | tr '\n' ' ')" "node1:0: err node2:1: err "
run muster $two --label host sh -c 'echo x'
is "--label host" "$(sort out | tr '\n' ' ')" "node1: x node2: x "
run muster $two --label rank sh -c 'echo x'
ok "--label rank" grep -q '^\[1\] x$' out
run muster $two --label none sh -c 'echo x'
is "--label none" "$(cat out)" "x
x"
run muster $two --show-ranks 1 sh -c 'echo rank $RANK'
is "--show-ranks" "$(cat out)" "node2:1: rank 1"
run muster $two --timestamps --show-ranks 0 sh -c 'echo x'
ok "--timestamps" grep -Eq '[0-9][0-9]:[0-9][0-9]:[0-9][0-9].*x$' out
run muster $two printf 'no newline'
is "a last line without newline gets one" "$(sort out | tr '\n' '|')" \
    "node1:0: no newline|node2:1: no newline|"
run muster -H node1:1 --label none python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(256)) * 100)'
python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(256)) * 100)' >wanted
ok "any bytes, unlabelled, are exactly the rank's" cmp out wanted
run muster $two sh -c 'printf "1%%\r"; printf "2%%\r"; echo done'
ok "a progress bar's redraws are kept" grep -q '2%' out
is "progress lines of muster are only for terminals" "$(grep -c connecting err)" 0
}
finish
