#!/usr/bin/env python3
# agent.t - the real muster-agent runs ranks and reports how they end
# SPDX-License-Identifier: Apache-2.0
"""The ordinary course of a run, and its edges."""

import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (AGENT, Agent, complete, DEADLINE_S, main, plan_error, python,
                          SCRATCH, Skip, TEST_AGENT, wait_until)


def test_hello():
    agent = Agent()
    hello = agent.hello
    assert hello['protocol'] == 2 and hello['host'] == socket.gethostname()
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


def test_signals_are_the_agents_own():
    agent = Agent(before=('env', '--block-signal', '--ignore-signal'))
    agent.run(['sh', '-c', 'grep -E "Sig(Blk|Ign)" /proc/self/status; exit 5'])
    agent.finish()
    assert agent.exit_of(0)['code'] == 5
    assert agent.out().split() == [b'SigBlk:', b'0' * 16, b'SigIgn:', b'0' * 16], agent.out()
    agent = Agent(before=('env', '--block-signal', '--ignore-signal'))
    agent.run(['sleep', '100'])
    agent.wait('STARTED')
    agent.process.terminate()
    assert 'session ended (SIGTERM' in agent.wait('ERROR').body['text']
    agent.finish()


def test_oom_score_is_raised():
    agent, _ = complete(['cat', '/proc/self/oom_score_adj'])
    assert agent.out().strip() == b'500', agent.out()


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


def test_other_generations_are_ignored():
    agent = Agent(generation=3)
    agent.run(['sleep', '1000'])
    assert agent.wait('STARTED').generation == 3
    agent.send('STOP', {'grace_s': 0}, generation=2)
    agent.send('PING', b'x' * 16, generation=2)
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


def test_command_line():
    run = subprocess.run([AGENT, '--version'], capture_output=True, check=True)
    assert run.stdout.startswith(b'muster-agent ')
    run = subprocess.run([AGENT], capture_output=True, check=False)
    assert run.returncode == 2 and b'muster starts it' in run.stderr


# What looks for the stacks of twenty ranks: never more than sixteen at a time.
def test_stacks_take_turns():
    log, go = os.path.join(SCRATCH, 'gdb.log'), os.path.join(SCRATCH, 'gdb.go')
    folder = os.path.join(SCRATCH, 'bin')
    os.mkdir(folder)
    os.mkfifo(go)  # opening it waits for a writer, and takes no time of a CPU
    with open(os.path.join(folder, 'gdb'), 'w', encoding='ascii') as file:
        file.write(f'#!/bin/sh\necho in >>{log}\n: <{go}\n'
                   f'echo "#0 here"\necho out >>{log}\n')
    os.chmod(file.name, 0o755)

    def lines():
        if not os.path.exists(log):
            return []
        with open(log, encoding='ascii') as file:
            return file.read().split()
    agent = Agent()
    agent.run(*[['sleep', '1000']] * 20, rank_env=lambda i: [f'PATH={folder}:/usr/bin:/bin'])
    while len(agent.all('STARTED')) < 20:
        agent.wait('STARTED')
    agent.send('STACKS', {})
    wait_until(lambda: len(lines()) >= 16, 'sixteen')
    with open(go, 'w', encoding='ascii'):
        while not agent.all('STACKED') or 'end' not in agent.all('STACKED')[-1].body:
            agent.wait('STACKED')
    texts = [frame.body['text'] for frame in agent.all('STACKED')[:-1]]
    assert len(texts) == 20 and all('#0 here' in text for text in texts), texts
    most = max(2 * lines()[:i].count('in') - i for i in range(1, 41))
    assert most == 16, most
    agent.send('STOP', {'grace_s': 1})
    agent.finish()


# Once it has answered, it may be asked again; not before.
def test_stacks_again():
    folder = os.path.join(SCRATCH, 'slow')
    os.mkdir(folder)
    gdb = os.path.join(folder, 'gdb')
    for program, answers in (('#!/bin/sh\necho "#0 here"\n', 2),
                             ('#!/bin/sh\nexec sleep 1000\n', 0)):
        with open(gdb, 'w', encoding='ascii') as file:
            file.write(program)
        os.chmod(gdb, 0o755)
        agent = Agent()
        agent.run(['sleep', '1000'], rank_env=lambda i: [f'PATH={folder}:/usr/bin:/bin'])
        agent.wait('STARTED')
        agent.send('STACKS', {})
        for _ in range(answers):
            assert '#0 here' in agent.wait('STACKED').body['text']
            assert agent.wait('STACKED').body == {'end': True}
            agent.send('STACKS', {})
        if answers:
            agent.send('STOP', {'grace_s': 0})
            agent.finish()
            continue
        agent.send('STACKS', {})
        try:
            while agent.take() is not None:
                pass
            raise AssertionError('no end')
        except (EOFError, ConnectionError):
            assert agent.process.wait(DEADLINE_S) != 0


# With them a rank could get away: what is installed must not know them.
def test_switches_for_tests_are_off():
    switches = {'MUSTER_TEST_CONTAIN': 'none'}
    words = []
    for program, env in ((AGENT, {}), (AGENT, switches), (TEST_AGENT, switches)):
        agent = Agent(env=env, program=program)
        agent.run(['true'])
        words.append(agent.ready['containment'])
        agent.finish()
    assert words[0] == words[1] != 'lease' and words[2] == 'lease', words


def test_notice_as_the_rank_begins():
    agent = Agent()
    agent.run(python('import os, signal, time\n'
                     'signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"told"))\n'
                     'time.sleep(1000)'))
    agent.send('NOTICE', {'left_s': 30, 'reason': 'r', 'node': 'n', 'signal': signal.SIGUSR1})
    assert agent.wait('NOTICED').body['signalled'] == 1
    agent.wait_output(b'told')
    agent.send('STOP', {'grace_s': 0})
    agent.finish()


main(globals())
