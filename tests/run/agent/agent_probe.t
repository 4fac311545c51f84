#!/usr/bin/env python3
# agent_probe.t - muster-agent looks at the network: who reaches whom, which port is free
# SPDX-License-Identifier: Apache-2.0
"""Probes and the port."""

import http.client
import os
import socket
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, DEADLINE_S, main, python, wait_until


def test_probe():
    token = 'ab' * 16
    one, two = Agent(), Agent()
    one.send('PROBE', {'op': 'listen', 'token': token})
    port = one.wait('PROBED').body['port']
    ask = {'op': 'connect', 'token': token, 'port': port, 'timeout_ms': 2000,
           'addresses': ['127.0.0.1', '::1', '127.0.0.2', '192.0.2.1']}
    ask['timeout_ms'] = 300
    two.send('PROBE', ask)
    reached = two.wait('PROBED').body['reached']
    assert {'addr': '127.0.0.1', 'if': 'lo'} in reached and '192.0.2.1' not in str(reached), reached
    assert reached[0]['addr'] == '127.0.0.1'
    two.send('PROBE', dict(ask, token='cd' * 16))
    assert two.wait('PROBED').body['reached'] == []
    one.plan(['sleep', '1000'])
    two.send('PROBE', ask)  # its answer need not have come before PLAN
    two.plan(['sleep', '1000'])
    had = len(two.frames)
    while not {'PROBED', 'READY'} <= {frame.name for frame in two.frames[had:]}:
        assert two.take() is not None
    one.wait('READY')
    two.send('PROBE', ask)
    assert two.wait('PROBED').body['reached'] == reached
    one.send('GO')
    one.wait('STARTED')
    assert refuses(port), 'still listening after GO'
    for agent in (one, two):
        agent.send('STOP', {'grace_s': 0})
        agent.finish()


def test_probe_of_large_packets():
    """12 KiB follow the token if both sides are asked for them. Who keeps them back is lossy."""
    token, one, two = 'ab' * 16, Agent(), Agent()
    one.send('PROBE', {'op': 'listen', 'token': token, 'load': True})
    port = one.wait('PROBED').body['port']
    with socket.create_connection(('127.0.0.1', port), DEADLINE_S) as caller:
        got = b''.join(iter(lambda: caller.recv(65536), b''))
    assert got[:16] == bytes.fromhex(token) and len(got) == 16 + 12288, len(got)
    ask = {'op': 'connect', 'token': token, 'load': True, 'port': port, 'timeout_ms': 60000,
           'addresses': ['127.0.0.1']}
    two.send('PROBE', ask)
    assert two.wait('PROBED').body['reached'] == [{'addr': '127.0.0.1', 'if': 'lo'}]
    with socket.create_server(('127.0.0.1', 0)) as silent:
        two.send('PROBE', dict(ask, port=silent.getsockname()[1], timeout_ms=300))
        caller = silent.accept()[0]
        caller.sendall(bytes.fromhex(token))
        assert two.wait('PROBED').body['reached'] == [
            {'addr': '127.0.0.1', 'if': 'lo', 'lossy': True}]
        caller.close()
        two.send('PROBE', dict(ask, port=silent.getsockname()[1]))
        caller = silent.accept()[0]
        caller.sendall(bytes.fromhex(token))
        caller.close()  # not what a network does
        assert two.wait('PROBED').body['reached'] == [{'addr': '127.0.0.1', 'if': 'lo'}]
        two.send('PROBE', dict(ask, port=silent.getsockname()[1]))
        caller = silent.accept()[0]
        caller.sendall(bytes.fromhex(token) + b'x')  # the rest may be late
        assert two.wait('PROBED').body['reached'] == [{'addr': '127.0.0.1', 'if': 'lo'}]
        caller.close()
        two.send('PROBE', {'op': 'peers', 'token': token, 'load': True, 'timeout_ms': 300,
                           'peers': [{'node': 7, 'addr': '127.0.0.1',
                                      'port': silent.getsockname()[1]}]})
        caller = silent.accept()[0]
        caller.sendall(bytes.fromhex(token))
        (pair,) = two.wait('PROBED').body['unreached']
        assert pair['node'] == 7 and pair['why'].startswith('large packets from there'), pair
        caller.close()
    for agent in (one, two):
        agent.send('STOP', {'grace_s': 0})
        agent.finish()


def refuses(port):
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        return False
    except ConnectionError:
        return True


