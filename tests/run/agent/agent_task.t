#!/usr/bin/env python3
# agent_task.t - muster-agent does tasks in a child, one after the other
# SPDX-License-Identifier: Apache-2.0
"""Tasks."""

import socket
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, main


def test_two_tasks():
    agent = Agent()
    for number in (0, 1):
        request = {'task': 'echo', 'id': number, 'deadline_s': 30, 'text': 'ä'}
        agent.send('TASK', request)
        line = agent.wait('TASK_LINE')
        end = agent.wait('TASK_END')
        assert line.body == {'id': number, 'line': request}, line
        assert end.body == {'id': number, 'status': 0, 'timed_out': False, 'dropped': 0}, end
    agent.send('STOP', {'grace_s': 0})
    agent.finish()


# The link is lost when the agent sends the first line, and that ends the task. What is freed is not
# what it was.
def test_nobody_reads():
    agent = Agent(env={'GLIBC_TUNABLES': 'glibc.malloc.tcache_count=0:glibc.malloc.perturb=165'})
    agent.sock.shutdown(socket.SHUT_RD)
    agent.send('TASK', {'task': 'echo', 'id': 0, 'deadline_s': 30})
    assert agent.process.wait(30) == 1, agent.process.returncode


def test_refused():
    for request in ({'task': 'shell', 'id': 0, 'deadline_s': 1}, {'task': 'echo'}):
        agent = Agent()
        agent.send('TASK', request)
        agent.process.wait(30)
        assert agent.process.returncode != 0


def test_not_beside_ranks():
    agent = Agent()
    agent.run(['sleep', '1000'])
    agent.wait('STARTED')
    agent.send('TASK', {'task': 'echo', 'id': 0, 'deadline_s': 1})
    agent.process.wait(30)
    assert agent.process.returncode != 0


main(globals())
