#!/bin/sh
# Row 71: what has the port of NCCL's RAS never answers, does not stop, or lies. The ranks are not
# disturbed, and the run ends as it would have.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# It ends well once it was asked for the second time.
cat >fake.py <<'END'
import os, socket, threading, time
kind = os.environ['FAULT']
host, port = os.environ['NCCL_RAS_ADDR'].split(':')
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind((host, int(port)))
server.listen(8)

def beat():  # a rank that is idle is another matter
    while True:
        print('heartbeat', flush=True)
        time.sleep(0.3)

threading.Thread(target=beat, daemon=True).start()
LIES = (b'{"communicators":[{"hash":"\\u001b[2J","size":2,"ranks":['
        b'{"rank":0,"host":"\\u001b]0;x\\u0007","pid":1,"cuda_dev":0,"collective_counts":{"\\u001b[31m":1}},'
        b'{"rank":2000000000,"pid":-5,"collective_counts":{"\\u001b[31m":9223372036854775807}}]}]}')
BODY = {'flood': b'{' + b'"x":' * (1 << 20), 'deep': b'{"a":' + b'[' * 1000000, 'lies': LIES,
        'none': b''}

def talk(connection):
    lines = connection.makefile('rwb')
    for line in lines:
        if kind == 'mute':
            continue
        if line == b'VERBOSE STATUS\n':
            lines.write(BODY[kind])
            while kind == 'flood':
                lines.write(BODY[kind])
            return lines.flush()
        lines.write(b'SERVER PROTOCOL 2\n' if line.startswith(b'CLIENT') else b'OK\n')
        lines.flush()

for asked in range(2):
    connection = server.accept()[0]
    try:
        talk(connection)
    except OSError:
        pass  # it has hung up
    connection.close()
END
rank_does <<'END'
exec python3 fake.py
END
control 1 --hang-timeout 4 -H node1:1 ./rank
for kind in mute flood deep lies none; do
    ran_reset
    run muster --dead-after 60 --hang-timeout 4 -H node1:1 --env FAULT=$kind ./rank
    is "$kind: 0" "$rc" 0
    ok "... and no rank is named" not grep -q 'NCCL' err
    ok "... nor does a terminal get anything" not grep -q "$(printf '\033')" out err
done
ended 0
finish
