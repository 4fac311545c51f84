#!/usr/bin/python3
# submits.py PROGRAM - muster k8s submit that is refused halfway, or is not the only one
#
# Prints one line for each story, beside an API server in memory (api_server.py). PROGRAM is muster-k8s
# with switches for tests.
# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # not beside the sources
import api_server  # noqa: E402

program = sys.argv[1]


class Meeting(api_server.Cluster):
    """Nobody gets an answer to the first question for a job before two have asked."""

    def __init__(self):
        super().__init__()
        self.asked, self.both = 0, asyncio.Event()

    async def before(self, method, path):
        if method == "GET" and path.endswith("/configmaps/j") and self.asked < 2:
            self.asked += 1
            if self.asked == 2:
                self.both.set()
            await self.both.wait()


class Deaf(api_server.Cluster):
    """Refuses to delete, too."""

    def delete(self, key, options):
        raise api_server.Refusal(403, message=f'{key[0]} "{key[2]}" is forbidden')


@contextlib.asynccontextmanager
async def served(cluster):
    with tempfile.TemporaryDirectory() as directory:
        server = await asyncio.start_unix_server(cluster.serve, directory + "/socket",
                                                 limit=1 << 24)
        yield directory + "/socket"
        server.close()
        await cluster.close()


async def submit(socket, *words, **switches):
    process = await asyncio.create_subprocess_exec(
        program, "submit", "--name=j", "--image=i", *words,
        env={**os.environ, "MUSTER_TEST_SOCKET": socket, **switches}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def left(cluster):
    return sorted({key[0] for key in cluster.objects})


def one_line(text):
    return " | ".join(text.splitlines())


async def refused():
    """The quota has room for two Pods of four."""
    cluster = api_server.Cluster()
    cluster.quota["pods"] = 2
    async with served(cluster) as socket:
        status, out, err = await submit(socket, "--workers=3", "a.py")
    print(f"refused: {status} '{out}' left {left(cluster)}: {one_line(err)}")


async def stuck():
    """What cannot be taken back, either, is named."""
    cluster = Deaf()
    cluster.quota["pods"] = 0
    async with served(cluster) as socket:
        status, _, err = await submit(socket, "a.py")
    print(f"stuck: {status} {one_line(err)}")


async def taken():
    """A Pod of another owner has the name of one of ours. It stays."""
    cluster = api_server.Cluster()
    cluster.create("pods", "default", {"metadata": {"name": "j-worker-0"}, "spec": {}})
    async with served(cluster) as socket:
        status, _, err = await submit(socket, "a.py")
    print(f"taken: {status} left {left(cluster)} {[key[2] for key in cluster.objects]}: "
          f"{one_line(err)}")


async def at_once(*commands):
    """Two at the same moment: one is refused, and the job is that of the other one."""
    cluster = Meeting()
    async with served(cluster) as socket:
        both = await asyncio.gather(*(submit(socket, command) for command in commands))
    created = [command for command, (status, _, _) in zip(commands, both) if status == 0]
    err = [err for status, _, err in both if status == 73]
    job = cluster.objects["configmaps", "default", "j"]["data"]["job"]
    print(f"at once: {len(created)} created, its job: {created[0] in job}, the other: "
          f"{one_line(err[0]) if err else both}")


async def interrupted():
    """The same command continues one that was killed after its Secrets, once that is old."""
    cluster = api_server.Cluster(ages={"configmaps": 60})
    async with served(cluster) as socket:
        died, _, _ = await submit(socket, "a.py", MUSTER_TEST_DIE_AFTER="2")
        before = left(cluster)
        status, out, err = await submit(socket, "a.py")
    print(f"interrupted: {died} {before}, then {status} '{one_line(err)}' {left(cluster)}")


async def young():
    """It waits for one that is at work; here that ends it by its launcher."""
    cluster = api_server.Cluster()
    async with served(cluster) as socket:
        await submit(socket, "a.py")
        launcher = cluster.remove(("pods", "default", "j-launcher"))
        for name in "uid", "resourceVersion", "creationTimestamp":
            del launcher["metadata"][name]
        asked = cluster.requests.count("GET configmaps")
        second = asyncio.create_task(submit(socket, "a.py"))
        # The first round, and one of those that wait.
        while cluster.requests.count("GET configmaps") < asked + 5:
            await asyncio.sleep(0.01)
        cluster.create("pods", "default", launcher)
        status, _, err = await second
    print(f"young: {status} {one_line(err)}")


async def read_until(stream, word):
    """What it has said up to the line with that word, and whether there is one."""
    said = ""
    while word not in said:
        line = (await stream.readline()).decode()
        if not line:
            return said, False
        said += line
    return said, True


async def wait_with(signals):
    """submit --wait, which gets SIGINT so often: its exit status, its last words, what is left."""
    cluster = api_server.Cluster()
    async with served(cluster) as socket:
        process = await asyncio.create_subprocess_exec(
            program, "submit", "--name=j", "--image=i", "--wait", "a.py",
            env={**os.environ, "MUSTER_TEST_SOCKET": socket}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        await read_until(process.stderr, "waiting for")
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            said, _ = await read_until(process.stderr, "Ctrl-C again")
        said += (await process.stderr.read()).decode()
        return await process.wait(), one_line(said), left(cluster)


async def let_go():
    """The first Ctrl-C leaves the job running, the second one deletes it."""
    status, said, objects = await wait_with(1)
    print(f"let go: {status} {said} left {len(objects)}")
    for _ in range(5):  # the second one has 3 s, which may be over on a busy machine
        with contextlib.suppress(ProcessLookupError):
            status, said, objects = await wait_with(2)
            if not objects:
                break
    print(f"let go twice: {status} {said} left {objects}")


async def clock(ahead_s):
    """The server's clock is another one: a Pod that was made just now is not too old."""
    cluster = api_server.Cluster()
    cluster.ahead_s = ahead_s
    async with served(cluster) as socket:
        kubelet = asyncio.create_task(cluster.run_pods())
        status, _, err = await submit(socket, "--wait", "--max-wait-time=600", "a.py")
        kubelet.cancel()
    outcome = json.loads(cluster.objects["configmaps", "default", "j"]["data"]["outcome"])
    is_its = abs(outcome["ended"] - time.time() - ahead_s) < 60
    print(f"clock: {status} {outcome['state']} its time: {is_its}")


async def main():
    for story in (refused(), stuck(), taken(), at_once("a.py", "b.py"), at_once("a.py", "a.py"),
                  interrupted(), young(), let_go(), clock(-7200), clock(7200)):
        await asyncio.wait_for(story, 120)
        sys.stdout.flush()


asyncio.run(main())
