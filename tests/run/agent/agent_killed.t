#!/usr/bin/env python3
# agent_killed.t - SIGKILL to agent or guard ends the ranks
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL to agent and guard."""

import os
import signal
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, complete, containments, DAEMON, DEADLINE_S, main, new_tag,
                          PYTHON, Skip, tagged, wait_until)


# What ends the ranks is not that their lease has run out.
LONG_LEASE_S = 10 * DEADLINE_S


def kill_and_look(victims, env, uid):
    """Ranks with a daemon each; SIGKILL; nothing lives on."""
    tag = new_tag()
    agent = Agent(env=env, uid=uid)
    agent.run(*[[PYTHON, '-c', DAEMON, tag, 'stay']] * 2, lease_s=LONG_LEASE_S)
    for rank in (0, 1):
        agent.wait_output(b'ready', rank)
    pids = {'agent': agent.pid, 'guard': agent.guard()}
    wait_until(lambda: len(tagged(tag)) == 4, 'two ranks and their daemons')
    for victim in victims:
        os.kill(pids[victim], signal.SIGKILL)
    wait_until(lambda: tagged(tag) == [], f'{victims} killed: {tagged(tag)}')
    agent.process.wait(DEADLINE_S)
    return agent


def test_sigkill_of_the_agent():
    for _, env, uid in containments():
        kill_and_look(['agent'], env, uid)


def test_sigkill_of_the_guard():
    for name, env, uid in containments():
        agent = kill_and_look(['guard'], env, uid)
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
    kill_and_look(['agent', 'guard'], {}, None)
    kill_and_look(['guard', 'agent'], {}, None)


def test_sigkill_of_both_without_a_namespace_ends_direct_ranks():
    tag = new_tag()
    agent = Agent(env={'MUSTER_TEST_CONTAIN': 'subreaper'})
    agent.run([PYTHON, '-c', 'print("up", flush=True); import time; time.sleep(1000)', tag],
              lease_s=LONG_LEASE_S)
    agent.wait_output(b'up')
    guard = agent.guard()
    os.kill(agent.pid, signal.SIGSTOP)  # so that it cannot help
    os.kill(guard, signal.SIGKILL)
    os.kill(agent.pid, signal.SIGKILL)
    wait_until(lambda: tagged(tag) == [], 'direct rank dead')
    agent.process.wait(DEADLINE_S)


main(globals())
