#!/usr/bin/env python3
# agent_plan.t - what muster-agent does before its ranks start
# SPDX-License-Identifier: Apache-2.0
"""PLAN and its checks, log files, probes, the port."""

import os
import socket
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, complete, DEADLINE_S, main, plan_error, PYTHON, python,
                          SCRATCH, SHOW, Skip)


# --- checks before READY --------------------------------------------------------------

def test_what_is_missing_is_named():
    error = plan_error(['no-such-program'], env=['PATH=/bin:/usr/bin'])
    assert error['code'] == 127 and 'no-such-program' in error['text'] and '/usr/bin' in error['text']
    error = plan_error(['/etc/passwd'])
    assert error['code'] == 126 and '/etc/passwd' in error['text'], error
    error = plan_error(['true'], cwd='/no/such/dir')
    assert error['code'] == 126 and '/no/such/dir' in error['text'] and 'directory' in error['text']
    plain = os.path.join(SCRATCH, 'plain')
    with open(plain, 'w', encoding='ascii'):
        pass
    error = plan_error(['true'], log=(plain, True))
    assert error['code'] == 73 and plain in error['text'], error
    error = plan_error(['true'], pid_file='/no/such/dir/pid')
    assert error['code'] == 73 and '/no/such/dir/pid' in error['text'], error


def test_exec_failures_are_named():
    script = os.path.join(SCRATCH, 'bad')
    with open(script, 'w', encoding='ascii') as file:
        file.write('#!/no/such/interpreter\n')
    os.chmod(script, 0o755)
    agent, _ = complete([script])
    assert agent.exit_of()['code'] == 127 and 'interpreter' in agent.exit_of()['error']
    with open(script, 'w', encoding='ascii') as file:
        file.write('nothing\n')
    agent, _ = complete([script])
    assert agent.exit_of()['code'] == 126 and '#!' in agent.exit_of()['error'], agent.exit_of()
    assert not agent.all('STARTED')


