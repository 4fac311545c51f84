#!/bin/sh
# Row 67: a node that does not keep to the protocol: garbage, frames that are too large or too early,
# of ranks that are not its own, answers twice, floods. It is dropped at once and named; memory
# stays bounded; the others are stopped in order.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# It takes the real agent's place on one of the two nodes.
cat >fake.py <<'END'
#!/usr/bin/env python3
import json, os, socket, struct, sys, time
TYPES = ('- HELLO PROBE PROBED BLOB PLAN READY GO STARTED OUTPUT CREDIT EXIT KVS ABORT '
         'SIGNAL STOP PING PONG ERROR DONE CLEAN CLEANED IDLE STACKS STACKED ACK').split()
kind = os.environ['FAKE']
pipe = socket.socket(fileno=os.dup(0))
current = 0  # generation

def read_exactly(size):
    data = b''
    while len(data) < size:
        got = pipe.recv(size - len(data))
        if not got:
            sys.exit(0)
        data += got
    return data

def send(name, body=b'', rank=0, stream=0, generation=None):
    generation = current if generation is None else generation
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    number = TYPES.index(name) if name in TYPES else int(name)
    pipe.sendall(struct.pack('>IBBHII', len(body), number, stream, 0, generation, rank) + body)

def wait_for(name):
    global current
    while True:
        size, number, _, _, current, _ = struct.unpack('>IBBHII', read_exactly(16))
        body = read_exactly(size)
        came = TYPES[number] if number < len(TYPES) else 'a newer one'
        if came == name:
            return body
        if name != 'nothing' and came == 'PROBE':
            probe(json.loads(body))

def probe(ask):
    if ask['op'] == 'peers':
        send('PROBED', {'op': 'peers', 'unreached': [{'node': 7, 'why': '\x1b[2J'}] * 9})
    elif ask['op'] == 'connect':
        send('PROBED', {'op': 'connect',
                        'reached': [{'addr': a, 'if': 'lo'} for a in ask['addresses']]})
    else:
        send('PROBED', {'op': ask['op'], 'port': 29500})

def flood(*frame, **more):
    try:
        while True:
            send(*frame, **more)
    except OSError:
        sys.exit(0)

def pings():
    """Four million of them, the answers unread."""
    ping = struct.pack('>IBBHIIQ', 8, TYPES.index('PING'), 0, 0, current, 0, 1)
    for _ in range(100):
        pipe.sendall(ping * 43690)
    sys.exit(0)

pipe.sendall(sys.argv[2].encode() + b'\n')
if kind == 'garbage':
    pipe.sendall(os.urandom(4096))
elif kind == 'oversized':
    pipe.sendall(struct.pack('>IBBHII', 1 << 30, 1, 0, 0, 0, 0))
elif kind == 'not-json':
    send('HELLO', b'\xff{{{')
elif kind == 'deep-json':
    send('HELLO', b'[' * 500000)
elif kind == 'too-early':
    send('EXIT', {'code': 0})
else:
    send('HELLO', {'protocol': 99 if kind == 'other-version' else 2, 'version': '0', 'host': 'fake',
                   'now_ns': time.monotonic_ns(), 'addresses': [{'if': 'lo', 'addr': '127.0.0.1',
                                                                 'loopback': True}]})
    if kind == 'early-pings':
        pings()
    body = json.loads(wait_for('PLAN'))
    rank = body['ranks'][0]['rank']
    send('READY', {'containment': '\x1b[2J\x07evil'})
    wait_for('GO')
    send('STARTED', {'pid': 1, 'at_ns': time.monotonic_ns()}, rank=rank)
    if kind == 'other-rank':
        send('EXIT', {'code': 0, 'at_ns': 1}, rank=1 - rank)
    elif kind == 'no-such-rank':
        send('EXIT', {'code': 0, 'at_ns': 1}, rank=4000000000)
    elif kind == 'exit-twice':
        send('EXIT', {'code': 0, 'at_ns': 1}, rank=rank)
        send('EXIT', {'code': 0, 'at_ns': 1}, rank=rank)
    elif kind == 'launchers-frame':
        send('GO')
    elif kind == 'no-such-type':
        send('200')
    elif kind == 'early-done':
        send('DONE', {'left': 0, 'killed': 0, 'lost_bytes': 0})
    elif kind == 'false-pairs':
        send('IDLE', {'idle_s': 1e6})
        wait_for('STOP')
    elif kind == 'flood':
        flood('OUTPUT', b'x' * (1 << 20), rank=rank, stream=1)
    elif kind == 'pings':
        pings()
    elif kind == 'never-done':
        while True:
            send('PING', bytes(8))
            time.sleep(0.2)
    elif kind == 'long-errors':
        for one in body['ranks']:
            send('EXIT', {'code': 1, 'at_ns': time.monotonic_ns(), 'error': 'x' * 1000000},
                 rank=one['rank'])
        send('DONE', {'left': 0, 'killed': 0, 'lost_bytes': 0})
        sys.exit(0)
    elif kind in ('stays-exit', 'stays-done'):
        send('EXIT', {'code': 7, 'at_ns': time.monotonic_ns()}, rank=rank)
        for name in 'stdout', 'stderr':
            send('OUTPUT', b'', rank=rank, stream=1 + (name == 'stderr'))
        send('DONE', {'left': 0, 'killed': 0, 'lost_bytes': 0, 'stays': True})
        current += 1
        if kind == 'stays-exit':
            send('EXIT', {'code': 0, 'at_ns': 1}, rank=rank)
        else:
            send('DONE', {'left': 0, 'killed': 0, 'lost_bytes': 0, 'stays': True})
    elif kind == 'old-generation':
        for _ in range(1000):
            send('EXIT', {'code': 9, 'at_ns': 1}, rank=rank, generation=77)
        send('EXIT', {'code': 5, 'at_ns': time.monotonic_ns(),
                      'error': '\x1b]0;title\x07 no newline'}, rank=rank)
        send('DONE', {'left': 0, 'killed': 0, 'lost_bytes': 0})
        sys.exit(0)
