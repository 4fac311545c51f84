# faults.py - what the schedules of elastic draw from, one function each
#
# A function does something to a schedule and keeps its books: which nodes are withdrawn (not on the
# list of hosts), leaving (they have had a notice) or failed (muster may have lost them, and lets
# them cool down).
# SPDX-License-Identifier: Apache-2.0
"""What happens to a run."""

import os
import signal
import subprocess
import time

import cloud
from cluster import kill

STEPS = []
COOL_S = 30  # muster tries a node again that its cloud has taken so long ago
# Nothing of this is a list of hosts.
RUBBISH = ['', 'node1 slots=nothing\n', 'node1 slots=1\nnode1 slots=1 slots=2\n',
           '<html><title>404</title></html>\n', '\0\1\2\3' * 100, '-oProxyCommand=x slots=1\n',
           'node[1-99999999] slots=1\n']


def step(is_possible=lambda schedule: True):
    def add(function):
        function.is_possible = is_possible
        STEPS.append(function)
        return function
    return add


def has_ranks(schedule):
    return len(schedule.ranks()) > 0


def is_whole(schedule):
    """muster resume takes the hosts of then for its first world, and needs all of them."""
    return all(node.is_there() for node in schedule.nodes) and \
        schedule.withdrawn == schedule.withdrawn_first


def ask(schedule, *words):
    """Another muster, which asks the one of the run."""
    return subprocess.run([schedule.world.muster, *words], env=schedule.environment(),
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                          timeout=60)


def is_over(done):
    return 'is ending' in done.stderr or 'is not running' in done.stderr


def pick(schedule):
    """A node, rather one with ranks."""
    nodes = sorted({node for node, _ in schedule.ranks()}, key=lambda node: node.number)
    if not nodes or schedule.random.random() < 0.2:
        nodes = schedule.nodes
    node = schedule.random.choice(nodes)
    schedule.tell(f'  {node.name}')
    return node


@step(has_ranks)
def a_rank_is_killed(schedule):
    ranks = schedule.ranks()
    if ranks:
        number = schedule.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV,
                                         signal.SIGABRT, signal.SIGTERM])
        if number == signal.SIGTERM and 'deaf' in schedule.rank_words:
            number = signal.SIGKILL
        schedule.signals.add(int(number))
        node, process = schedule.random.choice(ranks)
        schedule.tell(f'  on {node.name}, by {int(number)}')
        kill(process.pid, number)


@step(has_ranks)
def an_agent_is_killed(schedule):
    """Or its guard, or both."""
    node = pick(schedule)
    agents = node.agents()
    schedule.failed.add(node)
    for process in schedule.random.sample(agents, schedule.random.randint(1, 2) if agents[1:] else
                                          len(agents)):
        kill(process.pid, signal.SIGKILL)


@step()
def power_fails(schedule):
    node = pick(schedule)
    schedule.failed.add(node)
    node.power_off()


@step()
def power_of_two_fails(schedule):
    for node in schedule.random.sample(schedule.nodes, 2):
        schedule.tell(f'  {node.name}')
        schedule.failed.add(node)
        node.power_off()


@step()
def link_is_cut(schedule):
    node = pick(schedule)
    schedule.failed.add(node)
    node.link(False)


@step()
def link_flaps(schedule):
    """Each time for less than the lease, at first."""
    node = pick(schedule)
    schedule.failed.add(node)
    for _ in range(schedule.random.randrange(1, 4)):
        node.link(False)
        time.sleep(schedule.random.uniform(0.1, 1.2) * schedule.lease_s)
        if node.has_power:
            node.link(True)
        time.sleep(schedule.random.uniform(0, 1))


@step(has_ranks)
def an_agent_stands_still(schedule):
    node = pick(schedule)
    if not node.is_there():
        return  # late in its lease: its ranks may live for 5 s more, and muster cannot know that
    schedule.failed.add(node)
    stopped = [process.pid for process in node.agents()]
    for pid in stopped:
        kill(pid, signal.SIGSTOP)
    time.sleep(schedule.random.uniform(0.1, 2) * schedule.lease_s)
    for pid in stopped:
        kill(pid, signal.SIGCONT)


@step()
def a_node_returns(schedule):
    for node in schedule.nodes:
        if not node.is_there():
            node.bring_back()
            return


@step(has_ranks)
def a_node_is_drained(schedule):
    node = pick(schedule)
    within = schedule.random.choice(['0', '1', '2'])
    done = ask(schedule, 'drain', '--within', within, schedule.name, node.name)
    if done.returncode == 0:
        schedule.leaving.add(node)
        schedule.back.pop(node, None)
    elif 'is not a node of this run' not in done.stderr and not is_over(done):
        schedule.problems.append(f'drain: {done.stderr}')


@step(lambda schedule: schedule.kind == 'elastic' and has_ranks(schedule))
def the_world_is_scaled(schedule):
    """Often to a size that it cannot have."""
    nodes = schedule.random.randrange(1, 6)
    schedule.tell(f'  {nodes} nodes')
    done = ask(schedule, 'scale', '--within', schedule.random.choice(['0', '1']), schedule.name,
               '--nodes', str(nodes))
    if done.returncode == 0:
        schedule.most = nodes
    elif 'allowed: ' not in done.stderr and 'add hosts to its list' not in done.stderr and \
            not is_over(done):
        schedule.problems.append(f'scale: {done.stderr}')


@step(has_ranks)
def a_node_is_taken_away(schedule):
    """Its cloud says so; then it does it, or not."""
    node = pick(schedule)
    left_s = schedule.random.randrange(3, 8)
    cloud.Service.goes[node.address] = cloud.words(left_s)
    schedule.leaving.add(node)
    schedule.back[node] = time.monotonic() + left_s + COOL_S - 1
    if schedule.random.random() < 0.5:
        schedule.settle()
        schedule.failed.add(node)
        node.power_off()


@step()
def a_host_is_withdrawn(schedule):
    node = pick(schedule)
    schedule.withdrawn.add(node)
    if len(schedule.withdrawn) == len(schedule.nodes):
        schedule.withdrawn.remove(node)
    schedule.write_hosts()


@step()
def hosts_are_offered(schedule):
    if schedule.leaving and schedule.leaving | schedule.withdrawn != set(schedule.nodes):
        schedule.withdraw(set(schedule.leaving))
        schedule.offer()
    elif not schedule.leaving:
        schedule.offer()


@step()
def hosts_are_rubbish(schedule):
    schedule.write_hosts(schedule.random.choice(RUBBISH))
    if schedule.random.random() < 0.5:
        kill(schedule.process.pid, signal.SIGHUP)
    schedule.world.wait_for(lambda: 'hosts stay as they were' in schedule.output('err'), 5)
    if schedule.random.random() < 0.5:
        os.unlink(schedule.where + '/hosts')
        time.sleep(schedule.random.random())
    schedule.write_hosts()


@step()
def hosts_are_asked_for(schedule):
    for _ in range(schedule.random.randrange(1, 20)):
        kill(schedule.process.pid, signal.SIGHUP)


@step(is_whole)
def muster_is_killed(schedule):
    """And resumed at once."""
    schedule.kill_muster()
