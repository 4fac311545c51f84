#!/usr/bin/env python3
# agent_start.t - a rank that cannot be contained or started is said to be so
# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not start."""

import os
import signal
import socket
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, cgroup_agent, DEADLINE_S, main, SCRATCH, Skip


def not_started(agent):
    """The ERROR, after which nothing has run and nothing is left."""
    error = agent.wait('ERROR').body
    assert error['stage'] == 'plan', error
    assert agent.finish()['left'] == 0
    assert not agent.all('READY') and not agent.all('STARTED')
    return error


def meanwhile(commands):
    """A --venv_script: it runs when there is a guard, and no rank yet."""
    path = os.path.join(SCRATCH, 'meanwhile.sh')
    with open(path, 'w', encoding='ascii') as script:
        script.write(commands)
    return path


def test_a_rank_that_is_in_no_group_is_not_started():
    cgroup_agent().sock.close()  # skips if there are no groups
    agent = Agent(env={'MUSTER_TEST_CONTAIN': 'cgroup'})
    agent.plan(['true'], venv_script=meanwhile(
        'for group in $(find /sys/fs/cgroup -name "muster-*-$PPID"); do\n'
        '    echo $$ >"${group%/*}/cgroup.procs" && rmdir "$group"\n'
        'done\n'))
    error = not_started(agent)
    assert 'control group' in error['text'] and error['code'] == 126, error


def test_a_guard_without_descriptors_starts_no_rank():
    for number in range(8, 12):
        agent = Agent()
        agent.plan(['true'], ['true'],
                   venv_script=meanwhile(f'prlimit --pid $PPID --nofile={number}:{number}\n'))
        error = not_started(agent)
        assert 'RLIMIT_NOFILE' in error['text'] and error['code'] == 73, (number, error)


def test_a_rank_that_is_killed_before_GO_ends_the_run():
    agent = Agent()
    agent.plan(['sleep', '1000'], ['sleep', '1000'])
    agent.wait('READY')
    with open(f'/proc/{agent.guard()}/task/{agent.guard()}/children', encoding='ascii') as ranks:
        os.kill(int(ranks.read().split()[1]), signal.SIGKILL)
    error = agent.wait('ERROR').body
    assert 'rank 1 was killed by SIGKILL before it started' in error['text'], error
    assert agent.finish()['left'] == 0
    assert not agent.all('STARTED') and not agent.all('EXIT')


def test_a_stop_before_GO_does_not_wait_for_the_grace():
    agent = Agent()
    agent.plan(['sleep', '1000'], ['sleep', '1000'])
    agent.wait('READY')
    agent.send('SIGNAL', {'signal': signal.SIGUSR1})  # for programs, and there are none yet
    agent.send('STOP', {'grace_s': 10 * DEADLINE_S})
    assert agent.finish() == agent.all('DONE')[0].body
    assert not agent.all('ERROR')


# A user may have so many descriptors in flight, between sending and receiving, as one process
# may have open. Here they are all taken, so that the guard cannot be sent a rank's.
def test_a_guard_that_cannot_be_told_of_a_rank():
    if os.getuid() != 0:
        raise Skip('needs root')
    agent = Agent(uid=65534, before=['prlimit', '--nofile=300'])
    ours, _theirs = socket.socketpair()
    taker = os.fork()
    if taker == 0:
        os.setuid(65534)
        for _ in range(2):
            socket.send_fds(ours, [b'x'], [0] * 200)
        os._exit(0)
    os.waitpid(taker, 0)
    agent.plan(['true'], ['true'])
    error = not_started(agent)
    assert 'cannot tell the guard' in error['text'] and 'RLIMIT_NOFILE' in error['text'], error


main(globals())