wait_for('nothing')
END
script_file agent <<END
#!/bin/sh
# One real agent and one that is not.
if mkdir "$PWD/first" 2>/dev/null; then
    exec python3 "$PWD/fake.py" "\$@"
fi
exec "$top_builddir/agent/muster-agent" "\$@"
END
ranks_sleep
control 2 -H node1:1,node2:1 ./rank
# is_one_of WORD LIST
is_one_of() {
    case " $2 " in *" $1 "*) ;; *) return 1 ;; esac
}
# try CODES SECONDS KIND OPTIONS...: muster's peak memory is counted. With READER=slow its standard
# output is read at some megabytes per second.
try() {
    code=$1
    limit=$2
    kind=$3
    shift 3
    rm -rf first
    rm -f peak
    ran_reset
    began=$(now_ms)
    run env FAKE="$kind" python3 -c '
import os, resource, subprocess, sys, time
slow = "READER" in os.environ
muster = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE if slow else None)
while slow and os.read(muster.stdout.fileno(), 1 << 16):
    time.sleep(0.01)
rc = muster.wait()
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(rc if rc >= 0 else 128 - rc)' muster --json end.json --agent ./agent --grace 1 \
        --master_addr 127.0.0.1 --env FAULT=yes -H node1:1,node2:1 "$@" ./rank
    now_ms >ended_ms
    ok "$kind: exit status $code" is_one_of "$rc" "$code" || echo "# it is $rc"
    within "... muster returns" "$limit" "$began"
    ok "... the node is named" grep -Eq 'node[12]' err
    at_most "... memory" 98304 "$(cat peak)"
    ok "... and nothing of it goes to the terminal" not grep -q "$(printf '[\033\007]')" err
    ok "... nothing is left" clean_within 5
}
for kind in garbage oversized not-json deep-json too-early other-version other-rank no-such-rank \
    exit-twice launchers-frame no-such-type early-done; do
    try 76 2 "$kind"
done
# More output than it has credit for, which shows as soon as muster cannot write as fast as it comes.
export READER=slow
try 76 5 flood
unset READER
# It pings and never reads: the answers to all that would take gigabytes. Or it is too slow for that,
# on a busy machine, and has not answered a probe.
try "69 75" 20 early-pings
try 69 20 pings --reconnect 0
# Each of its ranks fails for reasons of a megabyte.
try 1 20 long-errors -H node1:200
ok "... the report is short" test "$(wc -c <err)" -lt 8000
# What it says of the others when all hang; the hang came first.
try 124 15 false-pairs --hang-timeout 1 --heartbeat 0.2
ok "... it is dropped for that" grep -q 'PROBED frame does not answer the request' err
# It is alive, but deaf to STACKS, for 15 s, and to STOP.
try 124 40 never-done --timeout 0.5
ok "... it is said that something may be left" grep -Eq \
    'stopping +the agent did not confirm that all processes are gone' err
ok "... and what ends it" grep -q 'hint: .*muster clean --kill kills it' err
# It stays for the next generation, and goes on talking: that may come before or after the end of
# this one.
for kind in stays-exit stays-done; do
    try 75 10 "$kind" --max-restarts 1 --max-wait 1
    ok "... and there is no restart" grep -q 'is missing, and no node took its place' err
done
# Frames of another generation are as if they had not come.
try 5 2 old-generation
finish
