#!/bin/sh
# A connection that breaks does not end a run: muster logs in again, and both ends continue where the
# other one is. Not a byte is lost, and none comes twice.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

use_sshd 2

wanted=$(seq 1 9000000 | sha256sum)
# Not all at once: some is on its way whenever the connection breaks. A third waits until it is wanted:
# on a busy machine all would have come before the test looks.
script_file pours <<'END'
#!/bin/sh
for part in $(seq 0 89); do
    case $part in
    30 | 60 | 89) until [ -e "${0%/*}/go.$part" ]; do sleep 0.03; done ;;
    esac
    seq $((part * 100000 + 1)) $(((part + 1) * 100000))
    sleep 0.03
done
END
# shellcheck disable=SC2086
start muster exec --label none $patient -H node1 -- "$PWD/pours"
# Its sshd is stopped first: what the agent has written since then has to be sent again. It may have
# written as much as it can before that is looked at.
agent_wrote() {
    sed -n 's/^wchar: //p' "/proc/$agent/io"
}
has_more_or_is_full() {
    now=$(agent_wrote)
    [ "$now" != "$last" ] || same=$((same + 1))
    last=$now
    [ "$now" -gt $((wrote + 20000)) ] || [ "$same" -ge 10 ]
}
for mark in 3000000:30 26000000:60 50000000:89; do
    wait_for 20 has_grown "${mark%:*}"
    agent=$(agents)
    kill -STOP "$(session_of node1)"
    wrote=$(agent_wrote) last='' same=0
    : >"go.${mark#*:}"
    wait_for 20 has_more_or_is_full
    break_connection node1
done
finish_run 60
is "a connection killed three times in 70 MB of output: 0" "$rc" 0
ok "... it was made again" grep -q 'node1: reconnected after' err
ok "... and bytes were sent again" grep -q 'reconnected after .*, [1-9][0-9]* bytes sent again' err
ok "... all of it came, once" [ "$(sha256sum <out)" = "$wanted" ]
ok "... nothing is left" wait_for 5 nothing_left
finish
