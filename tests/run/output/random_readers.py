#!/usr/bin/env python3
# random_readers.py SEED TRIALS SLOW [ONLY] - runs of muster with readers and signals drawn at random
# SPDX-License-Identifier: Apache-2.0
"""Each trial is a run whose reader is prompt, slow, rests, stalls or closes the pipe, and whose
signals come at random moments after the last node is done. SLOW (percent) stretches the limits.
Prints a line for each claim that does not hold, with seed and trial; ONLY repeats one trial."""

import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

SLOW = int(sys.argv[3]) / 100
LIMIT_S = 5 * SLOW   # for muster to end once nothing holds it up
START_S = 30 * SLOW  # for a run to get to its end
PIPE = 65536
TEXT = b''.join(b'%07d a line that somebody may read at some time\n' % i for i in range(60000))
OWN = re.compile(rb'^(muster: |  (\||hint:)).*\n', re.M)


def fill(fd):
    """Until it takes no more."""
    os.set_blocking(fd, False)
    try:
        while os.write(fd, b'full\n' * 800):
            pass
    except BlockingIOError:
        os.set_blocking(fd, True)


class Trial:
    def __init__(self, seed, number):
        draw = random.Random(f'{seed}/{number}')
        self.name = f'seed {seed} trial {number}'
        self.is_exec = draw.random() < 0.4
        self.size = draw.choice([0, 10, 70001, 400000, 2500000, 2500000])
        self.code = draw.choice([0, 0, 3])
        self.reader = draw.choice(['prompt', 'slow', 'rests', 'stalls', 'stalls', 'closes'])
        self.err = draw.choice(['file', 'file', 'stdout', 'full'])
        self.json = draw.choice(['', '', '-', 'fifo'])
        self.rest_s = draw.uniform(0, 0.6)
        self.reads = draw.randrange(0, 200000)
        self.signals = [(draw.choice([0, draw.uniform(0, 0.01), draw.uniform(0, 0.4)]),
                         draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
                        for _ in range(draw.choice([0, 0, 1, 2, 2, 3, 3]))]
        self.got = b''
        self.is_told = False  # muster had said what is unread when the last signal came
        self.may_read = threading.Event()
        self.problems = []

    def words(self):
        return (f'{"exec" if self.is_exec else "run"}, {self.size} bytes, exit {self.code}, reader '
                f'{self.reader}, stderr {self.err}, json {self.json or "none"}, signals '
                f'{[(round(after, 3), which.name) for after, which in self.signals]}')

    def claim(self, what, is_true):
        if not is_true:
            self.problems.append(what)

    # ---- the reader of standard output ----

    def read_all(self, fd):
        if self.reader == 'stalls':
            self.may_read.wait()
        if self.reader == 'rests':
            self.may_read.wait()
            time.sleep(self.rest_s)
        while self.reader != 'closes' or len(self.got) < self.reads:
            piece = os.read(fd, PIPE)
            if not piece:
                break
            self.got += piece
            if self.reader == 'slow':
                time.sleep(0.01)
        os.close(fd)

    # ---- the run ----

    def run(self):
        with tempfile.TemporaryDirectory() as self.folder:
            self.start()
            self.await_nodes()
            if self.reader == 'rests':
                self.may_read.set()
            for number, (after, which) in enumerate(self.signals):
                time.sleep(after)
                self.is_told = number > 0 and b'has not read' in self.read_err()
                self.send(which)
            self.end()
            self.judge()
        return self

    def start(self):
        command = ['muster'] + (['exec'] if self.is_exec else [])
        command += ['-H', 'node1:1', '--label', 'none', '--grace', '1']
        from_muster, to_reader = os.pipe()
        self.err_file = open(f'{self.folder}/err', 'w+b')
        self.stalled = []  # what holds muster up until it is read: (read end, write end)
        if self.json:
            command += ['--json', self.json if self.json == '-' else f'{self.folder}/fifo']
        if self.json == 'fifo':
            os.mkfifo(f'{self.folder}/fifo')
            both = os.open(f'{self.folder}/fifo', os.O_RDWR)
            self.hold(both, os.dup(both), self.reader == 'stalls')
        err = {'file': self.err_file, 'stdout': to_reader}.get(self.err)
        if err is None:
            ends = os.pipe()
            self.hold(ends[0], ends[1], True)
            err = ends[1]
        command += ['sh', '-c', ': >"$3/begun"; head -c "$1" text; exit "$2"', 'sh', str(self.size),
                    str(self.code), self.folder]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=to_reader,
                                        stderr=err)
        os.close(to_reader)
        self.thread = threading.Thread(target=self.read_all, args=(from_muster,))
        self.thread.start()

    def send(self, which):
        """And wait until it has arrived: a second one of its kind would be the same one."""
        self.process.send_signal(which)
        while self.process.poll() is None:
            with open(f'/proc/{self.process.pid}/status') as file:
                pending = int(re.search('ShdPnd:\t([0-9a-f]+)', file.read())[1], 16)
            if not pending >> (which - 1) & 1:
                break
            time.sleep(0.001)

    def hold(self, read_end, write_end, is_full):
        if is_full:
            fill(write_end)
        self.stalled.append((read_end, write_end, is_full))

    def await_nodes(self):
        """Until the rank has begun, and muster has no agent any more."""
        until = time.monotonic() + START_S
        children = f'/proc/{self.process.pid}/task/{self.process.pid}/children'
        while self.process.poll() is None and time.monotonic() < until:
            with open(children) as file:
                if os.path.exists(f'{self.folder}/begun') and not file.read().split():
                    return
            time.sleep(0.002)
        self.claim('the nodes end, whoever reads', self.process.poll() is not None)

    def is_held_up(self):
        """By a reader, and fewer signals than always suffice."""
        return (self.reader == 'stalls' or self.err == 'full') and len(self.signals) < 3 and \
            not self.is_told

    def end(self):
        if not self.signals and self.reader == 'stalls' and self.size > 2 * PIPE:
            self.claim('muster waits for its reader', not self.has_ended(0.3))
        if self.is_held_up():
            self.has_ended(0.1)
            self.release()
        self.claim(f'muster ends within {LIMIT_S} s', self.has_ended(LIMIT_S))
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        self.release()
        self.thread.join()
        for read_end, write_end, _ in self.stalled:
            os.close(read_end)
            os.close(write_end)

    def has_ended(self, limit_s):
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def release(self):
        """Every reader reads now, until muster has ended."""
        self.may_read.set()
        for read_end, _, is_full in self.stalled:
            if is_full:
                threading.Thread(target=self.drain, args=(read_end,), daemon=True).start()
        self.stalled = [(read_end, write_end, False) for read_end, write_end, _ in self.stalled]

    def drain(self, read_end):
        os.set_blocking(read_end, False)
        while self.process.returncode is None:
            try:
                os.read(read_end, PIPE)
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:
                break

    def read_err(self):
        return os.pread(self.err_file.fileno(), 1 << 20, 0)

    # ---- what must hold ----

    def judge(self):
        said = self.read_err().decode()
        self.err_file.close()
        rank_said = OWN.sub(b'', self.got) if self.err == 'stdout' else self.got
        is_whole = rank_said[:self.size] == TEXT[:self.size]
        own = 0 if self.is_exec else self.code
        status = self.process.returncode
        by_signal = [128 + which for _, which in self.signals]
        gone = [74] if self.reader == 'closes' else []
        self.claim(f'exit status {status}', status in [own] + by_signal + gone)
        self.claim('the reader has got a part of the text from its beginning',
                   self.err == 'stdout' or TEXT.startswith(rank_said[:self.size]))
        if self.reader != 'closes' and not is_whole:
            self.claim('output is missing, and no signal came', by_signal)
            self.claim('output is missing, and the run was a success', status != 0)
        lost = re.search('([0-9]+) bytes of output were lost', said)
        if self.reader != 'closes' and not is_whole and self.err == 'file':
            self.claim('what is lost is counted', lost is not None and
                       0 <= len(rank_said) + int(lost[1]) - self.size <= PIPE)
        if is_whole and self.reader != 'closes':  # what a given up write() wrote nobody knows
            self.claim('nothing is said to be lost',
                       lost is None or (by_signal and int(lost[1]) <= PIPE))
        if status == 74 and not self.signals:
            self.claim('one line when the reader has gone', said.count('\n') <= 1)
        if self.problems:
            print(f'# {self.name}: {self.words()}')
            for problem in self.problems:
                print(f'#   not so: {problem}')
            print('#   ' + said.replace('\n', '\n#   '), flush=True)


def main():
    seed, trials = sys.argv[1], int(sys.argv[2])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what nohup ignores, muster ignores, too
    with open('text', 'wb') as file:
        file.write(TEXT)
    numbers = [int(sys.argv[4])] if len(sys.argv) > 4 else range(trials)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda number: Trial(seed, number).run(), numbers))
    sys.exit(any(trial.problems for trial in done))


main()
