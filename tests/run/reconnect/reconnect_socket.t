#!/bin/sh
# The agent's reconnect socket lets in who has the run's token, and nobody else.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

use_sshd 2

ticks_until_go

start muster exec --label none -H node1 -- "$PWD/ticks"
wait_for 20 has_grown 10
socket=$(socket_of "$(agents)")
script_file ask <<'END'
#!/usr/bin/env python3
# ask SOCKET TOKEN: what an agent says to a RECONNECT.
import json, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect('\0' + sys.argv[1])
body = json.dumps({'socket': sys.argv[1], 'token': sys.argv[2], 'received': 0}).encode()
try:
    s.sendall(struct.pack('>IBBHII', len(body), 26, 0, 0, 1, 0) + body)
    print(s.recv(4096)[16:].decode())
except (BrokenPipeError, ConnectionResetError):
    pass
END
ok "the agent's reconnect socket has a name" test -n "$socket"
ok "a wrong token is refused" sh -c \
    "./ask '$socket' 00112233445566778899aabbccddeeff | grep -q 'wrong token for this run'"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    is "another user is turned away unheard" "$(setpriv --reuid 65534 --clear-groups \
        python3 - "$socket" token <ask)" ""
else
    skip "another user is turned away unheard" "needs root and setpriv"
fi
ok "the token is in no process's arguments or environment" not grep -lqz '"token"' \
    "/proc/$(agents)/cmdline" "/proc/$(agents)/environ"
: >go
finish_run 20
is "... and the run continues: 0" "$rc" 0
finish
