#!/usr/bin/env python3
# agent_start.t - a rank that cannot be contained or started is said to be so
# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not start."""

import os
import resource
import socket
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, cgroup_agent, main, Skip


def test_a_rank_that_is_in_no_group_is_not_started():
    agent = cgroup_agent()
    groups = [os.path.join(top, name) for top, names, _ in os.walk('/sys/fs/cgroup')
              for name in names if name.startswith('muster-') and
              name.endswith(f'-{agent.guard()}')]
    assert len(groups) == 1, groups
    os.rmdir(groups[0])
    agent.send('GO')
    agent.finish()
    assert 'control group' in agent.exit_of()['error'] and agent.exit_of()['code'] == 126
    assert not agent.all('STARTED')


# Its rank cannot say why it does not start in the usual way.
def test_a_rank_without_descriptors_is_not_started():
    agent = Agent()
    agent.plan(['true'])
    agent.wait('READY')
    resource.prlimit(agent.guard(), resource.RLIMIT_NOFILE, (20, 20))
    agent.send('GO')
    agent.finish()
    assert 'cannot start' in agent.exit_of()['error'] and not agent.all('STARTED')


# A user may have so many descriptors in flight, between sending and receiving, as one process
# may have open. Here they are all taken, so that the guard cannot be sent a rank's.
def test_a_guard_that_cannot_be_told_of_a_rank():
    if os.getuid() != 0:
        raise Skip('needs root')
    agent = Agent(uid=65534, before=['prlimit', '--nofile=300'])
    agent.plan(['true'], ['true'])
    agent.wait('READY')
    ours, _theirs = socket.socketpair()
    taker = os.fork()
    if taker == 0:
        os.setuid(65534)
        for _ in range(2):
            socket.send_fds(ours, [b'x'], [0] * 200)
        os._exit(0)
    os.waitpid(taker, 0)
    agent.send('GO')
    error = agent.wait('ERROR').body
    assert error['stage'] == 'start' and 'cannot tell the guard' in error['text'], error
    assert agent.finish(10)['left'] == 0


main(globals())
