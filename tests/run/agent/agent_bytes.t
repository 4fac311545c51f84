#!/usr/bin/env python3
# agent_bytes.t - what goes in comes out: arguments, environment and output of ranks
# SPDX-License-Identifier: Apache-2.0
"""Arguments, environment, output and its credit, byte by byte."""

import hashlib
import os
import random
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, complete, DEADLINE_S, main, PYTHON, python, SANITIZED, SHOW, Skip,
                          wait_until)


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
                        env=['B=env', 'E=env', 'F=env'], rank_env=lambda i: ['F=rank', 'G=rank'],
                        go=['F=go', 'H=go', '', 'A=default', 'D=default', 'E=default', 'H=default'])
    env = eval(agent.out())[1]  # pylint: disable=eval-used
    got = {name: env.get(name.encode()).decode() for name in 'ABCDEFGH'}
    assert got == {'A': 'agent', 'B': 'env', 'C': 'agent', 'D': 'default', 'E': 'env',
                   'F': 'go', 'G': 'rank', 'H': 'go'}, got


def test_bad_variables_with_go_end_a_run():
    agent = Agent()
    agent.plan(['sleep', '1000'])
    agent.wait('READY')
    agent.send('GO', b'A=1')
    try:
        while agent.take() is not None:
            pass
        raise AssertionError('no end')
    except (EOFError, ConnectionError):
        assert agent.process.wait(DEADLINE_S) == 1


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
    # At first the agent, too, may not have woken for what is in the pipe.
    wait_until(lambda: is_blocked() and len(agent.out()) >= 1000, 'rank blocked on its pipe')
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
    agent.send('PING', b'12345678' * 2)
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


main(globals())
