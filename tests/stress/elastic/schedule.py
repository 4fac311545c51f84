# schedule.py - one run of elastic: what is drawn for it, and what must hold whatever was drawn
#
# Nobody foretells what muster does: faults may meet, and a busy machine may lose a node more. It has
# to come to rest in a state that fits what is there (is_at_rest), and at the end the ranks' stamps,
# the exit status and muster's own words must fit each other (check).
# SPDX-License-Identifier: Apache-2.0
"""A run, the faults it meets, and the oracle."""

import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import cloud
from cluster import FIRST_LEASE_S, Node
from faults import STEPS

GRACE_S = 0.5
PATIENT_S, HASTY_S = 200, 8  # --max-wait: begins before a lost node was looked for
STAMP = struct.Struct('4q4i')  # as in stamp.c
RESTS_S = 60   # then it must have come to rest
JOINS_S = 5    # at the latest after it was offered a node is there
STILL_S = 0.4  # so long it is in that state
GENERATION = re.compile(r'^muster: (?:[\d:.]+ )?generation (\d+): (.*)$', re.M)
RESUMED = re.compile(r'^muster: restarting .*: generation (\d+)$', re.M)
LOST = re.compile(r'node\d+')


class Stamp:
    def __init__(self, name, text):
        self.generation, self.rank = (int(word) for word in name.split('-')[1:])
        (self.begin_ns, self.last_ns, self.end_ns, self.met, self.world, self.node,
         self.is_told, _) = STAMP.unpack(text)


