#!/usr/bin/python3
# killed.py PROGRAM - muster k8s beside an API server in memory (api_server.py)
#
# Prints one line for each story of a job: the controller is killed after its first action, after its
# second ..., and again and again in one life; always the end is that of a controller which
# lived. Then what 500 workers cost. PROGRAM is muster-k8s with switches for tests.
# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # not beside the sources
import api_server  # noqa: E402

program = os.path.abspath(sys.argv[1])
tempfile.tempdir = os.getcwd()  # the script's, which goes with it, whatever happens
LOOK_S = 0.02
END_LOOKS = 5  # without a change
STUCK_S = 30  # the same, where something else was wanted; a controller looks again every 5 s
LIMIT_S = 90  # for whatever else is waited for
ACTIONS_MAX = 100

NO_ATTEMPTS = '"attempts": "{\\"number\\":1,,\\"failures\\":0,,\\"last\\":\\"\\"}", '

# Name: (options of submit, attempts that fail).
STORIES = {
    "success": ([], 0),
    "failure": (["--clean-up", "All"], 1),
    "two-retries": (["--job-backoff-limit", "2", "--clean-up", "None", "--tensorboard",
                     "--metrics", "annotation"], 2),
    "expiry": (["--ttl-after-finished", "0", "--job-backoff-limit", "1"], 1),
}
VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "startTime",
            "finishedAt"}


def submit_words(options, workers=2):
    return [program, "submit", "--name=j", "--image=i", f"--workers={workers}", *options]


def state(cluster):
    """All objects without what differs from one life to the next."""
    text = json.dumps(sorted((key, strip(key[0], document))
                             for key, document in cluster.objects.items()
                             if key[0] not in ("leases", "events")), sort_keys=True)
    text = re.sub(r'\\"(ended|started|uid)\\": ?(\\"[^"\\]*\\"|[0-9]+)', "", text)
    # A run that is over before the controller has seen it is not kept as launched.
    return re.sub(r'\\"launched\\":[0-9]+', "", text).replace(NO_ATTEMPTS, "")


def strip(plural, document):
    if isinstance(document, list):
        return [strip(plural, one) for one in document]
    if not isinstance(document, dict):
        return document
    if plural == "secrets" and "data" in document:
        document = {**document, "data": sorted(document["data"])}
    return {name: strip(plural, value) for name, value in document.items() if name not in VOLATILE}


class World:
    """A cluster with the beginning of a job."""

    def __init__(self, anchor, failures):
        # So that nobody waits for the other of two Secrets (PLAN_PAIR_S).
        self.cluster = api_server.Cluster(failures, ages={"secrets": 60})
        self.cluster.create("configmaps", "default", json.loads(json.dumps(anchor)))
        self.directory = tempfile.TemporaryDirectory()
        self.socket = self.directory.name + "/socket"

    async def __aenter__(self):
        self.server = await asyncio.start_unix_server(self.cluster.serve, self.socket,
                                                      limit=1 << 24)
        self.kubelet = asyncio.create_task(self.cluster.run_pods())
        return self

    async def __aexit__(self, *_):
        self.kubelet.cancel()
        self.server.close()
        await self.cluster.close()
        self.directory.cleanup()

    async def control(self, die_after=None, identity="test"):
        environment = {**os.environ, "MUSTER_TEST_SOCKET": self.socket}
        if die_after:
            environment["MUSTER_TEST_DIE_AFTER"] = str(die_after)
        return await asyncio.create_subprocess_exec(
            program, "controller", f"--identity={identity}", env=environment, stdout=subprocess.DEVNULL)

    async def wait(self, process, wanted):
        """True: it was killed. Else the wanted state came, or nothing changed any more."""
        before, looks, since = None, 0, time.monotonic()
        begun = since
        while time.monotonic() - since < STUCK_S and time.monotonic() - begun < LIMIT_S:
            try:
                status = await asyncio.wait_for(process.wait(), LOOK_S)
                if status != -signal.SIGKILL:
                    sys.exit(f"the controller ended with {status}")
                return True
            except asyncio.TimeoutError:
                pass
            looks += 1
            if self.cluster.moves != before:
                before, looks, since = self.cluster.moves, 0, time.monotonic()
            if looks == END_LOOKS and wanted is not None and state(self.cluster) == wanted:
                break
            if looks > 10 * END_LOOKS and wanted is None and self.has_ended():
                break
        if wanted is None and not self.has_ended():
            sys.exit("a controller that nobody killed came to no end: " + state(self.cluster))
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            process.kill()
        await process.wait()
        return False

    async def holder(self, wanted):
        await until(lambda: self.lease_holder() == wanted, f"{wanted} holds the Lease")
        return wanted

    def lease_holder(self):
        lease = self.cluster.objects.get(("leases", "default", "muster-controller"))
        return lease["spec"]["holderIdentity"] if lease else None

    def has_ended(self):
        anchor = self.cluster.objects.get(("configmaps", "default", "j"))
        return anchor is None or "outcome" in anchor["data"]


