# faults.py - the faults that soak draws from, one function each
#
# It says what to run, what to do to it once all ranks are ready, and which exit statuses are then
# the truth.
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a launch."""

import os
import signal
import time

from launch import kill_now, PIDNS, WAIT

DEAF = 'trap "" TERM; ' + WAIT
DAEMON = 'setsid sh -c \'trap "" TERM HUP INT; while :; do sleep 100; done\' >/dev/null 2>&1 &'
# PMI-1 by hand: say one line, read its answer. Needs bash: to dash 10 is no descriptor.
PMI_INIT = ('echo "cmd=init pmi_version=1 pmi_subversion=1" >&$PMI_FD; '
            'read answer <&$PMI_FD; ')
ORPHANS_S = 20  # after SIGKILL of the launcher: its end is noticed, grace, KILL
FAULTS = []


def fault(function):
    FAULTS.append(function)
    return function


@fault
def nothing(launch):
    launch.command = ['true']


@fault
def rank_exits(launch):
    code = launch.random.randrange(1, 256)
    launch.one_rank(f'exit {code}')
    launch.expected = {code}


@fault
def rank_exits_later(launch):
    code = launch.random.randrange(1, 256)
    launch.one_rank(f'sleep 0.{launch.random.randrange(10)}; exit {code}')
    launch.expected = {code}


@fault
def rank_is_killed(launch):
    number = launch.random.choice([signal.SIGHUP, signal.SIGINT, signal.SIGABRT, signal.SIGKILL,
                                   signal.SIGUSR1, signal.SIGSEGV, signal.SIGTERM])
    launch.one_rank(f'ulimit -c 0; kill -{int(number)} $$; sleep 100')
    launch.expected = {128 + number}


@fault
def two_ranks_fail(launch):
    launch.sh(f'case $RANK in 0) exit 3;; {launch.random.randrange(1, 4)}) exit 4;; esac; {WAIT}')
    launch.expected = {3, 4}


@fault
def all_ranks_fail(launch):
    launch.sh('exit $((RANK + 5))')
    launch.expected = {5, 6, 7, 8}


@fault
def rank_fails_once(launch):
    """All start again, and the second time it is well."""
    code = launch.random.choice([1, 3, 14, 77, 134, 201, 255])
    launch.restarts(1, f'sleep 0.{launch.random.randrange(3)}; exit {code}')


@fault
def ranks_are_killed_twice(launch):
    """And what they have left does not go by itself."""
    launch.restarts(2, f'{DAEMON} trap "" TERM; kill -KILL $$')


@fault
def rank_fails_in_each_generation(launch):
    launch.restarts(3, 'kill -KILL $$', at_last=':')
    launch.expected = {137}


@fault
def rank_fails_for_good(launch):
    """With codes that are not worth another start."""
    code = launch.random.choice([2, 64, 78, 126, 127, 247])
    launch.restarts(0, f'exit {code}', at_last=':')
    launch.expected = {code}


@fault
def all_ranks_fail_twice_alike(launch):
    """There would be two more restarts, but no point in them."""
    launch.restarts(1, ':', at_last='exit 5')
    launch.command[2] = launch.command[2].replace(WAIT, 'exit 5')
    launch.expected = {5}


def between_generations(launch, act, delay='300', *options):
    """It happens while muster waits before the next one."""
    def then():
        if launch.wait_for(lambda: b'start again in' in launch.output('err'), 30):
            act()
        else:
            launch.problems.append('it did not come to a restart')

    launch.restarts(1, 'kill -KILL $$', '--restart-delay', delay, *options)
    launch.act, launch.act_at_once = then, True


@fault
def interrupted_between_generations(launch):
    number = launch.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    between_generations(launch, lambda: launch.kill(number))
    launch.expected = {128 + number}


@fault
def agent_is_killed_between_generations(launch):
    between_generations(launch,
                        lambda: kill_now(launch.random.choice(sorted(launch.agents()))[0]),
                        '2', '--max-wait', '1')
    launch.expected = {75}
    launch.settle_s = 3


@fault
def guard_is_killed_between_generations(launch):
    between_generations(launch,
                        lambda: kill_now(launch.random.choice(sorted(launch.agents()))[1]),
                        '2', '--max-wait', '1')
    launch.expected = {75}


@fault
def launcher_is_killed_between_generations(launch):
    between_generations(launch, lambda: launch.kill(signal.SIGKILL))
    launch.expected = {-signal.SIGKILL}
    launch.settle_s = ORPHANS_S


@fault
def agent_is_killed_in_the_second_generation(launch):
    def act():
        if launch.wait_for(lambda: launch.output().count(b'up\n') >= 4, 30):
            kill_now(launch.random.choice(sorted(launch.agents()))[0])
        else:
            launch.problems.append('the second generation did not become ready')

    launch.restarts(1, 'kill -KILL $$', '--max-wait', '1',
                    at_last=DAEMON + DEAF.replace('ready', 'up'))
    launch.act, launch.act_at_once = act, True
    launch.expected = {75}
    launch.settle_s = 3


def agent_dies_at_first(launch, *options):
    """Its node is lost. What is left of it may still be there when the next generation begins,
    if only subreapers contain it: so nothing that hides."""
    launch.restarts(0, ':')
    launch.command[2] = launch.command[2].replace('-lt 0', '-lt 1')
    launch.options += ['--restart-delay', '0', *options]
    launch.starts = None
    launch.act = lambda: kill_now(launch.random.choice(sorted(launch.agents_with_ranks()))[0])
    launch.settle_s = 3


@fault
def spare_takes_its_place(launch):
    launch.hosts = 'node1:2,node2:2,node3:2'
    agent_dies_at_first(launch, '--spares', '1')


@fault
def others_go_on_without_it(launch):
    agent_dies_at_first(launch, '--nnodes', '1:2')


@fault
def nothing_takes_its_place(launch):
    agent_dies_at_first(launch, '--recovery', 'full', '--max-wait', '1')
    launch.expected = {75}


@fault
def ranks_are_stopped(launch):
    """They must be continued to see their TERM."""
    launch.one_rank('sleep 0.2; exit 9', others='kill -STOP $$; exit 0')
    launch.expected = {9}


@fault
def agent_is_killed(launch):
    launch.sh(DAEMON + DEAF)
    launch.act = lambda: kill_now(launch.random.choice(sorted(launch.agents()))[0])
    launch.expected = {69}
    launch.settle_s = 3  # its node ends by itself, the other was waited for


@fault
def guard_is_killed(launch):
    launch.sh(WAIT)
    launch.act = lambda: kill_now(launch.random.choice(sorted(launch.agents()))[1])
    launch.expected = {69}


def only_direct_ranks(launch):
    """When agent and guard are killed, only a namespace kills more than these. Nor does
    anybody remove their cgroup then."""
    if launch.contain in (None, PIDNS) and not launch.world.sshd:
        launch.sh(DAEMON + WAIT)
    else:
        launch.contain = 'subreaper'
        launch.sh('echo ready; exec sleep 100')


@fault
def agent_and_guard_are_killed(launch):
    def act():
        for pid in launch.random.choice(sorted(launch.agents())):
            kill_now(pid)

    only_direct_ranks(launch)
    launch.act = act
    launch.expected = {69}
    launch.settle_s = 3


@fault
def launcher_is_killed(launch):
    launch.sh(launch.random.choice([WAIT, DEAF, DAEMON + DEAF]))
    launch.act = lambda: launch.kill(signal.SIGKILL)
    launch.expected = {-signal.SIGKILL}
    launch.settle_s = ORPHANS_S


@fault
def launcher_is_killed_early(launch):
    launch.sh(WAIT)
    delay = launch.random.random() * 0.1
    launch.act = lambda: (time.sleep(delay), launch.kill(signal.SIGKILL))
    launch.act_at_once = True
    launch.expected = {-signal.SIGKILL}
    launch.settle_s = ORPHANS_S


@fault
def all_are_killed(launch):
    def act():
        pids = [launch.process.pid, *(pid for pair in launch.agents() for pid in pair)]
        launch.random.shuffle(pids)
        for pid in pids:
            kill_now(pid)

    only_direct_ranks(launch)
    launch.act = act
    launch.is_cleaned = launch.world.sshd  # nobody is left to remove its cgroups
    launch.expected = {-signal.SIGKILL, 69}  # 69: it was quicker than its own end
    launch.settle_s = ORPHANS_S


@fault
def interrupted(launch):
    number = launch.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    launch.sh(launch.random.choice([WAIT, DEAF, DAEMON + DEAF]))
    launch.act = lambda: launch.kill(number)
    launch.expected = {128 + number}


@fault
def interrupted_early(launch):
    """At any point of the start: the answer is 130, or death by it before it is caught."""
    launch.sh(WAIT)
    delay = launch.random.random() * 0.15
    launch.act = lambda: (time.sleep(delay), launch.kill(signal.SIGINT))
    launch.act_at_once = True
    launch.expected = {130, -signal.SIGINT}
    launch.settle_s = 10  # an agent that has not said HELLO yet is not waited for


@fault
def interrupted_twice(launch):
    def act():
        launch.kill(signal.SIGINT)
        if not launch.wait_for(lambda: b'again' in launch.output('err'), 10):
            launch.problems.append('nothing was said after the first Ctrl-C')
        launch.kill(signal.SIGINT)

    launch.options = ['--grace', '600']
    launch.sh(DAEMON + DEAF)
    launch.act = act
    launch.expected = {130}


@fault
def interrupted_thrice(launch):
    def act():
        for _ in range(3):
            launch.kill(signal.SIGINT)
            time.sleep(0.05)

    launch.sh(DAEMON + DEAF)
    launch.act = act
    launch.expected = {130}
    launch.settle_s = ORPHANS_S


@fault
def daemons_are_left(launch):
    code = launch.random.choice([0, 0, 6])
    launch.sh(DAEMON * 3 + f'(sleep 1000 &); exit {code}')
    launch.expected = {code}


@fault
def fork_flood(launch):
    launch.one_rank('i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i + 1)); done; exit 11')
    launch.expected = {11}


@fault
def output_flood(launch):
    count = launch.random.randrange(1000, 60000)
    launch.sh(f'seq 1 {count}; seq 1 {count} >&2')
    launch.lines = 4 * count


@fault
def output_flood_and_failure(launch):
    launch.one_rank('sleep 0.3; exit 12', others='exec yes "some output"')
    launch.stdout = os.devnull
    launch.expected = {12}


@fault
def reader_leaves(launch):
    launch.sh('exec yes')
    launch.stdout = 'pipe'
    launch.expected = {74}


@fault
def full_disk(launch):
    launch.sh('echo text')
    launch.stdout = '/dev/full'
    launch.expected = {74}


@fault
def time_is_over(launch):
    launch.options += ['--timeout', f'0.{launch.random.randrange(1, 9)}']
    launch.sh(launch.random.choice([WAIT, DEAF]))
    launch.expected = {124}


@fault
def program_is_missing(launch):
    launch.command = ['./nothing-here']
    launch.expected = {127}


@fault
def program_cannot_be_executed(launch):
    with open(os.path.join(launch.where, 'plain'), 'w', encoding='utf-8') as file:
        file.write('x\n')
    launch.command = ['./plain']
    launch.expected = {126}


@fault
def cwd_is_missing(launch):
    launch.options += ['--cwd', '/no/such/place']
    launch.expected = {126}


@fault
def pmi_is_not_finalized(launch):
    """One leaves in order of the shell, but not of PMI; the others wait."""
    launch.one_rank(PMI_INIT + 'exit 0')
    launch.expected = {1}


@fault
def pmi_abort(launch):
    code = launch.random.randrange(1, 256)
    launch.one_rank(PMI_INIT + f'echo "cmd=abort exitcode={code}" >&$PMI_FD; sleep 100')
    launch.expected = {code}


@fault
def agent_is_silent(launch):
    """Stopped: neither dead nor heard. It must be given up, before its guard lets it go on after 3 s
    (GUARD_SUSPECT_S), and is ended by another one."""
    if launch.world.sshd:
        return  # another one would continue it

    def act():
        launch.stopped = launch.random.choice(sorted(launch.agents()))[0]
        os.kill(launch.stopped, signal.SIGSTOP)

    launch.options += ['--heartbeat', '0.3', '--dead-after', '2']
    launch.sh(WAIT)
    launch.act = act
    launch.expected = {69}


@fault
def no_agent_at_all(launch):
    if launch.world.sshd:
        return
    launch.options += ['--agent', '/bin/true']
    launch.expected = {70}


@fault
def agent_talks_nonsense(launch):
    if launch.world.sshd:
        return
    launch.options += ['--agent', os.path.join(launch.where, 'agent')]
    with open(os.path.join(launch.where, 'agent'), 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\nhead -c 5000 /dev/urandom\nsleep 100\n')
    os.chmod(file.name, 0o755)
    launch.expected = {76}
    launch.settle_s = None  # that script is no agent: nobody promised its end


@fault
def exec_status(launch):
    code = launch.random.choice([0, 3, 200])
    launch.sh(f'exit {code}')
    launch.is_exec = True
    launch.expected = {code}
