#!/usr/bin/env python3
# oracle.py - what a run has left: one line for each thing, nothing when all is well
#
# It knows nothing of muster but the names of its logs. In a world of its own (--world own)
# nothing may be there that the script did not put there; otherwise only what carries the tag
# can be told from what belongs to others.
# SPDX-License-Identifier: Apache-2.0
"""Look for what outlived a run."""

import argparse
import os
import re

# Logs, and the agent, which stays on a node by design.
KEPT = re.compile(r'/muster(-[a-z]+)?/[0-9a-f]{64}/muster-agent$|/\.local/state/muster/runs/')
# What the scripts themselves put into a home.
GIVEN = ('.bashrc', '.deepspeed_env')
WORLD_DIRS = ('/tmp', '/var/tmp', '/dev/shm', '/run')
WORLD_OWN = ('/run/world', '/run/netns', '/run/sshd')
TCP_LISTEN, UNIX_LISTEN = '0A', 0x10000


class Process:
    def __init__(self, pid):
        self.pid = pid
        stat = read(f'/proc/{pid}/stat').rsplit(b')', 1)[-1].split()
        self.is_alive = len(stat) > 1 and stat[0] not in (b'Z', b'X')
        self.parent = int(stat[1]) if self.is_alive else 0
        self.command = read(f'/proc/{pid}/cmdline')
        self.environ = read(f'/proc/{pid}/environ').split(b'\0')

    def has_tag(self, tag):
        return tag in self.command or b'MUSTER_TEST_TAG=' + tag in self.environ

    def __str__(self):
        words = self.command.replace(b'\0', b' ') or read(f'/proc/{self.pid}/comm')
        return f'process {self.pid} ({words.decode(errors="replace").strip()[:100]})'


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except OSError:
        return b''


def processes():
    every = (Process(int(entry)) for entry in os.listdir('/proc') if entry.isdigit())
    return {process.pid: process for process in every if process.is_alive}


def ancestors(pid, table):
    """Of pid, which is the first of them."""
    while pid in table:
        yield pid
        pid = table[pid].parent


def left_processes(args, table):
    own = set(ancestors(os.getpid(), table)) | set(args.sshd)
    for process in table.values():
        if process.pid in own or set(ancestors(process.pid, table)) & set(args.pid):
            continue
        if args.world == 'own' or process.has_tag(args.tag.encode()):
            yield process


def socket_inodes(pids):
    for pid in pids:
        try:
            links = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
        except OSError:
            continue
        yield from (link[8:-1] for link in links if link.startswith('socket:['))


def left_sockets(args, table):
    """Listening sockets in every network namespace of the world."""
    allowed = set(socket_inodes(pid for pid in table if
                                set(ancestors(pid, table)) & set(args.pid + args.sshd)))
    seen = set()
    for pid in table:
        try:
            space = os.readlink(f'/proc/{pid}/ns/net')
        except OSError:
            continue
        if space not in seen:
            seen.add(space)
            yield from listening(f'/proc/{pid}/net', allowed)


def listening(net, allowed):
    for kind in ('tcp', 'tcp6'):
        for line in read(f'{net}/{kind}').decode().splitlines()[1:]:
            field = line.split()
            if field[3] == TCP_LISTEN and field[9] not in allowed:
                yield f'{kind} socket that listens on port {int(field[1].split(":")[1], 16)}'
    for line in read(f'{net}/unix').decode(errors='replace').splitlines()[1:]:
        field = line.split()
        if int(field[3], 16) & UNIX_LISTEN and field[6] not in allowed:
            yield f'unix socket that listens: {" ".join(field[7:])}'


def files_below(directory, skip=()):
    for where, directories, files in os.walk(directory):
        paths = {name: os.path.join(where, name) for name in directories}
        directories[:] = [name for name, path in paths.items()
                          if path not in skip and not os.path.ismount(path)]
        yield from (os.path.join(where, name) for name in files)


def left_files(args):
    homes, nodes = [args.home], os.path.join(os.path.dirname(args.home), 'nodes')
    if os.path.isdir(nodes):
        homes += [os.path.join(nodes, node, 'home') for node in os.listdir(nodes)]
    for home in homes:
        for path in files_below(home):
            if not KEPT.search(path) and os.path.relpath(path, home) not in GIVEN:
                yield f'file {path}'
    for directory in WORLD_DIRS if args.world == 'own' else ():
        for path in files_below(directory, WORLD_OWN):
            if not KEPT.search(path):
                yield f'file {path}'
    for group in args.groups.split():
        for name in next(os.walk(group), (None, []))[1]:
            yield f'control group {group}/{name}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--prefix', default='')
    parser.add_argument('--tag', required=True)
    parser.add_argument('--world', required=True)
    parser.add_argument('--home', required=True)
    parser.add_argument('--groups', default='')
    parser.add_argument('--sshd', default=[],
                        type=lambda text: [int(word) for word in text.split()])
    parser.add_argument('pid', type=int, nargs='*', help="the script's own")
    args = parser.parse_args()
    table = processes()
    found = [*left_processes(args, table), *left_files(args)]
    if args.world == 'own':
        found += left_sockets(args, table)
    for thing in found:
        print(f'{args.prefix}{thing}')


main()
