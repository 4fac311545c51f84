#!/usr/bin/env python3
# agent.t - the real muster-agent, driven over a socket pair in doc/PROTOCOL
#
# Each test_* function is one TAP line. The driver below plays the launcher.
# SPDX-License-Identifier: Apache-2.0
"""Drive muster-agent as the launcher would."""

import hashlib
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

TYPES = ('- HELLO PROBE PROBED BLOB PLAN READY GO STARTED OUTPUT CREDIT EXIT KVS ABORT '
         'SIGNAL STOP PING PONG ERROR DONE').split()
NUMBER = {name: number for number, name in enumerate(TYPES)}
RAW = {'OUTPUT', 'PING', 'PONG', 'BLOB', 'CREDIT', 'GO'}
NONCE = '0123456789abcdef' * 2
AGENT = os.environ.get('MUSTER_AGENT') or os.path.join(
    os.environ.get('top_builddir', '.'), 'agent', 'muster-agent')
with open(AGENT, 'rb') if os.path.exists(AGENT) else open(os.devnull, 'rb') as program:
    SANITIZED = b'__asan_init' in program.read()  # it keeps freed memory for a while
SCRATCH = tempfile.mkdtemp(prefix='muster-agent-test.')
os.chmod(SCRATCH, 0o755)
DEADLINE_S = 30
PYTHON = '/usr/bin/python3' if os.access('/usr/bin/python3', os.X_OK) else sys.executable


class Skip(Exception):
    """The test cannot run here; the text says why."""


class Frame:
    def __init__(self, name, stream, generation, rank, body):
        self.name, self.stream, self.generation, self.rank = name, stream, generation, rank
        self.raw = body
        self.body = body if name in RAW else json.loads(body)

    def __repr__(self):
        return f'{self.name}({self.rank}, {self.body!r})'


class Agent:
    """One agent and the launcher's end of its stream."""

    def __init__(self, env=None, uid=None, generation=0, args=()):
        self.sock, theirs = socket.socketpair()
        command = [AGENT, '--nonce', NONCE, *args]
        if uid is not None:
            command = ['setpriv', f'--reuid={uid}', f'--regid={uid}', '--clear-groups', *command]
        full = dict(os.environ)
        full.update(env or {})
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, env=full,
                                        start_new_session=True)
        theirs.close()
        self.buffer = b''
        self.generation = generation
        self.frames = []       # all that came, but output and heartbeats
        self.output = {}       # (rank, stream) -> bytes
        self.ended = set()     # (rank, stream)
        self.blob = 0
        self.auto_credit = True
        self.pid = self.process.pid
        self.skip_nonce()
        self.hello = self.wait('HELLO').body

    def skip_nonce(self):
        while b'\n' not in self.buffer:
            self.read_some(DEADLINE_S)
        line, self.buffer = self.buffer.split(b'\n', 1)
        assert line.decode() == NONCE, line

    def read_some(self, timeout):
        if not select.select([self.sock], [], [], timeout)[0]:
            return False
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError('the agent has closed')
        self.buffer += data
        return True

    def send(self, name, body=b'', rank=0, stream=0, generation=None):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        generation = self.generation if generation is None else generation
        self.sock.sendall(struct.pack('>IBBHII', len(raw), NUMBER[name], stream, 0, generation,
                                      rank) + raw)

    def send_blob(self, data):
        self.blob += 1
        for at in range(0, max(len(data), 1), 1 << 19):
            self.send('BLOB', struct.pack('>I', self.blob) + data[at:at + (1 << 19)])
        return self.blob

    def send_list(self, items):
        return self.send_blob(b''.join(os.fsencode(item) + b'\0' for item in items))

    def plan(self, *argvs, env=(), rank_env=None, pmi=False, **more):
        """Send a PLAN that runs one rank for each argv."""
        argvs = argvs or (['true'],)
        body = {'run_id': 'test-run', 'mode': 'run', 'world_size': len(argvs), 'node_rank': 0,
                'node_count': 1, 'grace_s': 2, 'heartbeat_s': 1, 'lease_s': 10,
                'credit': 1 << 20, 'env': self.send_list(env), 'omp_default': False}
        for key in ('cwd', 'venv_script', 'pid_file'):
            if key in more:
                body[key] = self.send_blob(os.fsencode(more.pop(key)))
        if 'env_default' in more:
            body['env_default'] = self.send_list(more.pop('env_default'))
        if 'log' in more:
            directory, console = more.pop('log')
            body['log'] = {'dir': self.send_blob(os.fsencode(directory)),
                           'stamp': '20260102030405', 'console': console}
        if pmi:
            body['pmi'] = {'kvsname': 'kvs_0', 'mapping': f'(vector,(0,1,{len(argvs)}))'}
        body['ranks'] = [{'rank': i, 'local_rank': i, 'slot': i, 'argv': self.send_list(argv),
                          'env': self.send_list(rank_env(i) if rank_env else [f'RANK={i}'])}
                         for i, argv in enumerate(argvs)]
        body.update(more)
        self.send('PLAN', body)

    def run(self, *argvs, **more):
        """Plan, wait for READY, go."""
        self.plan(*argvs, **more)
        self.ready = self.wait('READY').body
        self.send('GO')

    def take(self, timeout=DEADLINE_S):
        """The next frame, or None. Collects output and answers heartbeats."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 16:
                size, number, stream, zero, generation, rank = struct.unpack(
                    '>IBBHII', self.buffer[:16])
                assert size <= 1 << 20 and zero == 0
                if len(self.buffer) >= 16 + size:
                    raw, self.buffer = self.buffer[16:16 + size], self.buffer[16 + size:]
                    return self.digest(Frame(TYPES[number], stream, generation, rank, raw))
            left = end - time.monotonic()
            if left <= 0 or not self.read_some(left):
                return None

    def reply(self, name, body):
        try:
            self.send(name, body)
        except BrokenPipeError:
            pass  # it has said DONE since

    def digest(self, frame):
        if frame.name == 'PING':
            self.reply('PONG', frame.body + b'\0' * 8)
        elif frame.name == 'OUTPUT':
            key = (frame.rank, frame.stream)
            assert key not in self.ended, 'output after its end'
            if frame.raw:
                self.output.setdefault(key, []).append(frame.raw)
                if self.auto_credit:
                    self.reply('CREDIT', struct.pack('>I', len(frame.raw)))
            else:
                self.ended.add(key)
        elif frame.name != 'PONG':
            self.frames.append(frame)
        return frame

    def wait(self, name, timeout=DEADLINE_S, rank=None):
        """Until such a frame comes; it is returned."""
        end = time.monotonic() + timeout
        while True:
            frame = self.take(max(0, end - time.monotonic()))
            assert frame is not None, f'no {name} within {timeout} s; had {self.frames}'
            if frame.name == 'ERROR' and name not in ('ERROR', 'DONE'):
                raise AssertionError(f'ERROR while waiting for {name}: {frame.body}')
            if frame.name == name and rank in (None, frame.rank):
                return frame

    def wait_output(self, text, rank=0, stream=1):
        while text not in self.out(rank, stream):
            assert self.take() is not None, f'no {text!r} in {self.out(rank, stream)!r}'

    def out(self, rank=0, stream=1):
        return b''.join(self.output.get((rank, stream), []))

    def finish(self, timeout=DEADLINE_S):
        """Wait for DONE and the agent's end; the body of DONE."""
        done = self.wait('DONE', timeout).body
        try:
            assert self.take(timeout) is None
        except (EOFError, ConnectionError):
            pass
        assert self.process.wait(timeout) == 0
        return done

    def all(self, name):
        return [frame for frame in self.frames if frame.name == name]

    def exit_of(self, rank=0):
        found = [f.body for f in self.all('EXIT') if f.rank == rank]
        assert len(found) == 1, found
        return found[0]

    def rss_kb(self):
        with open(f'/proc/{self.pid}/status', encoding='ascii') as status:
            return int(status.read().split('VmRSS:')[1].split()[0])

    def guard(self):
        """The pid of its guard."""
        with open(f'/proc/{self.pid}/task/{self.pid}/children', encoding='ascii') as children:
            return int(children.read().split()[0])


