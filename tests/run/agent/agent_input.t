#!/usr/bin/env python3
# agent_input.t - standard input of ranks, and terminals
# SPDX-License-Identifier: Apache-2.0
"""INPUT, its CREDIT, WINDOW."""

import struct
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, DEADLINE_S, main, python

MOST = 256 << 10  # FRAME_INPUT_MAX


def begin(*argvs, inputs=('pipe',), **more):
    """Agent with one rank for each argv, after GO."""
    agent = Agent()
    ranks = [{'rank': i, 'local_rank': i, 'slot': i, 'argv': agent.send_list(argv),
              'env': agent.send_list([f'RANK={i}']), **({'input': kind} if kind else {})}
             for i, (argv, kind) in enumerate(zip(argvs, inputs))]
    agent.run(*argvs, ranks=ranks, **more)
    return agent


def credited(agent):
    return sum(struct.unpack('>I', frame.raw)[0] for frame in agent.all('CREDIT'))


def refused(agent, *frames):
    for name, body in frames:
        agent.send(name, body)
    try:
        while agent.take() is not None:
            pass
        raise AssertionError('no end')
    except (EOFError, ConnectionError):
        assert agent.process.wait(DEADLINE_S) == 1


def test_all_that_want_it_get_the_same():
    agent = begin(['cat'], ['cat'], ['cat'], inputs=('pipe', None, 'pipe'))
    for text in (b'a\n', b'\0\xff', b''):
        agent.send('INPUT', text)
    done = agent.finish()
    assert [agent.out(rank) for rank in range(3)] == [b'a\n\0\xff', b'', b'a\n\0\xff']
    assert done['left'] == 0 and credited(agent) == 4


# The slowest rank decides: a credit is for what all have taken, or never will.
def test_credit():
    agent = begin(python('import sys; sys.stdin.buffer.read(); print("fast")'),
                  python('import os, sys; print("up", flush=True); os.read(0, 1); os.close(0)\n'
                         'print("closed", flush=True); import time; time.sleep(1000)'),
                  inputs=('pipe', 'pipe'))
    agent.wait_output(b'up', rank=1)
    for _ in range(4):
        agent.send('INPUT', b'x' * (MOST // 4))
    while credited(agent) < MOST:
        agent.wait('CREDIT')  # it has closed its end
    agent.wait_output(b'closed', rank=1)
    agent.send('INPUT')
    agent.wait('INPUT')  # no rank takes more
    agent.wait_output(b'fast')
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    assert len(agent.all('INPUT')) == 1


def test_more_than_the_credit_is_refused():
    agent = begin(['sleep', '1000'])
    refused(agent, *[('INPUT', b'x' * (MOST // 2))] * 3)


def test_input_after_the_end_goes_nowhere():
    agent = begin(['sh', '-c', 'cat; echo end; exec sleep 1000'])
    agent.send('INPUT', b'a\n')
    agent.send('INPUT')
    agent.wait_output(b'end')
    agent.send('INPUT', b'b\n')
    agent.send('INPUT')
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    assert agent.out() == b'a\nend\n', agent.out()


def test_a_terminal():
    agent = begin(['sh', '-c', 'stty size; test -t 0 && test -t 1 && test -t 2 && tty >/dev/null && '
                   'read x; stty size; echo "got $x" >&2; exit 5'], inputs=('terminal',),
                  window=[33, 101])
    agent.wait_output(b'33 101')
    agent.send('WINDOW', struct.pack('>II', 40, 120))
    agent.send('INPUT', b'word\n')
    done = agent.finish()
    lines = agent.out().replace(b'\r', b'').split(b'\n')
    assert lines == [b'33 101', b'word', b'40 120', b'got word', b''], lines
    assert not agent.out(stream=2) and agent.exit_of()['code'] == 5 and done['left'] == 0


# Ctrl-D, and twice if a line has begun: a terminal has no other end.
def test_the_end_in_a_terminal():
    for text in (b'a\nb', b'a\n', b''):
        agent = begin(['sh', '-c', 'stty -echo; echo up; cat; echo end'], inputs=('terminal',))
        agent.wait_output(b'up')
        agent.send('INPUT', text or b'\n')
        agent.send('INPUT')
        agent.finish()
        shown = agent.out().replace(b'\r', b'')
        assert shown == b'up\n' + (text or b'\n') + b'end\n', shown


def test_bad_frames():
    for window in (b'', b'\0' * 7, struct.pack('>II', 70000, 1), struct.pack('>II', 1, 70000)):
        refused(begin(['sleep', '1000'], inputs=('terminal',)), ('WINDOW', window))
    for more in ({'inputs': ('tape',)}, {'inputs': (5,)}, {'window': [-1, 2]},
                 {'window': [1, 65536]}):
        agent = Agent()
        try:
            ranks = [{'rank': 0, 'local_rank': 0, 'slot': 0, 'argv': agent.send_list(['true']),
                      'env': agent.send_list([]), 'input': more.pop('inputs', ('pipe',))[0]}]
            agent.run(['true'], ranks=ranks, **more)
            raise AssertionError(f'{more} is taken')
        except (EOFError, ConnectionError):
            assert agent.process.wait(DEADLINE_S) == 1


main(globals())
