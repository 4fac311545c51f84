#!/usr/bin/env python3
# agent_lease.t - a lost link, a lease that runs out and the end of the session end the ranks
# SPDX-License-Identifier: Apache-2.0
"""The link, the lease, the session."""

import os
import signal
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, DEADLINE_S, IGNORE_TERM, main, new_tag, PYTHON, slowness,
                          tagged, wait_until)


def test_link_loss_ends_the_ranks():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', IGNORE_TERM, tag], grace_s=0.5)
    agent.wait_output(b'set')
    agent.sock.close()
    wait_until(lambda: tagged(tag) == [], 'rank dead')
    assert agent.process.wait(DEADLINE_S) == 1


def since(agent):
    """Seconds since the last PING that we have answered, and with which the lease began."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - agent.answered_s


def test_lease_runs_out():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', 'print("up", flush=True); import time; time.sleep(1000)', tag],
              heartbeat_s=0.2, lease_s=3)
    agent.wait_output(b'up')
    agent.wait('PING')
    wait_until(lambda: tagged(tag) == [], 'rank dead')  # from here on we are silent
    assert since(agent) >= 2.25, since(agent)  # TERM comes a quarter before its end
    assert agent.process.wait(DEADLINE_S) == 69


# A line that is cut in one direction: what comes proves that muster is there, but muster may have
# given this node up. And a grace does not make the lease longer.
def test_only_answers_renew_the_lease():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', IGNORE_TERM, tag], heartbeat_s=0.2, lease_s=2, grace_s=60)
    agent.wait_output(b'set')
    agent.wait('PING')
    slow = slowness()
    while tagged(tag) != [] and since(agent) < 15 * max(slow, slowness()):
        agent.reply('PING', bytes(16))  # it may just have ended
        time.sleep(0.1)
    took = since(agent)
    assert 2 <= took < 2 + 2 * max(slow, slowness()), took
    assert agent.process.wait(DEADLINE_S) == 69


def test_heartbeats_keep_the_lease():
    agent = Agent()
    slow = slowness()
    agent.run(['sh', '-c', f'sleep {2.5 * slow}; echo alive'], heartbeat_s=0.2 * slow, lease_s=slow)
    agent.finish()
    assert agent.out() == b'alive\n'


def test_session_end_is_named():
    agent = Agent()
    agent.run(['sleep', '1000'])
    agent.wait('STARTED')
    os.kill(agent.pid, signal.SIGTERM)
    error = agent.wait('ERROR').body
    assert 'session ended' in error['text'] and 'linger' in error['hint'], error
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGTERM


main(globals())