def complete(*argvs, **more):
    """Run to the end; the Agent with its frames, and DONE."""
    options = {key: more.pop(key) for key in ('uid', 'agent_env', 'args') if key in more}
    agent = Agent(env=options.get('agent_env'), uid=options.get('uid'),
                  args=options.get('args', ()))
    agent.run(*argvs, **more)
    return agent, agent.finish()


def python(code):
    return [PYTHON, '-c', code]


def wait_until(condition, what, timeout=DEADLINE_S):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f'{what}: not within {timeout} s'
        time.sleep(0.002)  # between two looks at the state, not for it


def tagged(tag):
    """Pids of living processes with this word in their arguments."""
    found = []
    for entry in os.listdir('/proc'):
        try:
            with open(f'/proc/{entry}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
            with open(f'/proc/{entry}/stat', encoding='ascii', errors='replace') as file:
                state = file.read().rsplit(')', 1)[1].split()[0]
        except (OSError, IndexError):
            continue
        if tag.encode() in words and state not in 'ZX':
            found.append(int(entry))
    return found


def state_of(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        return file.read().rsplit(')', 1)[1].split()[0]


def new_tag():
    return f'tag-{os.getpid()}-{random.getrandbits(48):x}'


# A rank that leaves a daemon: double fork, own session, other name, no environment.
DAEMON = r'''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.execve(sys.executable, ["renamed", "-c", "import signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)", sys.argv[1]], {})
    os._exit(0)
os.wait()
while not any(sys.argv[1] in open(f"/proc/{p}/cmdline", errors="replace").read().split("\0")
              and "renamed" in open(f"/proc/{p}/cmdline", errors="replace").read()
              for p in os.listdir("/proc") if p.isdigit() and os.path.exists(f"/proc/{p}/cmdline")):
    time.sleep(0.01)
print("ready", flush=True)
if len(sys.argv) > 2:
    time.sleep(1000)
'''


# --- the ordinary course -------------------------------------------------------------

def test_hello():
    agent = Agent()
    hello = agent.hello
    assert hello['protocol'] == 1 and hello['host'] == socket.gethostname()
    assert hello['uid'] == os.getuid() and hello['cores'] == len(os.sched_getaffinity(0))
    assert hello['size'] == os.path.getsize(AGENT)
    assert any(a['loopback'] and a['addr'] == '127.0.0.1' for a in hello['addresses'])
    assert abs(hello['now_ns'] - time.monotonic_ns()) < 20e9
    agent.send('STOP', {'grace_s': 0})
    assert agent.finish()['left'] == 0


def test_ranks_run_and_are_reported():
    agent, done = complete(['sh', '-c', 'echo out $RANK; echo err $RANK >&2; exit $RANK'],
                           ['sh', '-c', 'echo out $RANK; echo err $RANK >&2; exit $RANK'])
    for rank in (0, 1):
        assert agent.out(rank, 1) == b'out %d\n' % rank, agent.out(rank, 1)
        assert agent.out(rank, 2) == b'err %d\n' % rank
        assert {(rank, 1), (rank, 2)} <= agent.ended
        end = agent.exit_of(rank)
        assert end['code'] == rank and 'late' not in end and end['maxrss_kb'] > 0, end
        names = [f.name for f in agent.frames if f.rank == rank and f.name in ('STARTED', 'EXIT')]
        assert names == ['STARTED', 'EXIT'], names
    assert done['left'] == 0 and done['killed'] == 0


def test_started_names_the_pid_outside():
    agent = Agent()
    agent.run(['sleep', '1000'])
    pid = agent.wait('STARTED').body['pid']
    with open(f'/proc/{pid}/cmdline', 'rb') as file:
        assert file.read() == b'sleep\x001000\0'
    agent.send('STOP', {'grace_s': 1})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGTERM


def test_signal_deaths_are_named():
    agent, _ = complete(['sh', '-c', 'kill -SEGV $$'], ['sh', '-c', 'kill -KILL $$'])
    assert agent.exit_of(0)['signal'] == signal.SIGSEGV and 'core' in agent.exit_of(0)
    assert agent.exit_of(1)['signal'] == signal.SIGKILL
    assert 'oom' not in agent.exit_of(1)


def test_signal_frame_reaches_ranks():
    agent = Agent()
    agent.run(*2 * [['sh', '-c', 'trap "echo usr1; exit 5" USR1; echo set; while :; do sleep 0.02; done']])
    for rank in (0, 1):
        agent.wait_output(b'set', rank)
    agent.send('SIGNAL', {'signal': signal.SIGUSR1})
    agent.finish()
    assert [agent.exit_of(rank)['code'] for rank in (0, 1)] == [5, 5]


def test_rank_sees_default_signals_and_no_descriptors():
    agent, _ = complete(python(
        'import os, signal\n'
        'print([s for s in (1, 2, 3, 13, 15, 17, 20) if signal.getsignal(s) == signal.SIG_IGN and s != 13])\n'
        'print(open("/proc/self/status").read().split("SigBlk:")[1].split()[0])\n'
        'print(open("/proc/self/status").read().split("SigIgn:")[1].split()[0])\n'
        'print(sorted(os.listdir("/proc/self/fd")))\n'
        'print(os.getpgrp() == os.getpid(), os.readlink("/proc/self/fd/0"))'))
    lines = agent.out().decode().splitlines()
    assert lines[0] == '[]' and int(lines[1], 16) == 0, lines
    assert int(lines[2], 16) & ~(1 << 12 | 1 << 24) == 0, lines  # Python ignores PIPE and XFSZ
    assert lines[3] == "['0', '1', '2', '3']" and lines[4] == 'True /dev/null', lines


def test_oom_score_is_raised():
    agent, _ = complete(['cat', '/proc/self/oom_score_adj'])
    assert agent.out().strip() == b'500', agent.out()


# --- bytes ---------------------------------------------------------------------------

SHOW = 'import os, sys; sys.stdout.buffer.write(repr(([os.fsencode(a) for a in sys.argv[1:]], dict(os.environb))).encode())'


def test_arguments_are_byte_exact():
    chance = random.Random(7)
    vectors = []
    for _ in range(1000):
        vectors.append([bytes(chance.randrange(1, 256) for _ in range(chance.randrange(0, 40)))
                        for _ in range(chance.randrange(0, 12))])
    # All thousand in a few processes: each rank prints what it got.
    for at in range(0, 1000, 250):
        flat, count = [], []
        for vector in vectors[at:at + 250]:
            flat += vector
            count.append(len(vector))
        agent, _ = complete([PYTHON, '-c', SHOW, *flat])
        assert eval(agent.out())[0] == flat  # pylint: disable=eval-used


def test_long_arguments_and_environment():
    long = bytes(random.Random(1).randrange(1, 256) for _ in range(131071))
    value = b'=; $(x) "\'\n\xff' * 9000
    agent, _ = complete([PYTHON, '-c', SHOW, long, '', 'a b'], env=[b'BIG=' + value])
    argv, env = eval(agent.out())  # pylint: disable=eval-used
    assert argv == [long, b'', b'a b'] and env[b'BIG'] == value


def test_too_long_an_argument_is_named():
    agent, _ = complete(['true', b'x' * 131072])
    end = agent.exit_of()
    assert end['code'] == 126 and '128 KiB' in end['error'], end


def test_environment_order():
    agent, _ = complete([PYTHON, '-c', SHOW], agent_env={'A': 'agent', 'B': 'agent', 'C': 'agent'},
                        env_default=['A=default', 'D=default', 'E=default'],
                        env=['B=env', 'E=env', 'F=env'], rank_env=lambda i: ['F=rank', 'G=rank'])
    env = eval(agent.out())[1]  # pylint: disable=eval-used
    got = {name: env.get(name.encode()).decode() for name in 'ABCDEFG'}
    assert got == {'A': 'agent', 'B': 'env', 'C': 'agent', 'D': 'default', 'E': 'env',
                   'F': 'rank', 'G': 'rank'}, got


def test_omp_default():
    cores = len(os.sched_getaffinity(0))
    agent, _ = complete(['sh', '-c', 'echo $OMP_NUM_THREADS'], omp_default=True)
    assert int(agent.out()) == cores
    agent, _ = complete(['sh', '-c', 'echo $OMP_NUM_THREADS'], omp_default=True, env=['OMP_NUM_THREADS=7'])
    assert int(agent.out()) == 7


def test_output_500_mb_with_credit():
    size = 500 << 20
    agent = Agent()
    code = ('import os\nblock = bytes(range(256)) * 1024\n'
            f'for i in range({size} // len(block)): os.write(1, block)')
    digest, total, began = hashlib.md5(), 0, time.monotonic()
    agent.run(python(code))
    most = 0
    while (0, 1) not in agent.ended:
        agent.take()
        for data in agent.output.pop((0, 1), []):
            digest.update(data)
            total += len(data)
        if total < size and total % (50 << 20) < 200000:
            most = max(most, agent.rss_kb())
    seconds = time.monotonic() - began
    agent.finish()
    expected = hashlib.md5()
    for _ in range(size // (256 << 10)):
        expected.update(bytes(range(256)) * 1024)
    assert total == size and digest.digest() == expected.digest()
    assert most < 32 << 10 or SANITIZED, f'agent grew to {most} KiB'
    print(f'# {size / seconds / 1e6:.0f} MB/s, agent at most {most >> 10} MiB')


def test_without_credit_the_rank_waits_and_memory_is_bounded():
    agent = Agent()
    agent.auto_credit = False
    agent.run(python('import os\nwhile True: os.write(1, b"x" * 65536)'), credit=1000)
    pid = agent.wait('STARTED').body['pid']

    def is_blocked():
        agent.take(0.01)
        with open(f'/proc/{pid}/wchan', encoding='ascii') as wchan, \
                open(f'/proc/{agent.pid}/wchan', encoding='ascii') as own:
            return 'pipe' in wchan.read() and 'poll' in own.read()
    if not os.access(f'/proc/{pid}/wchan', os.R_OK):
        raise Skip('no wchan here')
    wait_until(is_blocked, 'rank blocked on its pipe')
    assert len(agent.out()) == 1000
    assert agent.rss_kb() < 16 << 10 or SANITIZED
    agent.send('CREDIT', struct.pack('>I', 5))
    while len(agent.out()) < 1005:
        agent.take()
    agent.send('STOP', {'grace_s': 0})
    agent.wait('EXIT', 5)  # late, since the output has nowhere to go
    assert agent.exit_of()['late'] is True
    agent.send('CREDIT', struct.pack('>I', 1 << 30))
    agent.finish()


def test_heartbeat_overtakes_output():
    agent = Agent()
    agent.auto_credit = False
    agent.run(python('import os\nwhile True: os.write(1, b"x" * 65536)'), credit=1 << 30)
    agent.wait('STARTED')
    # A link that is full: nothing is read here until the rank has filled it.
    wait_until(lambda: len(agent.sock.recv(1 << 20, socket.MSG_PEEK)) > 100000, 'link full')
    agent.send('PING', b'12345678')
    seen = 0
    while True:
        frame = agent.take()
        if frame.name == 'PONG':
            break
        seen += len(frame.raw)
    assert frame.body[:8] == b'12345678' and len(frame.body) == 16
    assert seen < (256 << 10) + (1 << 20), seen  # the mark, and what the kernel holds
    agent.send('STOP', {'grace_s': 0})
    agent.finish()


# --- checks before READY -------------------------------------------------------------

def plan_error(*argvs, **more):
    agent = Agent()
    agent.plan(*argvs, **more)
    error = agent.wait('ERROR').body
    assert error['stage'] == 'plan', error
    assert agent.finish()['left'] == 0
    assert not agent.all('READY')
    return error


def test_what_is_missing_is_named():
    error = plan_error(['no-such-program'], env=['PATH=/bin:/usr/bin'])
    assert error['code'] == 127 and 'no-such-program' in error['text'] and '/usr/bin' in error['text']
    error = plan_error(['/etc/passwd'])
    assert error['code'] == 126 and '/etc/passwd' in error['text'], error
    error = plan_error(['true'], cwd='/no/such/dir')
    assert error['code'] == 126 and '/no/such/dir' in error['text'] and 'directory' in error['text']
    plain = os.path.join(SCRATCH, 'plain')
    with open(plain, 'w', encoding='ascii'):
        pass
    error = plan_error(['true'], log=(plain, True))
    assert error['code'] == 73 and plain in error['text'], error
    error = plan_error(['true'], pid_file='/no/such/dir/pid')
    assert error['code'] == 73 and '/no/such/dir/pid' in error['text'], error


def test_exec_failures_are_named():
    script = os.path.join(SCRATCH, 'bad')
    with open(script, 'w', encoding='ascii') as file:
        file.write('#!/no/such/interpreter\n')
    os.chmod(script, 0o755)
    agent, _ = complete([script])
    assert agent.exit_of()['code'] == 127 and 'interpreter' in agent.exit_of()['error']
    with open(script, 'w', encoding='ascii') as file:
        file.write('nothing\n')
    agent, _ = complete([script])
    assert agent.exit_of()['code'] == 126 and '#!' in agent.exit_of()['error'], agent.exit_of()
    assert not agent.all('STARTED')


def test_cwd_and_path_lookup():
    directory = os.path.join(SCRATCH, 'work')
    os.makedirs(directory + '/bin', exist_ok=True)
    with open(directory + '/bin/tool', 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\npwd; echo $PWD\n')
    os.chmod(directory + '/bin/tool', 0o755)
    for argv in (['tool'], ['./bin/tool']):
        agent, _ = complete(argv, cwd=directory, env=[f'PATH={directory}/bin:/bin:/usr/bin'])
        assert agent.out().decode().splitlines() == [directory] * 2, agent.out()


def test_venv_script():
    script = os.path.join(SCRATCH, 'activate')
    with open(script, 'w', encoding='ascii') as file:
        file.write('echo noise; echo noise >&2\n[ $# = 0 ] || return 9\nexport FROM_VENV="a\nb"\nPATH=/from/venv:$PATH\n')
    agent, _ = complete([PYTHON, '-c', SHOW], venv_script=script)
    env = eval(agent.out())[1]  # pylint: disable=eval-used
    assert env[b'FROM_VENV'] == b'a\nb' and env[b'PATH'].startswith(b'/from/venv:')
    assert b'_' not in env
    error = plan_error(['true'], venv_script='/no/activate')
    assert '/no/activate' in error['text'] and 'No such file' in error['text'], error
    with open(script, 'w', encoding='ascii') as file:
        file.write('echo it broke >&2\nexit 3\n')
    error = plan_error(['true'], venv_script=script)
    assert 'status 3' in error['text'] and 'it broke' in error['text'], error


def test_malformed_plans_end_the_link():
    for change in ({'ranks': []}, {'lease_s': 0.5}, {'grace_s': 'x'}, {'bind': 3}, {'world_size': 0}):
        agent = Agent()
        agent.plan(['true'], **change)
        try:
            while agent.take() is not None:
                pass
            raise AssertionError(f'no end after {change}')
        except (EOFError, ConnectionError):
            assert agent.process.wait(DEADLINE_S) == 1


# --- log files, pid file ---------------------------------------------------------------

def test_log_files():
    directory = os.path.join(SCRATCH, 'logs')
    agent, done = complete(['sh', '-c', 'echo out; echo err >&2'], ['echo', 'two'],
                           log=(directory, True))
    assert agent.out() == b'out\n' and done['log_lost_bytes'] == 0
    with open(directory + '/20260102030405_rank0.log', 'rb') as file:
        assert sorted(file.read().splitlines()) == [b'err', b'out']
    with open(directory + '/20260102030405_rank1.log', 'rb') as file:
        assert file.read() == b'two\n'
    agent = Agent()  # the same stamp again
    agent.plan(['true'], log=(directory, True))
    assert agent.wait('ERROR').body['code'] == 73
    agent.finish()


def test_logs_without_console():
    directory = os.path.join(SCRATCH, 'quiet')
    agent, done = complete(['echo', 'hidden'], log=(directory, False))
    assert agent.out() == b'' and done['lost_bytes'] == 0 and (0, 1) in agent.ended
    with open(directory + '/20260102030405_rank0.log', 'rb') as file:
        assert file.read() == b'hidden\n'


def test_logs_are_taken_back_when_the_run_does_not_start():
    directory = os.path.join(SCRATCH, 'never')
    agent = Agent()
    agent.plan(['true'], log=(directory, True))
    agent.wait('READY')
    assert os.listdir(directory)
    agent.send('STOP', {'grace_s': 1})
    agent.finish()
    assert os.listdir(directory) == []


def test_with_logs_ranks_never_wait():
    directory = os.path.join(SCRATCH, 'fast')
    agent = Agent()
    agent.auto_credit = False
    lines = 400000
    agent.run(python(f'import sys\nfor i in range({lines}): sys.stdout.write("line %d is here, complete\\n" % i)'),
              log=(directory, True), credit=100000)
    agent.wait('EXIT')
    agent.send('CREDIT', struct.pack('>I', 1 << 30))
    done = agent.finish()
    with open(directory + '/20260102030405_rank0.log', 'rb') as file:
        full = file.read()
    assert full.count(b'\n') == lines
    assert done['lost_bytes'] == len(full) - len(agent.out()) > 0, done
    wanted = set(full.splitlines())
    assert all(line in wanted for line in agent.out().splitlines()), 'a torn line'


def test_full_disk_does_not_stop_the_rank():
    if os.getuid() != 0:
        raise Skip('needs root for a small file system')
    directory = os.path.join(SCRATCH, 'small')
    os.mkdir(directory)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', directory], check=False).returncode:
        raise Skip('cannot mount')
    try:
        agent, done = complete(python('import os\nfor i in range(100): os.write(1, b"x" * 9999 + b"\\n")'),
                               log=(directory, True))
        assert agent.exit_of()['code'] == 0 and len(agent.out()) == 1000000
        assert 900000 <= done['log_lost_bytes'] < 1000000, done
    finally:
        subprocess.run(['umount', directory], check=True)


def test_pid_file():
    path = os.path.join(SCRATCH, 'pid')
    agent = Agent()
    agent.run(['cat', path], pid_file=path)
    agent.finish()
    assert int(agent.out()) == agent.pid and not os.path.exists(path)
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'{agent.pid}\n')  # left by one that is dead
    complete(['true'], pid_file=path)
    assert not os.path.exists(path)


# --- PMI -------------------------------------------------------------------------------

PMI = r'''
import os, socket, sys
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
f = s.makefile("rw")
def ask(line):
    f.write(line + "\n"); f.flush()
    return f.readline().strip()
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
'''


def relay_barriers(agent, until='DONE'):
    """Play the launcher of a one-node run: what goes up comes down."""
    put = {}
    while True:
        frame = agent.take()
        assert frame is not None
        if frame.name == 'KVS':
            put.update(frame.body['put'])
            if not frame.body.get('more'):
                agent.send('KVS', {'put': put})
                put = {}
        if frame.name == until:
            return frame.body


def test_pmi_barrier_and_keys():
    code = PMI + r'''
assert ask("cmd=init pmi_version=1 pmi_subversion=1").endswith("rc=0")
assert ask(f"cmd=put kvsname=kvs_0 key=k{rank} value=v{rank}=x").startswith("cmd=put_result rc=0")
assert ask("cmd=barrier_in") == "cmd=barrier_out"
for other in range(size):
    answer = ask(f"cmd=get kvsname=kvs_0 key=k{other}")
    assert answer == f"cmd=get_result rc=0 msg=success value=v{other}=x", answer
assert "rc=-1" in ask("cmd=get kvsname=kvs_0 key=nothing")
assert ask("cmd=get kvsname=kvs_0 key=PMI_process_mapping").endswith("value=(vector,(0,1,3))")
assert ask("cmd=finalize") == "cmd=finalize_ack"
print("all well")
'''
    agent = Agent()
    agent.run(*[python(code)] * 3, pmi=True)
    relay_barriers(agent)
    for rank in range(3):
        assert agent.out(rank) == b'all well\n' and agent.exit_of(rank)['code'] == 0, agent.output
    assert len(agent.all('KVS')) == 1


def test_pmi_unfinished_has_failed():
    agent, _ = complete(python(PMI + 'ask("cmd=init pmi_version=1 pmi_subversion=1")'), ['true'], pmi=True)
    assert agent.exit_of(0)['code'] == 1 and agent.exit_of(0)['pmi'] == 'unfinished'
    assert agent.exit_of(1)['code'] == 0 and 'pmi' not in agent.exit_of(1)


def test_pmi_abort():
    agent = Agent()
    agent.run(['sleep', '1000'], python(PMI + 'f.write("cmd=abort exitcode=13\\n"); f.flush(); import time; time.sleep(1000)'),
              pmi=True)
    frame = agent.wait('ABORT')
    assert frame.rank == 1 and frame.body['code'] == 13
    agent.send('STOP', {'grace_s': 1})
    agent.finish()


def test_mpich_program():
    if not shutil.which('mpicc.mpich'):
        raise Skip('no mpicc.mpich')
    source, program = os.path.join(SCRATCH, 'hello.c'), os.path.join(SCRATCH, 'hello')
    with open(source, 'w', encoding='ascii') as file:
        file.write(r'''#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) { int rank, size, sum;
MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
printf("rank %d of %d sum %d\n", rank, size, sum); MPI_Finalize(); return 0; }''')
    subprocess.run(['mpicc.mpich', '-o', program, source], check=True)
    agent = Agent()
    agent.run(*[[program]] * 3, pmi=True)
    relay_barriers(agent)
    for rank in range(3):
        assert agent.out(rank) == b'rank %d of 3 sum 3\n' % rank, agent.output
        assert agent.exit_of(rank)['code'] == 0


# --- probes ----------------------------------------------------------------------------

def test_probe():
    token = 'ab' * 16
    one, two = Agent(), Agent()
    one.send('PROBE', {'op': 'listen', 'token': token})
    port = one.wait('PROBED').body['port']
    ask = {'op': 'connect', 'token': token, 'port': port, 'timeout_ms': 2000,
           'addresses': ['127.0.0.1', '::1', '127.0.0.2', '192.0.2.1']}
    ask['timeout_ms'] = 300
    two.send('PROBE', ask)
    reached = two.wait('PROBED').body['reached']
    assert {'addr': '127.0.0.1', 'if': 'lo'} in reached and '192.0.2.1' not in str(reached), reached
    assert reached[0]['addr'] == '127.0.0.1'
    two.send('PROBE', dict(ask, token='cd' * 16))
    assert two.wait('PROBED').body['reached'] == []
    one.plan(['true'])
    one.wait('READY')
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        raise AssertionError('still listening after PLAN')
    except ConnectionRefusedError:
        pass
    for agent in (one, two):
        agent.send('STOP', {'grace_s': 0})
        agent.finish()


def test_port_is_held_until_go():
    with socket.socket() as sock:
        sock.bind(('0.0.0.0', 0))
        port = sock.getsockname()[1]
    code = f'import socket; s = socket.socket(); s.bind(("0.0.0.0", {port})); print("bound")'
    agent = Agent()
    agent.send('PROBE', {'op': 'port', 'port': port, 'fixed': True})
    assert agent.wait('PROBED').body == {'op': 'port', 'port': port}
    with socket.socket() as sock:
        try:
            sock.bind(('0.0.0.0', port))
            raise AssertionError('not held')
        except OSError:
            pass
    agent.run(python(code))
    agent.finish()
    assert agent.out() == b'bound\n' and agent.exit_of()['code'] == 0


def test_busy_port():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        sock.listen()
        port = sock.getsockname()[1]
        agent = Agent()
        agent.send('PROBE', {'op': 'port', 'port': port, 'fixed': True})
        answer = agent.wait('PROBED').body
        assert str(port) in answer['error'] and f'pid {os.getpid()} (' in answer['holder'], answer
        agent.send('PROBE', {'op': 'port', 'port': port, 'fixed': False})
        answer = agent.wait('PROBED').body
        assert 'error' not in answer and answer['port'] != port
        agent.send('STOP', {'grace_s': 0})
        agent.finish()


# --- how it ends -----------------------------------------------------------------------

IGNORE_TERM = 'import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("set", flush=True)\ntime.sleep(1000)'


def test_stop_kills_after_grace():
    agent = Agent()
    agent.run(python(IGNORE_TERM))
    agent.wait_output(b'set')
    began = time.monotonic()
    agent.send('STOP', {'grace_s': 0.7})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGKILL
    assert 0.6 < time.monotonic() - began < 5


def test_second_stop_shortens_the_grace():
    agent = Agent()
    agent.run(python(IGNORE_TERM))
    agent.wait_output(b'set')
    began = time.monotonic()
    agent.send('STOP', {'grace_s': 60})
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGKILL and time.monotonic() - began < 10


def test_stopped_rank_sees_term():
    agent = Agent()
    agent.run(['sh', '-c', 'trap "exit 9" TERM; echo set; kill -STOP $$; while :; do sleep 0.02; done'])
    agent.wait_output(b'set')
    pid = agent.all('STARTED')[0].body['pid']
    wait_until(lambda: state_of(pid) == 'T', 'stopped')
    agent.send('STOP', {'grace_s': 20})
    agent.finish()
    assert agent.exit_of()['code'] == 9


def layers():
    """Containments to test, and who can have them."""
    yield 'as it comes', {}, None
    yield 'subreaper', {'MUSTER_TEST_CONTAIN': 'subreaper'}, None
    yield 'cgroup', {'MUSTER_TEST_CONTAIN': 'cgroup,subreaper'}, None
    if os.getuid() == 0:
        yield 'user namespace', {}, 65534


def test_leftovers_are_ended():
    for name, env, uid in layers():
        tag = new_tag()
        agent, done = complete([PYTHON, '-c', DAEMON, tag], agent_env=env, uid=uid)
        assert agent.out() == b'ready\n', (name, agent.output)
        assert done['killed'] == 1 and done['left'] == 0, (name, done)
        assert tagged(tag) == [], name
        print(f'# {name}: {agent.ready["containment"]}')


# Never the same process for long: each forks a successor in a session of its own and goes.
HOPPER = r'''
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("hopping", flush=True)
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 1)
os.dup2(null, 2)
while True:
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
'''


def test_a_process_that_keeps_forking_is_ended():
    for name, env, uid in layers():
        tag = new_tag()
        _, done = complete(*[[PYTHON, '-c', HOPPER, tag]] * 3, agent_env=env, uid=uid)
        assert done['left'] == 0 and tagged(tag) == [], (name, done)


def test_containment_is_named():
    expected = {'subreaper': 'subreaper+lease', 'as it comes': 'pidns', 'user namespace': 'userns+pidns'}
    for name, env, uid in layers():
        agent, _ = complete(['true'], agent_env=env, uid=uid)
        if name in expected and expected[name] not in agent.ready['containment']:
            raise Skip(f'{name}: only {agent.ready["containment"]} here')


def test_exec_sees_the_node_as_it_is():
    agent, _ = complete(['sh', '-c', f'echo $$; ls -d /proc/{os.getpid()}'], mode='exec')
    assert 'pidns' not in agent.ready['containment'], agent.ready
    pid, path = agent.out().decode().split()
    assert int(pid) == agent.all('STARTED')[0].body['pid'] and path == f'/proc/{os.getpid()}'


def test_ranks_keep_the_limits_of_the_login():
    agent, _ = complete(['sh', '-c', 'ulimit -Sn'])
    assert int(agent.out()) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_binding():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip('one CPU')
    show = python('import os; print(sorted(os.sched_getaffinity(0)), os.environ["OMP_NUM_THREADS"])')
    agent, _ = complete(show, show, bind={'list': f'{cpus[0]},{cpus[1]}'})
    assert [agent.out(rank).decode().strip() for rank in (0, 1)] == [f'[{cpus[0]}] 1', f'[{cpus[1]}] 1']
    error = plan_error(['true'], bind={'list': '4000'})
    assert error['code'] == 126 and '4000' in error['text'], error
    error = plan_error(*[['true']] * 600, bind={'list': ''})
    assert '600 ranks cannot be bound' in error['text'], error
    error = plan_error(['true'], bind={'list': ''}, env=['KMP_AFFINITY=compact'])
    assert 'KMP_AFFINITY' in error['text'], error


def kill_and_look(victims, layer_env, uid, within_s):
    """Ranks with a daemon each; SIGKILL; the living after within_s."""
    tag = new_tag()
    agent = Agent(env=layer_env, uid=uid)
    agent.run(*[[PYTHON, '-c', DAEMON, tag, 'stay']] * 2)
    for rank in (0, 1):
        agent.wait_output(b'ready', rank)
    pids = {'agent': agent.pid, 'guard': agent.guard()}
    wait_until(lambda: len(tagged(tag)) == 4, 'two ranks and their daemons')
    for victim in victims:
        os.kill(pids[victim], signal.SIGKILL)
    wait_until(lambda: tagged(tag) == [], f'{victims} killed: {tagged(tag)}', within_s)
    agent.process.wait(DEADLINE_S)
    return agent


def test_sigkill_of_the_agent():
    for _, env, uid in layers():
        kill_and_look(['agent'], env, uid, 2)


def test_sigkill_of_the_guard():
    for name, env, uid in layers():
        agent = kill_and_look(['guard'], env, uid, 2)
        error = agent.wait('ERROR').body
        assert error['stage'] == 'guard' and error['code'] == 69, (name, error)
        done = agent.wait('DONE').body
        assert done['left'] == 0
        for rank in (0, 1):
            assert agent.exit_of(rank)['signal'] == signal.SIGKILL


def test_sigkill_of_both():
    agent, _ = complete(['true'])
    if 'pidns' not in agent.ready['containment']:
        raise Skip('no PID namespace here: only direct ranks die at once')
    kill_and_look(['agent', 'guard'], {}, None, 0.5)
    kill_and_look(['guard', 'agent'], {}, None, 0.5)


def test_sigkill_of_both_without_a_namespace_ends_direct_ranks():
    tag = new_tag()
    agent = Agent(env={'MUSTER_TEST_CONTAIN': 'subreaper'})
    agent.run([PYTHON, '-c', 'print("up", flush=True); import time; time.sleep(1000)', tag])
    agent.wait_output(b'up')
    guard = agent.guard()
    os.kill(agent.pid, signal.SIGSTOP)  # so that it cannot help
    os.kill(guard, signal.SIGKILL)
    os.kill(agent.pid, signal.SIGKILL)
    wait_until(lambda: tagged(tag) == [], 'direct rank dead', 1)
    agent.process.wait(DEADLINE_S)


def test_link_loss_ends_the_ranks():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', IGNORE_TERM, tag], grace_s=0.5)
    agent.wait_output(b'set')
    agent.sock.close()
    wait_until(lambda: tagged(tag) == [], 'rank dead', 5)
    assert agent.process.wait(DEADLINE_S) == 1


def test_lease_runs_out():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', 'print("up", flush=True); import time; time.sleep(1000)', tag],
              heartbeat_s=0.2, lease_s=1)
    agent.wait_output(b'up')
    began = time.monotonic()  # and from here on we are silent
    wait_until(lambda: tagged(tag) == [], 'rank dead', 5)
    assert time.monotonic() - began > 0.5
    assert agent.process.wait(DEADLINE_S) == 1


def test_heartbeats_keep_the_lease():
    agent = Agent()
    agent.run(['sh', '-c', 'sleep 2.5; echo alive'], heartbeat_s=0.2, lease_s=1)
    agent.finish()
    assert agent.out() == b'alive\n'


def test_session_end_is_named():
    agent = Agent()
    agent.run(['sleep', '1000'])
    agent.wait('STARTED')
    os.kill(agent.pid, signal.SIGTERM)
    error = agent.wait('ERROR').body
    assert 'session end' in error['text'] and 'linger' in error['hint'], error
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGTERM


def test_held_pipe_is_late():
    agent = Agent()
    agent.run(['sh', '-c', 'sleep 1000 & echo gone'], ['sleep', '1000'])
    end = agent.wait('EXIT', 10, rank=0).body
    assert end['late'] is True and end['code'] == 0
    agent.send('STOP', {'grace_s': 1})
    agent.finish()
    assert (0, 1) in agent.ended


def test_stop_before_anything():
    for step in ('hello', 'ready'):
        agent = Agent()
        if step == 'ready':
            agent.plan(['true'])
            agent.wait('READY')
        agent.send('STOP', {'grace_s': 5})
        assert agent.finish()['left'] == 0


def test_other_generations_are_ignored():
    agent = Agent(generation=3)
    agent.run(['sleep', '1000'])
    assert agent.wait('STARTED').generation == 3
    agent.send('STOP', {'grace_s': 0}, generation=2)
    agent.send('PING', b'x' * 8, generation=2)
    agent.wait('PONG')
    assert not agent.all('EXIT')
    agent.send('STOP', {'grace_s': 0})
    agent.finish()


def test_garbage_ends_the_link():
    chance = random.Random(3)
    for _ in range(20):
        agent = Agent()
        try:
            agent.sock.sendall(bytes(chance.randrange(256) for _ in range(64)) + b'\xff' * 64)
            while agent.take() is not None:
                pass
            raise AssertionError('no end')
        except (EOFError, ConnectionError):
            assert agent.process.wait(DEADLINE_S) == 1


def test_many_ranks():
    agent, done = complete(*[['sh', '-c', 'echo $RANK']] * 200)
    assert [int(agent.out(rank)) for rank in range(200)] == list(range(200))
    assert done['left'] == 0


def test_oom_evidence():
    base = None
    for candidate in ('/sys/fs/cgroup/memory', '/sys/fs/cgroup'):
        name = 'memory.limit_in_bytes' if candidate.endswith('memory') else 'memory.max'
        path = os.path.join(candidate, f'muster-test-{os.getpid()}')
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, name)):
            base = path
            break
        os.rmdir(path)
    if base is None:
        raise Skip('no memory cgroup can be made here')
    try:
        with open(os.path.join(base, name), 'w', encoding='ascii') as file:
            file.write(str(64 << 20))
        agent = Agent(env={'MUSTER_TEST_CONTAIN': 'subreaper'})
        with open(os.path.join(base, 'cgroup.procs'), 'w', encoding='ascii') as file:
            file.write(str(agent.pid))
        agent.run(python('x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1'))
        agent.finish()
        end = agent.exit_of()
        assert end['signal'] == signal.SIGKILL, end
        assert 'oom_kill 0\u21921' in end['oom'] and 'limit 64 MiB' in end['oom'], end
    finally:
        wait_until(lambda: open(base + '/cgroup.procs', encoding='ascii').read() == '', 'cgroup empty')
        os.rmdir(base)


