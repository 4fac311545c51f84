#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""metrics_client.py - hostile clients of --metrics-listen, for metrics_hostile.t

    metrics_client.py PORT requests         garbage and odd requests: the status of each, a line each
    metrics_client.py PORT silent N [FILE]  N connections that say nothing, until FILE is there; prints
                                            how many the server has ended by then
    metrics_client.py PORT slow FILE        asks again and again without reading, until FILE is there
    metrics_client.py PORT many N           N requests on one connection: how many were answered
"""
import os
import socket
import sys
import time

PORT = int(sys.argv[1])
GET = b'GET /metrics HTTP/1.1\r\nHost: x\r\n'

# Name, bytes to send: what a server must answer is in metrics_hostile.t.
REQUESTS = [
    ('get', GET + b'\r\n'),
    ('get 1.0', b'GET /metrics HTTP/1.0\r\n\r\n'),
    ('query', b'GET /metrics?name=x HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('whole address', b'GET http://127.0.0.1/metrics HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('body of 4 KiB', b'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 4096\r\n\r\n' + b'x' * 4096),
    ('put', b'PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx'),
    ('delete', b'DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('options', b'OPTIONS /metrics HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\n\r\n'),
    ('root', b'GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('below', b'GET /metrics/ HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('traversal', b'GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('traversal of it', b'GET /metrics/../metrics HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('encoded', b'GET /%6detrics HTTP/1.1\r\nHost: x\r\n\r\n'),
    ('body too large', b'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n'),
    ('chunk too large', b'POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n'),
    ('negative length', b'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'),
    ('header too long', GET + b'X: ' + b'y' * 20000 + b'\r\n\r\n'),
    ('too many headers', GET + b'X: y\r\n' * 5000 + b'\r\n'),
    ('line too long', b'GET /' + b'x' * 20000 + b' HTTP/1.1\r\n\r\n'),
    ('no end of line', b'G' * 100000),
    ('no method', b'\r\n\r\n\r\n'),
    ('bytes', bytes(range(256)) * 40),
    ('zeros', b'\0' * 5000),
    ('TLS', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'\xaa' * 512),
    ('cut', b'GET /met'),
]


def connect():
    peer = socket.create_connection(('127.0.0.1', PORT), timeout=60)
    return peer


def answer(data):
    """The status with which it is answered; 'closed': none."""
    peer = connect()
    try:
        peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)
        head = b''
        while b'\r\n' not in head:
            more = peer.recv(4096)
            if not more:
                return 'closed'
            head += more
    except (ConnectionError, BrokenPipeError):
        return 'closed'
    return head.split()[1].decode()


def until(name):
    deadline = time.monotonic() + 300
    while not os.path.exists(name) and time.monotonic() < deadline:
        time.sleep(0.02)


def is_over(peer):
    peer.setblocking(False)
    try:
        return peer.recv(1) == b''
    except BlockingIOError:
        return False
    except OSError:
        return True


def silent(count, name):
    peers = [connect() for _ in range(count)]
    print('connected', flush=True)
    until(name)
    print(sum(is_over(peer) for peer in peers), flush=True)


def slow(name):
    peer = connect()
    peer.setblocking(False)
    sent = 0
    deadline = time.monotonic() + 300
    while not os.path.exists(name) and time.monotonic() < deadline:
        try:
            sent += peer.send((GET + b'\r\n') * 100)
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:
            break
    print(sent)


def many(count):
    peer = connect()
    got = b''
    for _ in range(count):
        peer.sendall(GET + b'\r\n')
    while got.count(b'HTTP/1.1 200') < count:
        more = peer.recv(1 << 20)
        if not more:
            break
        got += more
    print(got.count(b'HTTP/1.1 200'))


if sys.argv[2] == 'requests':
    for what, data in REQUESTS:
        print(f'{what}: {answer(data)}', flush=True)
elif sys.argv[2] == 'silent':
    silent(int(sys.argv[3]), sys.argv[4])
elif sys.argv[2] == 'slow':
    slow(sys.argv[3])
else:
    many(int(sys.argv[3]))