def test_peers_while_ranks_run():
    token, agents, ports = 'ab' * 16, [Agent(), Agent()], []
    for agent in agents:
        agent.run(['sleep', '1000'])
        agent.wait('STARTED')
        agent.send('PROBE', {'op': 'listen', 'token': token, 'timeout_ms': 60000})
        ports.append(agent.wait('PROBED').body['port'])
    closed = socket.socket()
    closed.bind(('127.0.0.1', 0))  # and does not listen
    for agent, port in zip(agents, reversed(ports)):
        agent.send('PROBE', {'op': 'peers', 'token': token, 'timeout_ms': 500, 'peers': [
            {'node': 0, 'addr': '127.0.0.1', 'port': port},
            {'node': 1, 'addr': '127.0.0.1', 'port': closed.getsockname()[1]},
            {'node': 2, 'addr': '192.0.2.1', 'port': port},
            {'node': 3, 'addr': 'no address', 'port': port}]})
    for agent in agents:
        answer = agent.wait('PROBED').body
        whys = {entry['node']: entry['why'] for entry in answer['unreached']}
        assert answer['op'] == 'peers' and sorted(whys) == [1, 2, 3], answer
        assert whys[1] == 'Connection refused', whys
    assert not refuses(ports[0])
    agents[0].send('STOP', {'grace_s': 10})
    agents[0].finish()
    assert refuses(ports[0])
    agents[1].send('PROBE', {'op': 'listen', 'token': token, 'timeout_ms': 1})
    port = agents[1].wait('PROBED').body['port']
    assert refuses(ports[1])
    wait_until(lambda: refuses(port), 'it listens no more')
    agents[1].send('STOP', {'grace_s': 0})
    agents[1].finish()


def test_probes_of_the_start_end_a_run():
    for late in {'op': 'port', 'port': 29500, 'fixed': False}, {'op': 'horovod'}:
        agent = Agent()
        agent.run(['sleep', '1000'])
        agent.wait('STARTED')
        agent.send('PROBE', late)
        assert hangs_up(agent), late


def hangs_up(agent):
    try:
        while agent.take() is not None:
            pass
        return False
    except (EOFError, ConnectionError):
        return agent.process.wait(DEADLINE_S) == 1


def test_horovod():
    """It answers Horovod's ranks from the address on, while ranks run, and not after them."""
    agent = Agent()
    agent.send('PROBE', {'op': 'horovod'})
    answer = agent.wait('PROBED').body
    assert sorted(answer) == ['op', 'port'] and answer['op'] == 'horovod', answer
    agent.plan(['sleep', '1000'])
    agent.wait('READY')
    agent.send('PROBE', {'op': 'horovod', 'address': '127.0.0.1'})
    agent.send('GO')
    agent.wait('STARTED')
    for host, status in ('127.0.0.1', 404), ('127.0.0.2', 403):
        call = http.client.HTTPConnection(host, answer['port'], timeout=DEADLINE_S)
        call.request('GET', '/global/0')
        assert call.getresponse().status == status
        call.close()
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    assert refuses(answer['port'])
    agent = Agent()
    agent.send('PROBE', {'op': 'horovod', 'address': '127.0.0.1'})  # which port?
    assert hangs_up(agent)


def test_port_is_held_until_go():
    with socket.socket() as sock:
        sock.bind(('0.0.0.0', 0))
        port = sock.getsockname()[1]
    code = f'import socket; s = socket.socket(); s.bind(("0.0.0.0", {port})); print("bound")'
    agent = Agent()
    agent.send('PROBE', {'op': 'port', 'port': port, 'fixed': True})
    assert agent.wait('PROBED').body == {'op': 'port', 'port': port}
    with socket.socket() as sock:
        try:
            sock.bind(('0.0.0.0', port))
            raise AssertionError('not held')
        except OSError:
            pass
    agent.run(python(code))
    agent.finish()
    assert agent.out() == b'bound\n' and agent.exit_of()['code'] == 0


def test_busy_port():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        sock.listen()
        port = sock.getsockname()[1]
        agent = Agent()
        agent.send('PROBE', {'op': 'port', 'port': port, 'fixed': True})
        answer = agent.wait('PROBED').body
        assert str(port) in answer['error'] and f'pid {os.getpid()} (' in answer['holder'], answer
        agent.send('PROBE', {'op': 'port', 'port': port, 'fixed': False})
        answer = agent.wait('PROBED').body
        assert 'error' not in answer and answer['port'] != port
        agent.send('STOP', {'grace_s': 0})
        agent.finish()


main(globals())
