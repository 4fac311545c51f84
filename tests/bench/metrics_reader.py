"""metrics_reader.py SOCKET RATE - ask for the metrics RATE times a second until the run has ended

Prints how many answers came a second, from the first to the last. Each must be whole.
SPDX-License-Identifier: Apache-2.0
"""
import socket
import sys
import time

QUESTION = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connect(path, until):
    while True:
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(path)
            return link
        except OSError:
            link.close()
            if time.monotonic() > until:
                sys.exit("metrics_reader: no run serves " + path)
            time.sleep(0.005)


def ask(link):
    """True: a whole answer has come. False: the run has ended."""
    try:
        link.sendall(QUESTION)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += read(link)
        head, body = answer.split(b"\r\n\r\n", 1)
        if b" 200 " not in head.split(b"\r\n")[0]:
            sys.exit("metrics_reader: " + repr(head))
        size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < size:
            body += read(link)
        return True
    except (BrokenPipeError, ConnectionResetError):
        return False


def read(link):
    more = link.recv(1 << 20)
    if not more:
        raise ConnectionResetError
    return more


def main(path, rate):
    link = connect(path, time.monotonic() + 60)
    begin = last = time.monotonic()
    count = 0
    while ask(link):
        count += 1
        last = time.monotonic()
        time.sleep(max(begin + count / rate - last, 0))
    print("%.1f" % (count / max(last - begin, 1e-9)))


main(sys.argv[1], float(sys.argv[2]))