class Schedule:
    def __init__(self, world, number, nodes):
        self.world, self.number, self.nodes = world, number, nodes
        self.random = random.Random(f'{world.seed}:{number}')
        self.name = f'run{number}'
        self.where = os.path.join(world.scratch, self.name)
        self.process, self.status = None, None
        self.problems, self.story, self.words = [], [], []
        self.withdrawn, self.leaving, self.failed = set(), set(), set()
        self.back = {}  # from when muster may try one again that its cloud has taken
        self.signals = set()  # by which ranks were killed
        self.withdrawn_first = set()
        self.most = len(nodes)  # so many nodes are wanted
        self.offered_at = -JOINS_S * 100
        self.forgotten = 0  # bytes of stderr, of a muster that was killed
        self.began = time.monotonic()
        self.lease_s = 2 * world.slowness()
        self.haste_s = HASTY_S * world.slowness()

    # --- what is drawn ---

    def run(self):
        os.makedirs(self.where + '/ranks')
        self.draw()
        self.start(['run', *self.options(), '--', self.world.stamp, self.where + '/ranks',
                    *self.rank_words])
        if self.settle() == 'up':
            for _ in range(self.random.randrange(1, 7)):
                self.step()
        self.come_to_an_end()
        self.check()
        self.clear()

    def stop(self):
        """We ourselves have failed."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.check_left()
        self.clear()

    def clear(self):
        self.words = self.output('err').splitlines()
        shutil.rmtree(self.where)
        for node in self.nodes:
            cloud.Service.goes.pop(node.address, None)

    def draw(self):
        self.kind = self.random.choice(['spare', 'spare', 'wait', 'elastic', 'elastic'])
        self.slots = self.random.choice([1, 1, 2])
        self.least = self.random.choice([1, 2]) if self.kind == 'elastic' else 3
        self.is_patient = self.random.random() < self.world.patience
        self.has_marker = self.random.random() < 0.5
        self.rank_words = self.random.choice([[], [], ['deaf'], ['daemon'], ['deaf', 'daemon']])
        if self.kind == 'wait':
            self.withdrawn.add(self.nodes[3])
        self.withdrawn_first = set(self.withdrawn)
        self.write_hosts()
        self.tell(f'{self.kind}, {self.slots} slots, at least {self.least} nodes, '
                  f'{"patient" if self.is_patient else "hasty"} {" ".join(self.rank_words)}')

    def options(self):
        how = {'spare': ['--spares', '1'], 'wait': ['--recovery', 'full'],
               'elastic': ['--nnodes', f'{self.least}:4', '--grow-interval', '1']}[self.kind]
        if self.has_marker:
            how += ['--ckpt-marker', self.where + '/ranks/save']
        return ['-v', *how, '--max-restarts', '2', '--restart-delay', '0', '--heartbeat', '0.3',
                '--dead-after', f'{self.lease_s:.1f}', '--grace', str(GRACE_S),
                '--connect-timeout', f'{3 * self.world.slowness():.1f}', '--reconnect', '2', '--label', 'none',
                '--max-wait', str(self.max_wait_s()), '--name', self.name, '--hostfile', 'hosts',
                '--json', 'end.json', '--spot', self.world.spot, '--agent', self.world.agent,
                '--ssh_config', self.world.cluster.where + '/ssh_config']

    def max_wait_s(self):
        return PATIENT_S if self.is_patient else round(self.haste_s, 1)

    def start(self, words):
        """Leader of a session without a terminal: so HUP asks for the hosts."""
        with open(self.where + '/out', 'ab') as out, open(self.where + '/err', 'ab') as err:
            self.process = subprocess.Popen([self.world.muster, *words], cwd=self.where,
                                            env=self.environment(), stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=err, start_new_session=True)

    def environment(self):
        return {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME': self.where,
                'XDG_STATE_HOME': self.where + '/state', 'MUSTER_TEST_TAG': self.world.tag,
                **{name: os.environ[name] for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS')
                   if name in os.environ}}

    def kill_muster(self):
        """The next one knows nothing of nodes that were lost or drained. It is left in peace until
        it has ranks, since it may not go on before."""
        self.process.kill()
        self.process.wait()
        self.forgotten = len(self.output('err'))
        self.failed.clear()
        self.leaving.clear()
        for node in self.nodes:  # it may be in the past by now, and so a lie
            cloud.Service.goes.pop(node.address, None)
        self.start(['resume', self.name])
        before = {stamp.generation for stamp in self.stamps()}
        self.world.wait_for(lambda: self.process.poll() is not None or
                            {stamp.generation for stamp in self.stamps()} - before, RESTS_S)

    def withdraw(self, nodes):
        """They are not on the list of hosts any more, and muster has seen it."""
        self.withdrawn |= nodes
        self.write_hosts()
        self.world.wait_for(lambda: f'{min(node.name for node in nodes)}' in
                            self.output('err').rpartition(' gone')[0][-200:], 5)

    def offer(self):
        """All hosts. Those that were to go are new ones under the old names."""
        for node in self.leaving:
            cloud.Service.goes.pop(node.address, None)
        self.offered_at = time.monotonic()
        self.leaving.clear()
        self.withdrawn.clear()
        self.write_hosts()

    def step(self):
        """Half of them come while muster is still busy with the one before."""
        if self.random.random() < 0.5:
            time.sleep(self.random.random())
        elif self.settle() != 'up':
            return
        step = self.random.choice([step for step in STEPS if step.is_possible(self)])
        if self.process.poll() is None:
            self.tell(step.__name__)
            step(self)

    # --- what it looks like ---

    def tell(self, text):
        self.story.append(f'{time.monotonic() - self.began:.1f} s: {text}')

    def output(self, name):
        try:
            with open(os.path.join(self.where, name), encoding='utf-8', errors='replace') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def write_hosts(self, text=None):
        """By rename, as muster's manual asks for."""
        hosts = [node for node in self.nodes if node not in self.withdrawn]
        with open(self.where + '/hosts.new', 'w', encoding='utf-8') as file:
            file.write(text if text is not None else
                       ''.join(f'{node.name} slots={self.slots}\n' for node in hosts))
        os.rename(self.where + '/hosts.new', self.where + '/hosts')

    def stamps(self):
        found, where = [], self.where + '/ranks'
        for name in os.listdir(where):
            if name.startswith('stamp-'):
                with open(os.path.join(where, name), 'rb') as file:
                    text = file.read()
                if len(text) == STAMP.size:
                    found.append(Stamp(name, text))
        return found

    def ranks(self):
        """[(node, process)] of all ranks that live, whatever their generation."""
        return [(node, process) for node in self.nodes for process in node.processes()
                if self.world.stamp in process.command and process.value('RANK')]

    def generation(self):
        """The one that muster has told of last, and what it has told."""
        told = list(GENERATION.finditer(self.output('err')))
        resumed = list(RESUMED.finditer(self.output('err')))
        if resumed and (not told or resumed[-1].start() > told[-1].start()):
            return int(resumed[-1].group(1)), 'started again'
        return (int(told[-1].group(1)), told[-1].group(2)) if told else (0, '')

    def take_losses(self):
        """A node that muster has lost cools down, whoever is to blame."""
        said = [text for line in self.output('err')[self.forgotten:].splitlines()
                for text in [line.split(';')[0]]
                if ' lost' in text or 'cannot take part' in text or 'failed' in text]
        by_name = {node.name: node for node in self.nodes}
        for line in said:
            line = re.sub(r'node\[([\d,-]+)\]', expand, line)
            self.failed.update(by_name[name] for name in LOST.findall(line) if name in by_name)

    def gone(self):
        """Those that were to go, and cannot be back."""
        return {node for node in self.leaving
                if time.monotonic() < self.back.get(node, float('inf'))}

    def usable(self):
        """Nodes that muster can have by now."""
        if time.monotonic() < self.offered_at + JOINS_S * self.world.slowness():
            return set()
        return {node for node in self.nodes
                if node.is_there() and node not in self.withdrawn | self.leaving | self.failed}

    def state(self):
        """'over', 'up', 'parked', or None: it is on its way, or ought to be."""
        if self.process.poll() is not None:
            return 'over'
        self.take_losses()
        generation, text = self.generation()
        if 'waiting for a node' in text:
            return 'parked' if len(self.usable()) < self.least else None
        worlds = {stamp.rank: stamp.world for stamp in self.stamps()
                  if stamp.generation == generation}
        ranks = self.ranks()
        living = {int(process.value('RANK')) for _, process in ranks
                  if process.value('MUSTER_GENERATION') == str(generation)}
        if not living or living != set(range(worlds.get(min(living), -1))) & worlds.keys():
            return None
        nodes = {node for node, _ in ranks}
        if not all(node.is_there() for node in nodes) or nodes & (self.withdrawn | self.gone()):
            return None
        if self.kind == 'elastic' and \
                (len(nodes) > self.most or self.usable() - nodes and len(nodes) < self.most):
            return None  # it is to shrink, or to grow
        return 'up'

    def settle(self, seconds=RESTS_S):
        """The state in which it comes to rest."""
        deadline = time.monotonic() + seconds * self.world.slowness()
        state, since = self.state(), time.monotonic()
        while state is None or (state != 'over' and time.monotonic() - since < STILL_S):
            time.sleep(0.1)
            before, state = state, self.state()
            if state is None or state != before:
                since = time.monotonic()
            if since > deadline:
                self.problems.append(f'no rest: generation {self.generation()}, usable '
                                     f'{sorted(node.name for node in self.usable())}')
                return 'stuck'
        self.tell(f'-> {state}, generation {self.generation()[0]}')
        return state

    # --- its end ---

    def come_to_an_end(self):
        state = self.settle()
        if state == 'parked' and self.is_patient:
            state = self.give_all_back()
        elif state == 'parked':
            self.world.wait_for(lambda: self.state() != 'parked', self.max_wait_s() + 5)
            state = self.settle()
        if state in ('up', 'stuck'):
            with open(self.where + '/ranks/go', 'w', encoding='utf-8'):
                pass
            self.tell('go')
        self.await_end()

    def await_end(self):
        try:
            self.status = self.process.wait(RESTS_S * self.world.slowness())
        except subprocess.TimeoutExpired:
            self.problems.append('it does not end')
            self.process.kill()
            self.process.wait()
        self.tell(f'exit status {self.status}')

    def give_all_back(self):
        """All nodes return; muster tries those that it has lost when they have cooled down."""
        self.tell('all nodes come back')
        for node in self.nodes:
            node.bring_back()
        if self.leaving and self.leaving | self.withdrawn != set(self.nodes):
            self.withdraw(set(self.leaving))
        self.offer()
        deadline = time.monotonic() + self.max_wait_s()
        while time.monotonic() < deadline:
            if self.state() == 'parked':
                time.sleep(0.2)
            elif (state := self.settle()) != 'parked':  # one may be lost again
                return state
        return 'parked'

    def check(self):
        self.check_status()
        stamps = self.stamps()
        self.check_stamps(stamps)
        self.check_words(stamps)
        self.check_left()

    def check_status(self):
        err, stamps = self.output('err'), self.stamps()
        last = max((stamp.generation for stamp in stamps), default=-1)
        ended = [stamp for stamp in stamps if stamp.generation == last and stamp.end_ns]
        if self.status == 0:
            if not ended or len(ended) != ended[0].world:
                self.problems.append(f'status 0, but {len(ended)} ranks have ended well')
        elif self.status == 75:
            if 'no node took its place within' not in err or 'muster resume ' not in err:
                self.problems.append('status 75 without its message')
            if len(self.usable()) >= self.least:
                self.problems.append('status 75, though there were nodes enough')
        elif self.status is None or self.status - 128 not in self.signals or \
                not re.search('no restart(:| for) ', err):
            self.problems.append(f'exit status {self.status}')
        if self.status is not None and self.status >= 0:
            said = json.loads(self.output('end.json') or '{}').get('exit_status')
            if said != self.status:
                self.problems.append(f'--json says {said}, the exit status is {self.status}')

    def check_stamps(self, stamps):
        """No two generations at once, by locks and by times; no rank twice."""
        lives = {}
        for stamp in stamps:
            begin_ns, last_ns, world = lives.get(stamp.generation,
                                                 (stamp.begin_ns, 0, stamp.world))
            lives[stamp.generation] = (min(begin_ns, stamp.begin_ns),
                                       max(last_ns, stamp.last_ns), world)
            if stamp.met:
                self.problems.append(f'rank {stamp.rank} of generation {stamp.generation} met '
                                     f'generation {stamp.met - 1}')
            if stamp.world != world or not 0 <= stamp.rank < stamp.world:
                self.problems.append(f'generation {stamp.generation} has two sizes')
            if self.kind != 'elastic' and stamp.world != 3 * self.slots:
                self.problems.append(f'{stamp.world} ranks in generation {stamp.generation}')
        before_ns = 0
        for generation in sorted(lives):
            begin_ns, last_ns, _ = lives[generation]
            if begin_ns <= before_ns:
                self.problems.append(f'generation {generation} began '
                                     f'{(before_ns - begin_ns) / 1e9:.3f} s too early')
            before_ns = max(before_ns, last_ns)

    def check_words(self, stamps):
        """A line for each restart, which says why."""
        err = self.output('err')
        told = {int(found.group(1)): found.group(2) for found in GENERATION.finditer(err)}
        told.update((int(found.group(1)), 'resumed') for found in RESUMED.finditer(err))
        for generation in {stamp.generation for stamp in stamps} - {0}:
            if not told.get(generation, '').strip(' ;'):
                self.problems.append(f'nobody said why generation {generation} began')
        for word in ('Sanitizer', 'assert', 'internal error', 'protocol:'):
            if word in err:
                self.problems.append(f'"{word}" on stderr')

    def check_left(self):
        """A reachable node is empty when muster returns, any other when its lease is over. Then an
        agent that never had a PLAN, as for a look at what is left, may still be there if its link
        was cut: nothing of the run is."""
        for seconds, nodes, left in ((2, [node for node in self.nodes if node.is_there()], Node.left),
                                     (self.lease_s + GRACE_S + 10, self.nodes, Node.left_of_run),
                                     (FIRST_LEASE_S + 10, self.nodes, Node.left)):
            nodes = [node for node in nodes if node.has_power]
            if not self.world.wait_for(lambda: not any(left(node) for node in nodes), seconds):
                self.problems += [f'left: {what}' for node in nodes for what in left(node)]
                break
        for node in self.nodes:
            for pid in node.pids():
                if node.has_power and pid != node.sshd():
                    os.kill(pid, signal.SIGKILL)
            node.bring_back()
            node.was_cut = False


def expand(found):
    """nodes node[3-4,6]: node3 node4 node6."""
    names = []
    for part in found.group(1).split(','):
        first, _, last = part.partition('-')
        names += [f'node{number}' for number in range(int(first), int(last or first) + 1)]
    return ' '.join(names)
