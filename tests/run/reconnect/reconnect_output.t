#!/bin/sh
# A connection that breaks does not end a run: muster logs in again, and both ends continue where the
# other one is. Not a byte is lost, and none comes twice.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

use_sshd 2

wanted=$(seq 1 9000000 | sha256sum)
# Not all at once: it is to be on its way when the connection breaks.
script_file pours <<'END'
#!/bin/sh
for part in $(seq 0 89); do
    seq $((part * 100000 + 1)) $(((part + 1) * 100000))
    sleep 0.03
done
END
# shellcheck disable=SC2086
start muster exec --label none $patient -H node1 -- "$PWD/pours"
for mark in 3000000 12000000 40000000; do
    wait_for 20 has_grown $mark
    break_connection node1
done
finish_run 60
is "a connection killed three times in 70 MB of output: 0" "$rc" 0
ok "... it was made again" grep -q 'node1: reconnected after' err
ok "... and bytes were sent again" grep -q 'reconnected after .*, [1-9][0-9]* bytes sent again' err
ok "... all of it came, once" [ "$(sha256sum <out)" = "$wanted" ]
ok "... nothing is left" wait_for 5 nothing_left
finish
