#!/usr/bin/env python3
# tree_receiver.py - plays an agent that receives a bcast, and does what $FAKE names
# SPDX-License-Identifier: Apache-2.0
import json, os, struct, sys, time
kind = os.environ['FAKE']

def send(number, body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    sys.stdout.buffer.write(struct.pack('>IBBHII', len(body), number, 0, 0, 1, 0) + body)
    sys.stdout.buffer.flush()

def wanted(*numbers):
    send(31, b''.join(struct.pack('>I', number) for number in numbers))

def failed(number, text='no'):
    send(34, {'entry': number, 'what': 'write', 'text': text})

print(sys.argv[2], flush=True)
send(1, {'protocol': 2, 'now_ns': time.monotonic_ns()})
while len(head := sys.stdin.buffer.read(16)) == 16:
    size, number = struct.unpack('>IB', head[:5])
    body = sys.stdin.buffer.read(size)
    if number != 30:
        continue
    if kind == 'wants-no-such':
        wanted(1000000)
    elif kind == 'wants-directory':
        wanted(0)
    elif kind == 'wants-twice':
        wanted(3, 3)
    elif kind == 'wants-backwards':
        wanted(3, 2)
    elif kind == 'wants-unasked':
        wanted()
        wanted()
    elif kind == 'wants-part':
        send(31, b'123')
    elif kind == 'much-credit':
        send(10, struct.pack('>I', size + 1))
    elif kind == 'no-credit':
        send(10, b'')
    elif kind == 'fails-no-such':
        failed(1000000)
    elif kind == 'fails-no-number':
        send(34, {'what': 'write', 'text': 'no'})
    elif kind == 'floods':
        for i in range(200):
            failed(i % 4, '\x1b[2J\n' + 'x' * 1000000 + str(i))
        send(31, b'123')
