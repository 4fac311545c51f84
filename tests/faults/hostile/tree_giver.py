#!/usr/bin/env python3
# tree_giver.py - plays an agent from which muster collects files, and does what $FAKE names
# SPDX-License-Identifier: Apache-2.0
import hashlib, json, os, struct, sys, time
kind = os.environ['FAKE']

def send(number, body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    sys.stdout.buffer.write(struct.pack('>IBBHII', len(body), number, 0, 0, 1, 0) + body)
    sys.stdout.buffer.flush()

def entry(kind, path, mode=0o644, size=0, target=b''):
    path, target = os.fsencode(path), os.fsencode(target)
    return struct.pack('>B3xIQqIHH', ord(kind), mode, size, 5, 0, len(path),
                       len(target)) + path + target

def row(number=0, body=b'evil', index=0):
    return struct.pack('>III', 0, number, index) + hashlib.sha256(body).digest()

top = entry('d', 'src', 0o755)
entries = {
    'absolute': [entry('f', os.getcwd() + '/outside/new')],
    'dots': [entry('f', '../outside/new')],
    'dots-below': [top, entry('f', 'src/../../outside/new')],
    'below-a-sent-link': [top, entry('l', 'src/new', target='..'), entry('f', 'src/new/f')],
    'below-nothing': [entry('f', 'new/f')],
    'leaving-link': [top, entry('l', 'src/new', target='../../outside')],
    'device': [entry('c', 'new')],
    'mode': [entry('f', 'new', mode=0o104755)],
    'cut': [entry('f', 'new')[:-1]],
    # links that are there: they lead to the outside
    'dir-is-link': [entry('d', 'link'), entry('f', 'link/f', size=4)],
    'file-is-link': [entry('f', 'link', size=4)],
}.get(kind, [top, entry('f', 'src/f', mode=0o4777, size=4)])
last = len(entries) - 1

def sums():
    send(39, {'sum-of-another': row(1000000), 'sum-not-next': row(last, index=1),
              'sums-unasked': row(last) * 2, 'sum-cut': row(last)[:-1]}.get(kind, row(last)))

def contents():
    if kind == 'data-alone':
        send(33, b'evil')
        send(33, b'evil')
    send(32, struct.pack('>III', 0, 1000000 if kind == 'file-unknown' else last, 0))
    send(33, {'file-too-long': b'evil!', 'other-contents': b'good',
              'file-gone': b''}.get(kind, b'evil'))

def note(word):
    """For the test: in which order things happen."""
    with open('order', 'a') as order:
        order.write(word + '\n')

def wait_for_answer():
    """What others have said before this is taken by muster before this ends."""
    send(16, struct.pack('>Q', 0))
    while True:
        size, number = struct.unpack('>IB', sys.stdin.buffer.read(16)[:5])
        sys.stdin.buffer.read(size)
        if number == 17:
            return

def wait_for_other():
    """Another node logs in before the last of our lists is sent."""
    note('last')
    while not os.path.exists('other'):
        time.sleep(0.01)
    for i in range(2):
        wait_for_answer()
    note('end')

print(sys.argv[2], flush=True)
send(1, {'protocol': 2, 'now_ns': time.monotonic_ns()})
lists = 0
while len(head := sys.stdin.buffer.read(16)) == 16:
    size, number = struct.unpack('>IB', head[:5])
    body = sys.stdin.buffer.read(size)
    if number == 46:
        lists += 1
        if kind == 'late-end' and lists == 3:
            wait_for_other()
        send(30, b''.join(entries) if lists == 1 else b'')
        if kind == 'list-unasked' and lists == 2:
            send(30, b'')
    elif number == 47:
        sums()
    elif number == 40:
        contents()
    elif number == 15:
        send(19, {'left': 0})
        break
    if number == 45 and kind == 'wants':
        send(31, b'\0\0\0\0')
    if number == 45 and kind == 'fails-silently':
        send(34, {})
    if number == 45 and kind == 'floods':
        for i in range(200):
            send(34, {'text': '\x1b[2J\n' + 'x' * 1000000 + str(i)})
        send(31, b'123')
