#!/usr/bin/env python3
# agent_plan.t - what muster-agent checks before its ranks start
# SPDX-License-Identifier: Apache-2.0
"""PLAN and its checks."""

import contextlib
import os
import shutil
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, AGENT, complete, DEADLINE_S, main, plan_error, python, PYTHON, SCRATCH,
                          SHOW, Skip)


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
    error = plan_error(['true'], progress='step (')
    assert error['code'] == 2 and error['text'].startswith("--progress: 'step (' is not"), error
    error = plan_error(['true'], pid_file='/no/such/dir/pid')
    assert error['code'] == 73 and '/no/such/dir/pid' in error['text'], error


IN_MEMORY = """import os, sys
memory = os.memfd_create('agent', 0)
with open(sys.argv[1], 'rb') as file:
    os.write(memory, file.read())
os.execv(f'/proc/self/fd/{memory}', sys.argv[1:])
"""


def test_programs_beside_the_agent():
    beside = os.path.join(SCRATCH, 'beside')
    os.makedirs(os.path.join(beside, 'sent'))
    program = shutil.copy(AGENT, beside)
    script = os.path.join(beside, 'sent', 'hello')
    with open(script, 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\necho hello from $0\n')
    os.chmod(script, 0o755)
    agent = Agent(program=program)
    agent.run(['sent/hello'], beside_agent=True)
    agent.finish()
    assert agent.out() == f'hello from {script}\n'.encode(), agent.output

    for start, code, text in (({'program': program}, 127, f'{beside}/sent/none'),
                              ({'before': python(IN_MEMORY)}, 126, 'only in memory')):
        agent = Agent(**start)
        agent.plan(['sent/none'], beside_agent=True)
        error = agent.wait('ERROR').body
        assert error['code'] == code and text in error['text'], error
        agent.finish()


def test_a_working_directory_may_be_optional():
    agent, _ = complete(['pwd'], cwd='/no/such/dir', cwd_optional=True)
    assert agent.exit_of()['code'] == 0
    assert agent.out() == f'{os.getcwd()}\n'.encode(), agent.output
    agent, _ = complete(['pwd'], cwd='/', cwd_optional=True)
    assert agent.out() == b'/\n', agent.output


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
            ('exit 0\n', 'bash printed no environment (0 bytes)'),
            ("fake='printf A=1'\n" + other_env, 'bash printed no environment (3 bytes)'),
            ("fake='exec yes'\n" + other_env, 'environment is larger than 4096 KiB'),
            ('kill -40 $$\n', 'killed by signal 40')):
        with open(script, 'w', encoding='ascii') as file:
            file.write(text)
        error = plan_error(['true'], venv_script=script)
        assert all(words in error['text'] for words in wanted), (text, error)


def test_malformed_plans_end_the_link():
    for change in ({'ranks': []}, {'lease_s': 0.5}, {'grace_s': 'x'}, {'bind': 3}, {'world_size': 0},
                   {'replace_s': -1}, {'replace_s': 'x'}, {'launcher': 7}, {'launcher': 'x' * 5000}):
        agent = Agent()
        agent.plan(['true'], **change)
        try:
            while agent.take() is not None:
                pass
            raise AssertionError(f'no end after {change}')
        except (EOFError, ConnectionError):
            assert agent.process.wait(DEADLINE_S) == 1


def named(number):
    """An id of a run; later ones have greater numbers."""
    return f'20260101-000000-{number:04x}-agent-plan-t{os.getpid()}'


@contextlib.contextmanager
def stopped(agent):
    """One that does not answer."""
    os.kill(agent.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(agent.pid, signal.SIGCONT)


def test_a_name_is_refused_with_its_launcher():
    first = Agent()
    first.run(['sleep', '600'], run_id=named(1), launcher='by pid 7 of somewhere, long ago')
    error = plan_error(['true'], run_id=named(2))
    assert error['code'] == 73, error
    assert error['text'].endswith(f'there: {named(1)}, launched by pid 7 of somewhere, long ago'), error
    with stopped(first):
        error = plan_error(['true'], run_id=named(2))
        assert error['text'].endswith(f'there: {named(1)}'), error
        error = plan_error(['true'], run_id=named(2), replace_s=0.3)
        assert error['code'] == 75 and 'did not end within 0.3 s' in error['text'], error
    assert first.wait('ERROR').body['text'] == f'{named(2)} replaces this run (--replace)'
    assert first.finish()['left'] == 0


def test_a_run_is_replaced_when_it_has_ended():
    first, second = Agent(), Agent()
    first.run(python('import signal, time; signal.signal(signal.SIGTERM, lambda *_: time.sleep(0.3)'
                     ' or exit(0)); print("up", flush=True); signal.pause()'), run_id=named(1))
    first.wait_output(b'up')
    second.plan(['true'], run_id=named(2), replace_s=DEADLINE_S)
    assert first.wait('ERROR').body['code'] == 143
    first.wait('DONE')
    assert not second.all('READY')
    second.wait('READY')
    second.send('GO')
    second.finish()


# Whichever comes first.
def test_of_two_that_replace_the_later_stays():
    old, earlier, later = Agent(), Agent(), Agent()
    old.run(['sleep', '600'], run_id=named(1))
    with stopped(old):
        for agent, number in ((later, 3), (earlier, 2)):
            agent.plan(['true'], run_id=named(number), replace_s=DEADLINE_S)
    assert earlier.wait('ERROR').body['code'] == 143
    later.wait('READY')
    later.send('GO')
    for agent in (old, earlier, later):
        agent.finish()


def connect(line, name):
    """Once somebody listens there."""
    end = time.monotonic() + DEADLINE_S
    while line.connect_ex(name) != 0:
        assert time.monotonic() < end, name
        time.sleep(0.01)


# Each is the first on some nodes, and asked there by the other one.
def test_the_later_stays_where_it_was_first():
    later, earlier = Agent(), Agent()
    later.plan(['true'], run_id=named(3), replace_s=DEADLINE_S)
    later.wait('READY')
    earlier.plan(['true'], run_id=named(2), replace_s=DEADLINE_S)
    for agent, number in ((earlier, 2), (later, 3)):  # it has asked; and that was heard
        with socket.socket(socket.AF_UNIX) as line:
            connect(line, f'\0muster-name-{named(number)}-{agent.pid}')
            assert line.recv(100) == b''
    later.send('GO')
    later.finish()
    earlier.wait('READY')
    earlier.send('GO')
    earlier.finish()


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


main(globals())