def test_cwd_and_path_lookup():
    directory = os.path.join(SCRATCH, 'work')
    os.makedirs(directory + '/bin', exist_ok=True)
    with open(directory + '/bin/tool', 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\npwd; echo $PWD\n')
    os.chmod(directory + '/bin/tool', 0o755)
    for argv in (['tool'], ['./bin/tool']):
        agent, _ = complete(argv, cwd=directory, env=[f'PATH={directory}/bin:/bin:/usr/bin'])
        assert agent.out().decode().splitlines() == [directory] * 2, agent.out()


def test_venv_script():
    script = os.path.join(SCRATCH, 'activate')
    with open(script, 'w', encoding='ascii') as file:
        file.write('echo noise; echo noise >&2\n[ $# = 0 ] || return 9\nexport FROM_VENV="a\nb"\nPATH=/from/venv:$PATH\n')
    agent, _ = complete([PYTHON, '-c', SHOW], venv_script=script)
    env = eval(agent.out())[1]  # pylint: disable=eval-used
    assert env[b'FROM_VENV'] == b'a\nb' and env[b'PATH'].startswith(b'/from/venv:')
    assert b'_' not in env
    error = plan_error(['true'], venv_script='/no/activate')
    assert '/no/activate' in error['text'] and 'No such file' in error['text'], error


# What comes back is what the script has made of `env`.
def test_venv_script_fails():
    folder = os.path.join(SCRATCH, 'fake')
    os.mkdir(folder)
    other_env = f'PATH={folder}:$PATH; printf "#!/bin/sh\\n%s" "$fake" >{folder}/env; ' \
        f'chmod +x {folder}/env\n'
    script = os.path.join(SCRATCH, 'activate')
    for text, *wanted in (
            ('echo it broke >&2\nexit 3\n', 'status 3', 'it broke'),
            ('kill -KILL $$\n', 'killed by SIGKILL'),
            ('exit 0\n', 'no environment came back (0 bytes)'),
            ("fake='printf A=1'\n" + other_env, 'no environment came back (3 bytes)'),
            ("fake='exec yes'\n" + other_env, 'an environment of more than 4096 KiB'),
            ('kill -40 $$\n', 'killed by a real-time signal')):
        with open(script, 'w', encoding='ascii') as file:
            file.write(text)
        error = plan_error(['true'], venv_script=script)
        assert all(words in error['text'] for words in wanted), (text, error)


def test_malformed_plans_end_the_link():
    for change in ({'ranks': []}, {'lease_s': 0.5}, {'grace_s': 'x'}, {'bind': 3}, {'world_size': 0}):
        agent = Agent()
        agent.plan(['true'], **change)
        try:
            while agent.take() is not None:
                pass
            raise AssertionError(f'no end after {change}')
        except (EOFError, ConnectionError):
            assert agent.process.wait(DEADLINE_S) == 1


# --- log files, pid file --------------------------------------------------------------

def test_log_files():
    directory = os.path.join(SCRATCH, 'logs')
    agent, done = complete(['sh', '-c', 'echo out; echo err >&2'], ['echo', 'two'],
                           log=(directory, True))
    assert agent.out() == b'out\n' and done['log_lost_bytes'] == 0
    with open(directory + '/20260102030405_rank0.log', 'rb') as file:
        assert sorted(file.read().splitlines()) == [b'err', b'out']
    with open(directory + '/20260102030405_rank1.log', 'rb') as file:
        assert file.read() == b'two\n'
    agent = Agent()  # the same stamp again
    agent.plan(['true'], log=(directory, True))
    assert agent.wait('ERROR').body['code'] == 73
    agent.finish()


def test_logs_without_console():
    directory = os.path.join(SCRATCH, 'quiet')
    agent, done = complete(['echo', 'hidden'], log=(directory, False))
    assert agent.out() == b'' and done['lost_bytes'] == 0 and (0, 1) in agent.ended
    with open(directory + '/20260102030405_rank0.log', 'rb') as file:
        assert file.read() == b'hidden\n'


def test_logs_are_taken_back_when_the_run_does_not_start():
    directory = os.path.join(SCRATCH, 'never')
    agent = Agent()
    agent.plan(['true'], log=(directory, True))
    agent.wait('READY')
    assert os.listdir(directory)
    agent.send('STOP', {'grace_s': 1})
    agent.finish()
    assert os.listdir(directory) == []


def test_with_logs_ranks_never_wait():
    directory = os.path.join(SCRATCH, 'fast')
    agent = Agent()
    agent.auto_credit = False
    lines = 400000
    agent.run(python(f'import sys\nfor i in range({lines}): sys.stdout.write("line %d is here, complete\\n" % i)'),
              log=(directory, True), credit=100000)
    agent.wait('EXIT')
    agent.send('CREDIT', struct.pack('>I', 1 << 30))
    done = agent.finish()
    with open(directory + '/20260102030405_rank0.log', 'rb') as file:
        full = file.read()
    assert full.count(b'\n') == lines
    assert done['lost_bytes'] == len(full) - len(agent.out()) > 0, done
    wanted = set(full.splitlines())
    assert all(line in wanted for line in agent.out().splitlines()), 'a torn line'


def test_full_disk_does_not_stop_the_rank():
    if os.getuid() != 0:
        raise Skip('needs root for a small file system')
    directory = os.path.join(SCRATCH, 'small')
    os.mkdir(directory)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', directory], check=False).returncode:
        raise Skip('cannot mount')
    try:
        agent, done = complete(python('import os\nfor i in range(100): os.write(1, b"x" * 9999 + b"\\n")'),
                               log=(directory, True))
        assert agent.exit_of()['code'] == 0 and len(agent.out()) == 1000000
        assert 900000 <= done['log_lost_bytes'] < 1000000, done
    finally:
        subprocess.run(['umount', directory], check=True)


def test_pid_file():
    path = os.path.join(SCRATCH, 'pid')
    agent = Agent()
    agent.run(['cat', path], pid_file=path)
    agent.finish()
    assert int(agent.out()) == agent.pid and not os.path.exists(path)
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'{agent.pid}\n')  # left by one that is dead
    complete(['true'], pid_file=path)
    assert not os.path.exists(path)


def test_pid_file_that_cannot_be_written():
    path = os.path.join(SCRATCH, 'pid')
    agent = Agent(before=['prlimit', '--fsize=0'])
    agent.plan(['true'], pid_file=path)
    error = agent.wait('ERROR').body
    assert error['code'] == 73 and path in error['text'], error
    agent.finish()
    assert not os.path.exists(path)


# Who is not root cannot see who else has a file open.
def test_only_our_files_are_called_stale():
    if os.getuid() != 0:
        raise Skip('needs root')
    agent = Agent(before=['unshare', '-m', 'sh', '-ec', r'''
        mount -t tmpfs -o size=1m,mode=1777 none /dev/shm
        echo >/dev/shm/nccl-mine
        chown 65534 /dev/shm/nccl-mine
        exec 9>/dev/shm/nccl-held
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@" 9>&-
        ''', 'sh'])
    agent.run(['true'], ['true'])
    agent.finish()
    assert [file['name'] for file in agent.ready['shm']['stale']] == ['nccl-mine'], agent.ready


# --- probes ---------------------------------------------------------------------------

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
    one.plan(['true'])
    one.wait('READY')
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        raise AssertionError('still listening after PLAN')
    except ConnectionRefusedError:
        pass
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
    end = time.monotonic() + DEADLINE_S
    while not refuses(port):
        assert time.monotonic() < end, 'it listens for too long'
    agents[1].send('STOP', {'grace_s': 0})
    agents[1].finish()


def test_probes_of_the_start_end_a_run():
    agent = Agent()
    agent.run(['sleep', '1000'])
    agent.wait('STARTED')
    agent.send('PROBE', {'op': 'port', 'port': 29500, 'fixed': False})
    try:
        while agent.take() is not None:
            pass
        raise AssertionError('no end')
    except (EOFError, ConnectionError):
        assert agent.process.wait(DEADLINE_S) == 1


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
