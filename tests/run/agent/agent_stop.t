#!/usr/bin/env python3
# agent_stop.t - how STOP ends ranks
# SPDX-License-Identifier: Apache-2.0
"""STOP and its grace."""

import signal
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, DEADLINE_S, IGNORE_TERM, main, python, state_of, wait_until


def test_stop_kills_after_grace():
    agent = Agent()
    agent.run(python(IGNORE_TERM))
    agent.wait_output(b'set')
    began = time.monotonic()
    agent.send('STOP', {'grace_s': 0.7})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGKILL
    took_s = time.monotonic() - began
    assert took_s > 0.6, took_s


def test_second_stop_shortens_the_grace():
    agent = Agent()
    agent.run(python(IGNORE_TERM))
    agent.wait_output(b'set')
    agent.send('STOP', {'grace_s': 10 * DEADLINE_S})
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGKILL


def test_stopped_rank_sees_term():
    agent = Agent()
    agent.run(['sh', '-c', 'trap "exit 9" TERM; echo set; kill -STOP $$; while :; do sleep 0.02; done'])
    agent.wait_output(b'set')
    pid = agent.all('STARTED')[0].body['pid']
    wait_until(lambda: state_of(pid) == 'T', 'stopped')
    agent.send('STOP', {'grace_s': 20})
    agent.finish()
    assert agent.exit_of()['code'] == 9


def test_stop_before_anything():
    for step in ('hello', 'ready'):
        agent = Agent()
        if step == 'ready':
            agent.plan(['true'])
            agent.wait('READY')
        agent.send('STOP', {'grace_s': 5})
        assert agent.finish()['left'] == 0


def test_held_pipe_is_late():
    agent = Agent()
    agent.run(['sh', '-c', 'sleep 1000 & echo gone'], ['sleep', '1000'])
    end = agent.wait('EXIT', 10, rank=0).body
    assert end['late'] is True and end['code'] == 0
    agent.send('STOP', {'grace_s': 1})
    agent.finish()
    assert (0, 1) in agent.ended


main(globals())
