# agent_driver.py - plays the launcher to a real muster-agent, over a socket pair
#
# What the scripts in this folder share. Each test_* function of theirs is one TAP line; their
# last line is main(globals()).
# SPDX-License-Identifier: Apache-2.0
"""Drive muster-agent as the launcher would."""

import atexit
import json
import os
import random
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
         'SIGNAL STOP PING PONG ERROR DONE CLEAN CLEANED IDLE STACKS STACKED ACK RECONNECT RESUMED '
        'DUMPING TREE ENTRIES WANTED FILE DATA FAILED '
        'TASK TASK_LINE TASK_END - SUMS NEED HAVE LISTEN LINK LINKED GIVE LIST HASH NOTICE NOTICED '
        'CHECKPOINT SHARD FINISH INPUT WINDOW SUDO PASSWORD STEPS EVIDENCE '
        'RAS COLLECTIVES SAMPLES FLIGHT').split()
NUMBER = {name: number for number, name in enumerate(TYPES)}
RAW = {'OUTPUT', 'PING', 'PONG', 'BLOB', 'CREDIT', 'GO', 'ACK', 'WANTED', 'NEED', 'HAVE',
       'SHARD', 'FINISH', 'INPUT'}
NONCE = '0123456789abcdef' * 2
AGENT = os.environ.get('MUSTER_AGENT') or os.path.join(
    os.environ.get('top_builddir', '.'), 'agent', 'muster-agent')
# It knows switches for tests: agent/node/test_switch.h.
TEST_AGENT = os.path.join(os.environ.get('top_builddir', '.'), 'tests', 'run', 'agent',
                          'muster-agent')
with open(AGENT, 'rb') if os.path.exists(AGENT) else open(os.devnull, 'rb') as program:
    SANITIZED = b'__asan_init' in program.read()  # it keeps freed memory for a while
SCRATCH = tempfile.mkdtemp(prefix='muster-agent-test.')
os.chmod(SCRATCH, 0o755)
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
# Only what never comes is waited for this long: no claim is made about how fast this machine is.
DEADLINE_S = 120
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


def pack(items):
    return b''.join(os.fsencode(item) + b'\0' for item in items)


class Agent:
    """One agent and the launcher's end of its stream."""

    def __init__(self, env=None, uid=None, generation=0, args=(), before=(), program=None):
        self.sock, theirs = socket.socketpair()
        if program is None:
            program = TEST_AGENT if any(name.startswith('MUSTER_TEST_') for name in env or {}) \
                else AGENT
        command = [*before, program, '--nonce', NONCE, *args]
        if uid is not None:
            command = ['setpriv', f'--reuid={uid}', f'--regid={uid}', '--clear-groups', *command]
        full = dict(os.environ)
        # Of a sanitized agent: see agent/no_leak_check.c.
        full['ASAN_OPTIONS'] = full.get('ASAN_OPTIONS', '') + ':detect_leaks=1'
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
        self.answered_s = 0    # since boot: when the last PING that was answered was sent
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
        return self.send_blob(pack(items))

    def plan(self, *argvs, env=(), rank_env=None, pmi=False, **more):
        """Send a PLAN that runs one rank for each argv."""
        argvs = argvs or (['true'],)
        body = {'run_id': 'test-run', 'mode': 'run', 'world_size': len(argvs), 'node_rank': 0,
                'node_count': 1, 'grace_s': 2, 'heartbeat_s': 1, 'lease_s': 10,
                'credit': 1 << 20, 'env': self.send_list(env), 'omp_default': False}
        for key in ('cwd', 'venv_script', 'pid_file', 'progress'):
            if key in more:
                body[key] = self.send_blob(os.fsencode(more.pop(key)))
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

    def run(self, *argvs, go=(), **more):
        """Plan, wait for READY, go."""
        self.plan(*argvs, **more)
        self.ready = self.wait('READY').body
        self.send('GO', pack(go))

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
            pass  # it has ended since

    def digest(self, frame):
        if frame.name == 'PING':
            self.answered_s = struct.unpack('>Q', frame.body)[0] / 1e9
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
            frame = self.take(end - time.monotonic())
            assert frame is not None, f'no {name} within {timeout} s; had {self.frames}'
            if frame.name == 'ERROR' and name not in ('ERROR', 'DONE'):
                raise AssertionError(f'ERROR while waiting for {name}: {frame.body}')
            if frame.name == name and rank in (None, frame.rank):
                return frame

    def wait_output(self, text, rank=0, stream=1):
        end = time.monotonic() + DEADLINE_S  # heartbeats come all the time
        while text not in self.out(rank, stream):
            assert self.take(end - time.monotonic()) is not None, \
                f'no {text!r} in {self.out(rank, stream)!r}'

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


def plan_error(*argvs, **more):
    """A PLAN that is refused: the body of ERROR."""
    agent = Agent()
    agent.plan(*argvs, **more)
    error = agent.wait('ERROR').body
    assert error['stage'] == 'plan', error
    assert agent.finish()['left'] == 0
    assert not agent.all('READY')
    return error


def python(code):
    return [PYTHON, '-c', code]


def wait_until(condition, what, timeout=DEADLINE_S):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f'{what}: not within {timeout} s'
        time.sleep(0.002)  # between two looks at the state, not for it


def slowness():
    """How many programs want each CPU, in the last minute or now: 1 to 10."""
    with open('/proc/loadavg', encoding='ascii') as file:
        load, _, _, running, _ = file.read().split()
    wanted = max(float(load), int(running.split('/')[0]) - 1) / os.cpu_count()
    return min(10, max(1, wanted * (3 if SANITIZED else 1)))


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


# A rank that prints its arguments and its environment, for eval().
SHOW = ('import os, sys\n'
        'sys.stdout.buffer.write(repr(([os.fsencode(a) for a in sys.argv[1:]], '
        'dict(os.environb))).encode())')


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
def words(pid):
    try:
        return open(f"/proc/{pid}/cmdline", errors="replace").read().split("\0")
    except OSError:
        return []  # it has gone since
while not any({"renamed", sys.argv[1]} <= set(words(p)) for p in os.listdir("/proc") if p.isdigit()):
    time.sleep(0.01)
print("ready", flush=True)
if len(sys.argv) > 2:
    time.sleep(1000)
'''


# A rank that is deaf to SIGTERM.
IGNORE_TERM = ('import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n'
               'print("set", flush=True)\ntime.sleep(1000)')


def containments():
    """Containments to test, and who can have them."""
    yield 'as it comes', {}, None
    yield 'subreaper', {'MUSTER_TEST_CONTAIN': 'subreaper'}, None
    yield 'cgroup', {'MUSTER_TEST_CONTAIN': 'cgroup,subreaper'}, None
    if os.getuid() == 0:
        yield 'user namespace', {}, 65534


def cgroup_agent():
    """An agent that contains its ranks by a control group and nothing else."""
    agent = Agent(env={'MUSTER_TEST_CONTAIN': 'cgroup'})
    agent.plan(['true'])
    if 'cgroup' not in agent.wait('READY').body['containment']:
        raise Skip('no control groups for us here')
    return agent


def main(tests_of):
    """Run the test_* functions of a script, or those whose name has one of its arguments in it."""
    wanted = sys.argv[1:]
    tests = [(name[5:].replace('_', ' '), function) for name, function in tests_of.items()
             if name.startswith('test_') and (not wanted or any(w in name for w in wanted))]
    if not os.access(AGENT, os.X_OK):
        print(f'1..0 # SKIP {AGENT} is not built')
        sys.exit(0)
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
    sys.exit(failed > 0)
