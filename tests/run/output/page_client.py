#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_client.py - clients of the page of a run, for page.t

    page_client.py PORT stream FILE      the messages of /events, a line each, until FILE is there or
                                         the stream ends: then the last line is "end"
    page_client.py PORT many N FILE      N streams: when all were asked for, prints how many have got
                                         a message; when FILE is there, how many have not ended
    page_client.py PORT deaf FILE        a stream that is never read, until FILE is there; prints when
                                         it was asked for
    page_client.py PORT size SECONDS     bytes of the page with its first message, and then in the
                                         busiest second: "BYTES BYTES"
"""
import json
import os
import socket
import sys
import time

PORT = int(sys.argv[1])
DEADLINE_S = 300


def ask(path, receive=None):
    peer = socket.socket()
    if receive:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    peer.settimeout(60)
    peer.connect(('127.0.0.1', PORT))
    peer.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost:{PORT}\r\n\r\n'.encode())
    return peer


def until(name):
    deadline = time.monotonic() + DEADLINE_S
    while not os.path.exists(name) and time.monotonic() < deadline:
        time.sleep(0.02)


def stream(name):
    """In each chunk is one event."""
    peer = ask('/events')
    peer.settimeout(0.05)
    rest = b''
    deadline = time.monotonic() + DEADLINE_S
    while not os.path.exists(name) and time.monotonic() < deadline:
        try:
            more = peer.recv(1 << 16)
        except socket.timeout:
            continue
        rest += more
        while b'\n\n' in rest:
            event, rest = rest.split(b'\n\n', 1)
            text = event.split(b'data: ', 1)
            print(json.dumps(json.loads(text[1])) if len(text) > 1 else 'alive', flush=True)
        if not more or rest.endswith(b'0\r\n\r\n'):
            print('end', flush=True)
            return


def has_message(peer):
    text, more = b'', b'?'
    try:
        while more and b'data: ' not in text:
            more = peer.recv(1 << 16)
            text += more
    except OSError:
        pass
    return b'data: ' in text


def many(count, name):
    peers = []
    for _ in range(count):
        peers.append(ask('/events'))
    print(sum(has_message(peer) for peer in peers), flush=True)
    until(name)
    left = 0
    for peer in peers:
        peer.settimeout(0.01)
        try:
            while peer.recv(1 << 16):
                pass
        except socket.timeout:
            left += 1
        except OSError:
            pass
    print(left, flush=True)


def whole(path):
    peer = ask(path)
    text = b''
    while b'\r\n\r\n' not in text:
        text += peer.recv(1 << 16)
    head, body = text.split(b'\r\n\r\n', 1)
    length = int([line.split(b':')[1] for line in head.split(b'\r\n')
                  if line.lower().startswith(b'content-length')][0])
    while len(body) < length:
        body += peer.recv(1 << 16)
    return len(head) + 4 + length


def size(seconds):
    first = sum(whole(path) for path in ('/', '/page.css', '/page.js', '/run.json'))
    peer = ask('/events')
    text = b''
    while b'\n\n' not in text:
        text += peer.recv(1 << 16)
    busiest = 0
    for _ in range(seconds):
        got, end = 0, time.monotonic() + 1
        while time.monotonic() < end:
            peer.settimeout(max(end - time.monotonic(), 0.001))
            try:
                got += len(peer.recv(1 << 16))
            except socket.timeout:
                break
        busiest = max(busiest, got)
    print(first, busiest)


if sys.argv[2] == 'stream':
    stream(sys.argv[3])
elif sys.argv[2] == 'many':
    many(int(sys.argv[3]), sys.argv[4])
elif sys.argv[2] == 'size':
    size(int(sys.argv[3]))
else:
    kept = ask('/events', 1024)
    print('asked', flush=True)
    until(sys.argv[3])
