#!/usr/bin/env python3
# journal_says.py - writes messages into a journal that the real journalctl reads
# SPDX-License-Identifier: Apache-2.0
"""Takes a directory, and for each message a line of standard input, as in
systemd's export format (JOURNAL_EXPORT_FORMATS) but for what is left out:

    journal_says.py DIR [--transport T] [--facility F] [--age S] [--boot ID] <messages

Each line is a message of the kernel that comes now, on this boot, if no option says otherwise.
systemd-journal-remote makes a file of a journal of them, as journald would."""

import argparse
import fcntl
import os
import struct
import subprocess
import sys
import time

REMOTE = '/lib/systemd/systemd-journal-remote'


def boot_id():
    with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as file:
        return file.read().strip().replace('-', '')


def field(name, value):
    """In the form for any bytes, line breaks as well."""
    return name.encode() + b'\n' + struct.pack('<Q', len(value)) + value + b'\n'


def entry(message, options):
    fields = [
        f'__REALTIME_TIMESTAMP={int((time.time() - options.age) * 1e6)}\n'.encode(),
        f'__MONOTONIC_TIMESTAMP={max(1, int((time.monotonic() - options.age) * 1e6))}\n'.encode(),
        f'_BOOT_ID={options.boot}\n_TRANSPORT={options.transport}\n'.encode(),
        f'SYSLOG_FACILITY={options.facility}\nPRIORITY=3\n'.encode(),
        field('MESSAGE', message),
    ]
    return b''.join(fields) + b'\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('dir')
    parser.add_argument('--transport', default='kernel')
    parser.add_argument('--facility', default='0')
    parser.add_argument('--age', type=float, default=0)
    parser.add_argument('--boot', default=boot_id())
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    messages = sys.stdin.buffer.read().splitlines()
    with open(options.dir + '.lock', 'w', encoding='ascii') as lock:  # a file has one writer
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([REMOTE, '-o', options.dir + '/system.journal', '-'],
                       input=b''.join(entry(message, options) for message in messages),
                       stderr=subprocess.DEVNULL, check=True)


main()