async def until(holds, what):
    since = time.monotonic()
    while not holds():
        if time.monotonic() - since > LIMIT_S:
            sys.exit(f"waited in vain until {what}")
        await asyncio.sleep(LOOK_S)


async def live(anchor, failures, wanted, deaths):
    """The state in the end, and how often the controller was killed."""
    count = 0
    async with World(anchor, failures) as world:
        for die_after in deaths:
            if not await world.wait(await world.control(die_after), wanted):
                return state(world.cluster), count
            count += 1
        await world.wait(await world.control(), wanted)
        return state(world.cluster), count


def first_object(options):
    words = submit_words(options) + ["--dry-run", "-o", "json", "a.py"]
    printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(printed.stdout)["items"][0]


async def tell_story(name):
    options, failures = STORIES[name]
    anchor = first_object(options)
    wanted, _ = await live(anchor, failures, None, [])
    different = []
    for actions in range(1, ACTIONS_MAX):
        got, killed = await live(anchor, failures, wanted, [actions])
        if got != wanted:
            different.append(actions)
            explain(got, wanted)
        if not killed or different:
            break
    # One life of two Secrets that are made together is the shortest one that gets anywhere.
    for few in 2, 3:
        got, killed = await live(anchor, failures, wanted, [few] * ACTIONS_MAX)
        if got != wanted or killed == ACTIONS_MAX:
            different.append(f"each {few}")
            explain(got, wanted)
    print(f"{name}: killed after each of {actions - 1} actions, and {killed} times in one life, "
          f"different ends: {different}", flush=True)


def explain(got, wanted):
    """The objects that differ."""
    got, wanted = ({tuple(key): document for key, document in json.loads(text)}
                   for text in (got, wanted))
    for key in sorted(got.keys() | wanted.keys()):
        if got.get(key) != wanted.get(key):
            print(f"# {key}: {got.get(key)}\n#   not {wanted.get(key)}")


async def hand_over():
    """Of two controllers one acts; the other one does so as soon as that one has ended."""
    async with World(first_object([]), 0) as world:
        one = await world.control(identity="one")
        await world.holder("one")
        other = await world.control(identity="other")
        await until(lambda: world.cluster.requests.count("GET leases") >= 4,
                    "the other has looked, too")
        held = await world.holder("one")
        one.terminate()
        ended = await asyncio.wait_for(one.wait(), LIMIT_S)
        held += " " + await world.holder("other")
        given_back = any(what == "leases" and document["spec"]["holderIdentity"] == ""
                         for _, _, what, document in world.cluster.history)
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            other.kill()
        await other.wait()
    print(f"held by {held}, exit status {ended}, given back: {given_back}", flush=True)


class Unleased(api_server.Cluster):
    """Somebody deletes the Lease between the look at it and its renewal."""

    def update(self, key, document):
        if key[0] == "leases" and self.failures > 0:
            self.failures = 0
            self.remove(key)
        return super().update(key, document)


async def lose_lease():
    """A Lease that is deleted is made again."""
    async with World(first_object([]), 1) as world:
        world.cluster.__class__ = Unleased
        world.cluster.create("leases", "default", {
            "metadata": {"name": "muster-controller"}, "spec": {"holderIdentity": ""}})
        process = await world.control(identity="one")
        ended = asyncio.create_task(process.wait())
        held = asyncio.create_task(world.holder("one"))
        await asyncio.wait([ended, held], return_when=asyncio.FIRST_COMPLETED)
        print(f"deleted Lease: {'ended' if ended.done() else 'held by ' + held.result()}",
              flush=True)
        held.cancel()
        if not ended.done():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                process.kill()
        await ended


