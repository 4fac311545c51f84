# launch.py - one launch of soak: what it is to do, and what lives of it
# SPDX-License-Identifier: Apache-2.0
"""A launch, its processes and its output."""

import os
import random
import signal
import time

# All that the PID namespace takes: only root makes one without a user namespace.
PIDNS = 'pidns' if os.geteuid() == 0 else 'userns,pidns'
WAIT = 'echo ready; while :; do sleep 100; done'
TWO = 'two generations are alive'
# Every limit is for a quiet machine; this one needs so many times as long.
SLOW = int(os.environ.get('MUSTER_SOAK_SLOW_PERCENT', 100)) / 100


def kill_now(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the one killed before took it along


class Launch:
    """What one function of faults.py fills in, and what came of it."""

    def __init__(self, world, number, where):
        self.world, self.number, self.where = world, number, where
        self.random = random.Random(f'{world.seed}:{number}')
        self.tag = world.tag or f'{self.random.getrandbits(64):016x}'
        self.options = ['--grace', '0.5']
        self.hosts = 'node1:2,node2:2'
        self.command = ['true']
        self.expected = {0}
        self.env = {}
        self.act = None          # once every rank has said "ready"
        self.settle_s = 0        # how long after its end something may live on
        self.is_cleaned = False  # by the user, with muster clean
        self.stdout = 'out'
        self.lines = None        # that many lines must arrive
        self.starts = None       # that many times all ranks start again
        self.contain = self.random.choice([None, None, None, PIDNS, 'subreaper',
                                           'cgroup,subreaper'])
        if world.sshd:
            self.contain = None  # sshd passes no such variable on
        self.process = None
        self.problems = []

    def sh(self, script):
        self.command = ['bash' if 'PMI_FD' in script else 'sh', '-c', script]

    def one_rank(self, script, others=WAIT):
        """A random rank does this, the others that."""
        self.sh(f'if [ $RANK = {self.random.randrange(4)} ]; then {script}; fi; {others}')

    def restarts(self, times, script, *options, at_last='exit 0'):
        """A random rank does this until all have started again so many times. Each generation
        holds a lock as long as anything of it lives, by which the next one would see it."""
        self.options += ['--max-restarts', '3', '--restart-delay', '0', *options]
        self.starts = times
        self.one_rank(script)
        self.command[2] = (
            'exec 9>>alive-$MUSTER_GENERATION; flock -s 9; before=$((MUSTER_GENERATION - 1)); '
            '[ $RANK != 0 ] || [ $before -lt 0 ] || flock -n alive-$before true || '
            f'echo {TWO}; [ $MUSTER_GENERATION -lt {times} ] || {{ {at_last}; }}; '
            + self.command[2])

    def kill(self, number):
        os.kill(self.process.pid, number)

    def tagged(self):
        """{pid: (parent, command line)} of everything that carries our tag."""
        found = {}
        mark = b'MUSTER_TEST_TAG=' + self.tag.encode()
        for entry in os.listdir('/proc'):
            if not entry.isdigit():
                continue
            try:
                with open(f'/proc/{entry}/environ', 'rb') as file:
                    if mark not in file.read().split(b'\0'):
                        continue
                with open(f'/proc/{entry}/stat', encoding='utf-8', errors='replace') as file:
                    state, parent = file.read().rpartition(')')[2].split()[:2]
                with open(f'/proc/{entry}/cmdline', 'rb') as file:
                    command = file.read().replace(b'\0', b' ').decode(errors='replace')
            except OSError:
                continue  # gone meanwhile
            if state not in 'ZX':
                found[int(entry)] = (int(parent), command)
        return found

    def agents(self):
        """[(agent, guard)] of the nodes."""
        own = {pid: parent for pid, (parent, command) in self.tagged().items()
               if os.path.basename(command.split(' ')[0]) == 'muster-agent'}
        return [(parent, pid) for pid, parent in own.items() if parent in own]

    def agents_with_ranks(self):
        """Not those of spares, whatever their pids are."""
        parents = {parent for parent, _ in self.tagged().values()}
        return [(agent, guard) for agent, guard in self.agents() if guard in parents]

    def output(self, name='out'):
        try:
            with open(os.path.join(self.where, name), 'rb') as file:
                return file.read()
        except OSError:
            return b''

    def wait_ready(self):
        return self.wait_for(lambda: self.output().count(b'ready\n') >= 4, 30)

    def wait_for(self, condition, seconds):
        end = time.monotonic() + seconds * SLOW
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True
