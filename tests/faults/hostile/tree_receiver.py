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

def failed(number, text='no', tree=0):
    send(34, {'tree': tree, 'entry': number, 'what': 'write', 'text': text})

def need(*chunk):
    send(40, struct.pack('>III', *chunk))

def have(rows):
    send(41, struct.pack('>QQQQ', rows, 0, 0, 0))

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
        send(34, {'tree': 0, 'what': 'write', 'text': 'no'})
    elif kind == 'fails-no-tree':
        failed(1, tree=7)
    elif kind == 'needs-no-such':
        need(0, 1000000, 0)
    elif kind == 'needs-no-tree':
        need(7, 1, 0)
    elif kind == 'needs-directory':
        need(0, 0, 0)
    elif kind == 'needs-unspoken':
        need(0, 3, 7)
    elif kind == 'needs-part':
        send(40, b'123')
    elif kind == 'needs-without-end':
        wanted(3)
        for i in range(100):
            send(40, struct.pack('>III', 0, 3, 0) * 1000)
    elif kind == 'has-unsent':
        have(1)
    elif kind == 'has-part':
        send(41, b'123')
    elif kind == 'listens-nowhere':
        send(42, {'link': 1, 'addr': '10.0.0.1', 'port': 0})
    elif kind == 'linked-no-number':
        send(44, {'link': 'x'})
    elif kind == 'floods':
        for i in range(200):
            failed(i % 4, '\x1b[2J\n' + 'x' * 1000000 + str(i))
        send(31, b'123')
