#!/usr/bin/env python3
# agent_again.t - an agent that stays when a generation is over, for the next one
# SPDX-License-Identifier: Apache-2.0
"""PLAN with "stay": DONE, then another PLAN or the end."""

import os
import signal
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, DAEMON, SCRATCH, main, new_tag, python, tagged)

SLEEP = ['sleep', '1000']


def over(agent):
    """Until DONE, and forget what came before; its body."""
    done = agent.wait('DONE').body
    agent.frames.clear()
    agent.output.clear()
    agent.ended.clear()
    agent.generation += 1
    return done


def leave(agent):
    agent.send('STOP', {'grace_s': 0})
    assert agent.process.wait(30) == 0


def test_three_generations():
    agent = Agent(generation=1)
    guard = None
    for turn in range(3):
        agent.run(['sh', '-c', f'echo turn {turn}; exit {turn}'], SLEEP, stay=True,
                  log=(f'{SCRATCH}/logs-{turn}', True))
        guard = guard or agent.guard()
        assert agent.wait('EXIT', rank=0).generation == 1 + turn
        assert agent.exit_of(0)['code'] == turn
        agent.send('STOP', {'grace_s': 5})
        assert agent.wait('EXIT', rank=1).body['signal'] == signal.SIGTERM
        assert agent.out() == b'turn %d\n' % turn
        done = over(agent)
        assert done['stays'] and done['left'] == 0, done
        assert agent.guard() == guard
        assert len(os.listdir(f'{SCRATCH}/logs-{turn}')) == 2
    leave(agent)


def test_what_is_left_ends_first():
    agent, tag = Agent(generation=1), new_tag()
    agent.run(python(DAEMON)[:2] + [DAEMON, tag], stay=True)
    agent.wait('EXIT')
    assert over(agent)['killed'] == 1 and not tagged(tag)
    leave(agent)


def test_frames_of_the_old_generation():
    agent = Agent(generation=1)
    agent.run(['true'], stay=True, pmi=True)
    over(agent)
    for name, body in (('STOP', {'grace_s': 0}), ('CREDIT', b'\0\1\0\0'), ('GO', b''),
                       ('SIGNAL', {'signal': 9}), ('KVS', {'put': {}})):
        agent.send(name, body, generation=1)
    agent.run(SLEEP, ['sh', '-c', 'echo here; exec sleep 1000'], stay=True)
    agent.wait_output(b'here', rank=1)
    agent.send('STOP', {'grace_s': 0}, generation=1)
    agent.send('SIGNAL', {'signal': int(signal.SIGUSR1)})
    assert agent.wait('EXIT').body['signal'] == signal.SIGUSR1
    agent.wait('EXIT')
    assert over(agent)['stays']
    leave(agent)


def test_pmi_begins_anew():
    put = ('import os\ns = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)\n'
           'def say(line):\n    s.write(line + b"\\n"); print(s.readline().decode(), end="")\n'
           'say(b"cmd=init pmi_version=1 pmi_subversion=1")\n'
           'say(b"cmd=get kvsname=kvs_0 key=k")\n'
           'say(b"cmd=put kvsname=kvs_0 key=k value=" + os.environ["TURN"].encode())\n'
           'say(b"cmd=barrier_in")\nsay(b"cmd=finalize")\n')
    agent = Agent(generation=1)
    for turn in '12':
        agent.run(python(put), stay=True, pmi=True, rank_env=lambda _, t=turn: [f'TURN={t}'])
        assert agent.wait('KVS').body == {'put': {'k': turn}}
        agent.send('KVS', {'put': {'k': turn}})
        assert agent.wait('EXIT').body['code'] == 0
        assert b'key_k_not_found' in agent.out().replace(b' ', b'_') or b'rc=-1' in agent.out()
        over(agent)
    leave(agent)


def test_port_is_held_again():
    agent = Agent(generation=1)
    for _ in range(2):
        agent.send('PROBE', {'op': 'port', 'port': 29500, 'fixed': False})
        assert agent.wait('PROBED').body['port'] > 0
        agent.run(['true'], stay=True)
        over(agent)
    leave(agent)


def test_guard_dies_while_it_stays():
    agent = Agent(generation=1)
    agent.run(['true'], stay=True)
    over(agent)
    os.kill(agent.guard(), signal.SIGKILL)
    assert 'guard' in agent.wait('ERROR').body['text']
    assert 'stays' not in agent.finish()


def test_launcher_goes_while_it_stays():
    agent, tag = Agent(generation=1), new_tag()
    agent.run(['true'], stay=True)
    over(agent)
    agent.sock.close()
    assert agent.process.wait(30) == 1
    assert not tagged(tag)


def test_stopped_before_go():
    agent = Agent(generation=1)
    agent.plan(SLEEP, stay=True, log=(f'{SCRATCH}/unborn', True))
    agent.wait('READY')
    agent.send('STOP', {'grace_s': 0})
    assert over(agent)['stays'] and not os.listdir(f'{SCRATCH}/unborn')
    agent.run(['true'], stay=True)
    over(agent)
    leave(agent)


def test_a_bad_plan_the_second_time():
    agent = Agent(generation=1)
    agent.run(['true'], stay=True)
    over(agent)
    agent.plan(['/no/such/program'], stay=True)
    assert agent.wait('ERROR').body['code'] == 127
    assert 'stays' not in agent.finish()


main(globals())