def test_unkillable_is_reported():
    if os.getuid() != 0 or not all(map(shutil.which, ('fsfreeze', 'mkfs.ext4', 'losetup'))):
        raise Skip('needs root, fsfreeze and mkfs.ext4')
    image, mount = os.path.join(SCRATCH, 'image'), os.path.join(SCRATCH, 'frozen')
    os.mkdir(mount)
    with open(image, 'wb') as file:
        file.truncate(16 << 20)
    subprocess.run(['mkfs.ext4', '-q', image], check=True)
    if subprocess.run(['mount', '-o', 'loop', image, mount], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip('cannot mount a loop device')
    thaw = subprocess.Popen(['sh', '-c', f'sleep 40; fsfreeze -u {mount}'])  # whatever happens here
    try:
        agent = Agent()
        agent.run(python(f'import os, subprocess\nf = open("{mount}/x", "w")\nsubprocess.run(["fsfreeze", "-f", "{mount}"])\n'
                         'print("frozen", flush=True)\nos.write(f.fileno(), b"x")'))
        agent.wait_output(b'frozen')
        pid = agent.all('STARTED')[0].body['pid']
        wait_until(lambda: state_of(pid) == 'D', 'writing')
        began = time.monotonic()
        agent.send('STOP', {'grace_s': 0})
        done = agent.finish(20)
        assert 9 < time.monotonic() - began < 13, time.monotonic() - began
        assert done['left'] == 1 and done['stuck'][0]['pid'] == pid, done
        assert done['stuck'][0]['wchan'] and 'python' in done['stuck'][0]['name'], done
    finally:
        thaw.kill()
        subprocess.run(['fsfreeze', '-u', mount], check=False)
        wait_until(lambda: subprocess.run(['umount', mount], check=False, stderr=subprocess.DEVNULL).returncode == 0,
                   'unmounted')


def test_command_line():
    run = subprocess.run([AGENT, '--version'], capture_output=True, check=True)
    assert run.stdout.startswith(b'muster-agent ')
    run = subprocess.run([AGENT], capture_output=True, check=False)
    assert run.returncode == 2 and b'muster starts this' in run.stderr


def main():
    wanted = sys.argv[1:]
    tests = [(name[5:].replace('_', ' '), function) for name, function in globals().items()
             if name.startswith('test_') and (not wanted or any(w in name for w in wanted))]
    if not os.access(AGENT, os.X_OK):
        print(f'1..0 # SKIP {AGENT} is not built')
        return 0
    print(f'1..{len(tests)}', flush=True)
    failed = 0
    for number, (name, function) in enumerate(tests, 1):
        began = time.monotonic()
        try:
            function()
            print(f'ok {number} - {name} # {time.monotonic() - began:.1f} s', flush=True)
        except Skip as why:
            print(f'ok {number} - {name} # SKIP {why}', flush=True)
        except Exception as why:  # pylint: disable=broad-except
            failed += 1
            line = why.__traceback__
            while line.tb_next:
                line = line.tb_next
            print(f'not ok {number} - {name}\n# {type(why).__name__}: {why} '
                  f'({line.tb_frame.f_code.co_name}:{line.tb_lineno})', flush=True)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    return failed > 0


sys.exit(main())
