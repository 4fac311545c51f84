#!/usr/bin/env python3
# agent_task.t - muster-agent does tasks in a child, one after the other
# SPDX-License-Identifier: Apache-2.0
"""Tasks."""

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