class Replaced(api_server.Cluster):
    """When the last lines of a Pod are to be kept, somebody has deleted the job and has submitted
    another one of that name, which will not fail."""

    def patch(self, key, patch, part=None):
        if "lines" in patch.get("data", {}) and self.failures > 0:
            self.failures = 0
            anchor = self.remove(key)
            for pod in [other for other in self.objects if other[0] == "pods"]:
                self.remove(pod)
            for name in "uid", "resourceVersion", "creationTimestamp":
                del anchor["metadata"][name]
            self.create("configmaps", key[1], {**anchor, "data": {"job": anchor["data"]["job"]}})
        return super().patch(key, patch, part)


async def replace_job():
    """What was planned for the old job is not done to the new one."""
    async with World(first_object([]), 1) as world:
        world.cluster.__class__ = Replaced
        await world.wait(await world.control(), None)
        data = world.cluster.objects["configmaps", "default", "j"]["data"]
    print(f"replaced: {json.loads(data['outcome'])['state']}", flush=True)


class Mute(api_server.Cluster):
    """Nobody may write Events."""

    def create(self, plural, space, document):
        if plural == "events":
            raise api_server.Refusal(403)
        return super().create(plural, space, document)


async def tell_events():
    """What becomes of a job is in Events, each once, which are about its anchor; and a controller
    without the right to write them does its work."""
    for kind in api_server.Cluster, Mute:
        async with World(first_object(["--job-backoff-limit=1"]), 1) as world:
            world.cluster.__class__ = kind
            await world.wait(await world.control(), None)
            uid = world.cluster.objects["configmaps", "default", "j"]["metadata"]["uid"]
            events = [document for key, document in world.cluster.objects.items()
                      if key[0] == "events"]
        told = [event["metadata"]["name"].removeprefix(f"j.{uid}.") for event in events
                if event["involvedObject"]["uid"] == uid and event["reason"] not in ("Waiting", "Running")]
        waits = sum("waiting for" in event["message"] for event in events)
        print(f"{kind.__name__} has Events: {' '.join(sorted(told))}, waiting: {waits > 0}, "
              f"requests: {world.cluster.requests.count('POST events') > 1}", flush=True)


async def pause_pending():
    """Pods that have not run are deleted without the time to save anything."""
    cluster = api_server.Cluster()
    with tempfile.TemporaryDirectory() as directory:
        socket = directory + "/socket"
        server = await asyncio.start_unix_server(cluster.serve, socket, limit=1 << 24)
        await cost(submit_words([]) + ["a.py"], socket)
        status = (await cost([program, "pause", "j"], socket))[0]
        server.close()
        await cluster.close()
    left = [key for key in cluster.objects if key[0] == "pods"]
    print(f"paused: {status}, graces {cluster.graces}, left {left}", flush=True)


async def cost(words, socket):
    """Seconds of CPU and MiB of memory of a command."""
    process = subprocess.Popen(words, env={**os.environ, "MUSTER_TEST_SOCKET": socket},
                               stdout=subprocess.DEVNULL)
    _, status, used = await asyncio.to_thread(os.wait4, process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


async def count_cost(workers):
    cluster = api_server.Cluster()
    with tempfile.TemporaryDirectory() as directory:
        socket = directory + "/socket"
        server = await asyncio.start_unix_server(cluster.serve, socket, limit=1 << 24)
        submit = await cost(submit_words([], workers) + ["a.py"], socket)
        requests = len(cluster.requests)
        get = await cost([program, "get", "j"], socket)
        server.close()
        await cluster.close()
    print("workers %d: submit %d in %.2f s with %.0f MiB and %d requests, get %d in %.2f s with "
          "%.0f MiB and %d requests" % (workers, *submit, requests, *get,
                                        len(cluster.requests) - requests), flush=True)


async def main():
    for name in sys.argv[2:] or STORIES:
        await tell_story(name)
    if len(sys.argv) == 2:
        await hand_over()
        await lose_lease()
        await replace_job()
        await tell_events()
        await pause_pending()
        for workers in 250, 500:
            await count_cost(workers)


asyncio.run(main())
