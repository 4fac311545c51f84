# cluster.py - the nodes of elastic: namespaces with a real sshd, whose power and links can fail
# SPDX-License-Identifier: Apache-2.0
"""Nodes, what runs on them, and what becomes of them."""

import os
import signal
import subprocess
import threading
import time

NODES_OF_A_SCHEDULE = 4
FIRST_LEASE_S = 40  # of an agent before it has its PLAN, instead of 300
SPOT_S = 0.2  # between two questions of an agent to its cloud


class Process:
    """One that runs on a node."""

    def __init__(self, pid):
        self.pid = pid
        with open(f'/proc/{pid}/environ', 'rb') as file:
            self.environ = file.read().split(b'\0')
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            self.command = file.read().replace(b'\0', b' ').decode(errors='replace').strip()

    def value(self, name):
        mark = name.encode() + b'='
        return next((entry[len(mark):].decode(errors='replace') for entry in self.environ
                     if entry.startswith(mark)), None)

    def is_agent(self):
        """Or its guard. The login shell that is to become one has that name later in its command."""
        return os.path.basename(self.command.split(' ')[0]) == 'muster-agent'


class Node:
    def __init__(self, cluster, number):
        self.cluster, self.number, self.name = cluster, number, f'node{number}'
        self.address = f'10.99.{number // 250}.{number % 250 + 1}'
        self.has_power, self.has_link, self.was_cut = True, True, False
        self.network = os.stat(f'/run/netns/{self.name}').st_ino

    def pids(self):
        """All but zombies, which have no namespaces any more."""
        found = []
        for entry in os.listdir('/proc'):
            try:
                if entry.isdigit() and os.stat(f'/proc/{entry}/ns/net').st_ino == self.network:
                    found.append(int(entry))
            except OSError:
                continue
        return found

    def processes(self):
        found = []
        for pid in self.pids():
            try:
                found.append(Process(pid))
            except OSError:
                continue
        return found

    def agents(self):
        return [process for process in self.processes() if process.is_agent()]

    def left(self):
        return [f'{self.name}: {process.pid} {process.command[-80:]}' for process in self.strangers()]

    def left_of_run(self):
        """The same, but for an agent alone: no guard and no rank of it."""
        strangers = self.strangers()
        is_alone = self.was_cut and len(strangers) == 1 and strangers[0].is_agent()
        return [] if is_alone else self.left()

    def strangers(self):
        """What is there that is not there when nobody uses the node. If it was cut off, its sshd
        still believes in a connection."""
        return [process for process in self.processes() if process.pid != self.sshd() and
                not (self.was_cut and process.command.startswith('sshd'))]

    def sshd(self):
        with open(os.path.join(self.cluster.where, self.name, 'pid'), encoding='utf-8') as file:
            return int(file.read())

    def link(self, is_up):
        self.has_link = is_up
        self.was_cut = True
        subprocess.run(['ip', 'link', 'set', f'port{self.number}', 'up' if is_up else 'down'],
                       check=True)

    def power_off(self):
        """Nothing of it says goodbye."""
        self.link(False)
        self.has_power = False
        while pids := self.pids():
            for pid in pids:
                kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def is_there(self):
        return self.has_power and self.has_link

    def bring_back(self):
        if not self.has_power:
            self.cluster.ask(f'{self.name} {self.number}')
            self.has_power = True
        if not self.has_link:
            self.link(True)


class Cluster:
    """nodes.sh makes the nodes, starts an sshd again when it is told to, and ends them all when
    its input does."""

    def __init__(self, top, where, count, tag):
        self.where, self.lock = where, threading.Lock()
        for number in range(1, count + 1):
            home = os.path.join(where, f'node{number}')
            os.makedirs(home)
            with open(home + '/sshd_extra', 'w', encoding='utf-8') as file:
                file.write(f'SetEnv HOME={home}/home MUSTER_TEST_TAG={tag} '
                           f'MUSTER_TEST_SPOT_S={SPOT_S} '
                           f'MUSTER_TEST_FIRST_LEASE_S={FIRST_LEASE_S}\n')
        script = (f'nodes_dir={where} nodes_tag={tag}; . {top}/tests/run/nodes.sh; '
                  f'trap nodes_stop EXIT; netns_nodes {count} && echo ready && '
                  'while read -r name number; do '
                  'node_start_in_namespace "$name" "$(node_address "$number")"; echo ready; done')
        self.shell = subprocess.Popen(['sh', '-c', script], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.await_ready()
        self.nodes = [Node(self, number) for number in range(1, count + 1)]

    def await_ready(self):
        if self.shell.stdout.readline() != 'ready\n':
            raise SystemExit('elastic: the nodes do not start')

    def ask(self, line):
        with self.lock:
            self.shell.stdin.write(line + '\n')
            self.shell.stdin.flush()
            self.await_ready()

    def stop(self):
        self.shell.communicate()

    def set(self, number):
        first = number * NODES_OF_A_SCHEDULE
        return self.nodes[first:first + NODES_OF_A_SCHEDULE]


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # the one killed before took it along
