#!/usr/bin/env python3
# agent_files.t - the log files and the pid file that muster-agent writes
# SPDX-License-Identifier: Apache-2.0
"""Log files and the pid file."""

import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, complete, main, python, SCRATCH, Skip


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


def test_pid_file_that_cannot_be_written():
    path = os.path.join(SCRATCH, 'pid')
    agent = Agent(before=['prlimit', '--fsize=0'])
    agent.plan(['true'], pid_file=path)
    error = agent.wait('ERROR').body
    assert error['code'] == 73 and path in error['text'], error
    agent.finish()
    assert not os.path.exists(path)


main(globals())
