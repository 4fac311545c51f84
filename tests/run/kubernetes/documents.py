#!/usr/bin/python3
# documents.py PROGRAM - custom resources beside an API server in memory (api_server.py)
#
# Prints one line for each story of a DeepSpeedJob that was given to the cluster as a document, and of
# which muster k8s controller makes a job. PROGRAM is muster-k8s with switches for tests.
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
LOOK_S = 0.01
LIVES_MAX = 60
# So that nobody waits for the other of two Secrets (PLAN_PAIR_S) that a killed controller has not made.
OLD_SECRETS = {"secrets": 60}
JOB = ("deepspeedjobs", "default", "j")
TEMPLATE = {"spec": {"containers": [{"name": "worker", "image": "i"}]}}


def document(**spec):
    return {"apiVersion": "muster.dev/v1beta1", "kind": "DeepSpeedJob", "metadata": {"name": "j"},
            "spec": {"worker": {"replicas": 2, "template": TEMPLATE}, "launcher": "pod",
                     "config": {"run": {"python": ["a.py"]}}, **spec}}


class World:
    def __init__(self, failures=0, has_kubelet=True, ages=None):
        self.cluster = api_server.Cluster(failures, ages=ages)
        self.has_kubelet = has_kubelet

    async def __aenter__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.socket = self.directory.name + "/socket"
        self.server = await asyncio.start_unix_server(self.cluster.serve, self.socket,
                                                      limit=1 << 24)
        self.kubelet = asyncio.create_task(self.cluster.run_pods())
        if not self.has_kubelet:
            self.kubelet.cancel()
        return self

    async def __aexit__(self, *_):
        self.kubelet.cancel()
        self.server.close()
        await self.cluster.close()
        self.directory.cleanup()

    async def run(self, *words, **environment):
        return await asyncio.create_subprocess_exec(
            program, *words, env={**os.environ, "MUSTER_TEST_SOCKET": self.socket, **environment},
            stdout=subprocess.PIPE if words[0] != "controller" else subprocess.DEVNULL)

    @contextlib.asynccontextmanager
    async def controlled(self):
        controller = await self.run("controller", "--identity=test")
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                controller.kill()
            await controller.wait()

    def apply(self, **spec):
        self.cluster.create("deepspeedjobs", "default", json.loads(json.dumps(document(**spec))))

    def change(self, spec):
        self.cluster.patch(JOB, {"spec": spec})

    def status(self):
        return self.cluster.objects.get(JOB, {}).get("status", {})

    def pods(self):
        return sorted(key[2] for key in self.cluster.objects if key[0] == "pods")

    def statuses(self):
        """All that the job had, in order."""
        return [document["status"] for _, _, plural, document in self.cluster.history
                if plural == "deepspeedjobs" and "status" in document]

    async def until(self, holds):
        while not holds():
            await asyncio.sleep(LOOK_S)

    def left(self):
        """But for Events, which a cluster keeps for an hour."""
        return sorted({key[0] for key in self.cluster.objects} - {"leases", "events"})


def truths(status):
    return [one["type"] for one in status["conditions"] if one["status"] == "True"]


async def success():
    """What D4 lists of a status, and that all goes with the resource."""
    async with World() as world, world.controlled():
        world.apply()
        await world.until(lambda: world.status().get("phase") == "Succeeded")
        status = world.status()
        print("success: phase", status["phase"], "true", *truths(status))
        print("conditions:", *(one["type"] for one in status["conditions"]),
              "each with", *sorted(status["conditions"][0]))
        print("tasks:", *(f"{task['type']} {task['restartCount']} {len(task['status'])}"
                          for task in status["tasks"]),
              "of", *sorted(status["tasks"][0]["status"][0]))
        print("aggregate:", *sorted(status["aggregate"]), "and", status["backoffCount"])
        # A condition that stays keeps its time.
        times = {}
        for one in world.statuses():
            for condition in one["conditions"]:
                times.setdefault((condition["type"], condition["status"]), set()).add(
                    condition["lastTransitionTime"])
        print("times of ReplicaFailure:", len(times["ReplicaFailure", "False"]))
        count = len(world.statuses())
        await asyncio.sleep(0.3)
        print("written when nothing changes:", len(world.statuses()) - count)
        world.cluster.delete(JOB, {})
        await asyncio.sleep(0.3)
        print("left with the resource gone:", world.left())


class Rude(api_server.Cluster):
    """Refuses each request once; of each list, the first watch is too late, the second ends within
    a line."""

    def answer(self, method, path, query, body):
        what = method, path
        if "watch" not in query and what not in self.refused and "/leases" not in path:
            self.refused[what] = time.monotonic()
            if method == "POST":
                raise api_server.Refusal(429, retry_after_s=2)
            raise api_server.Refusal(503)
        if method == "POST" and what in self.refused:
            self.pauses.append(time.monotonic() - self.refused[what])
        return super().answer(method, path, query, body)

    async def watch(self, path, query, writer):
        self.watches[path] = self.watches.get(path, 0) + 1
        if self.watches[path] > 2:
            await super().watch(path, query, writer)
            return
        error = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
        line = json.dumps(error).encode() + b"\n" if self.watches[path] == 1 else b'{"type": "MODI'
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     b"%x\r\n%s\r\n" % (len(line), line))
        await writer.drain()


async def rude():
    """The same end beside an API server that is busy, and forgets."""
    async with World() as world:
        world.cluster.__class__ = Rude
        world.cluster.refused, world.cluster.pauses, world.cluster.watches = {}, [], {}
        async with world.controlled():
            world.apply()
            await world.until(lambda: world.status().get("phase") == "Succeeded")
            await world.until(lambda: sorted(world.cluster.watches.values()) == [3, 3, 3])
        print("rude: phase", world.status()["phase"], "refused often:",
              len(world.cluster.refused) > 10, "Retry-After kept:",
              min(world.cluster.pauses) >= 2)


async def watching():
    """What get --watch says of a life, and its other formats."""
    async with World(has_kubelet=False) as world, world.controlled():
        world.apply()
        await world.until(lambda: len(world.pods()) == 3)
        for form, line in ("yaml", "  phase: Pending"), ("wide", "IS_CHIEF"):
            command = await world.run("get", "j", "-o", form)
            print(f"{form}:", line in (await command.communicate())[0].decode())
        command = await world.run("get", "j", "--watch")
        while b"waiting for 3 of 3 Pods" not in await command.stdout.readline():
            pass
        world.cluster.delete(JOB, {})
        last = (await command.communicate())[0].decode().splitlines()[-1]
        print("watched:", last.split(maxsplit=1)[1])


async def failure():
    async with World(failures=2) as world, world.controlled():
        # It goes at once, but not before it has said so.
        world.apply(runPolicy={"backoffLimit": 1, "ttlSecondsAfterFinished": 0})
        await world.until(lambda: world.statuses()[-1:] and world.statuses()[-1]["phase"] == "Failed")
        status = world.statuses()[-1]
        print("failure: true", *truths(status), "backoffCount", status["backoffCount"],
              "exitCode", status["exitCode"])
        await world.until(lambda: JOB not in world.cluster.objects)
        await world.until(lambda: world.left() == [])
        print("time to live over: nothing left")


async def changes():
    """A pause and another number of workers, by the document and by the commands."""
    async with World(has_kubelet=False) as world, world.controlled():
        world.apply()
        await world.until(lambda: len(world.pods()) == 3)
        world.change({"worker": {"replicas": 3}})
        await world.until(lambda: len(world.pods()) == 4)
        world.change({"runMode": {"pause": {"enabled": True}}})
        await world.until(lambda: world.pods() == [])
        await world.until(lambda: world.status().get("reason") == "paused")
        print("paused: phase", world.status()["phase"])
        for words in ("resume", "j"), ("scale", "j", "--workers=1"):
            command = await world.run(*words)
            said = (await command.communicate())[0].decode().strip()
            print(f"{words[0]}: {command.returncode} {said}")
        await world.until(lambda: world.pods() == ["j-launcher", "j-worker-0"])
        spec = world.cluster.objects[JOB]["spec"]
        print("its document says", spec["worker"]["replicas"], spec["runMode"]["pause"]["enabled"])
        await scale_by_document(world, "ScaleOut", {"toAdd": {"count": 2}})
        await scale_by_document(world, "ScaleIn", {"toDelete": {"podNames": ["j-worker-0"]}})
        command = await world.run("delete", "j")
        print("delete:", (await command.communicate())[0].decode().strip(), world.left())


async def scale_by_document(world, kind, amount):
    """ET's."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": kind,
                   "metadata": {"name": "x"}, "spec": {"selector": {"name": "j"}, **amount}}, file)
        file.flush()
        command = await world.run("scale", "-f", file.name)
        said = (await command.communicate())[0].decode().strip()
    print(f"{kind}: {command.returncode} {said}, then",
          world.cluster.objects[JOB]["spec"]["worker"]["replicas"])


async def refusals():
    async with World(has_kubelet=False) as world, world.controlled():
        world.apply(config={"run": {"python": ["a.py"]}, "autotune": "run"})
        await world.until(lambda: world.status().get("phase") == "Failed")
        print("wrong:", world.status()["conditions"][4]["reason"], world.status()["reason"])
        world.cluster.delete(JOB, {})
        world.cluster.create("configmaps", "default", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}, "data": {"a": "b"}})
        world.apply()
        await world.until(lambda: world.status().get("phase") == "Failed")
        print("taken:", world.status()["reason"])
        print("which is as it was:", world.cluster.objects["configmaps", "default", "j"]["data"])


async def submitted_before():
    async with World(has_kubelet=False) as world, world.controlled():
        submit = await world.run("submit", "--name=j", "--image=i", "--workers=1", "b.py")
        await submit.communicate()
        world.apply()
        await world.until(lambda: world.status().get("phase") == "Failed")
        print("submitted before:", world.status()["conditions"][4]["reason"], *world.pods())
        # When that job goes, it is the resource's turn.
        world.cluster.delete(("configmaps", "default", "j"), {})
        await world.until(lambda: world.status().get("phase") == "Pending")
        await world.until(lambda: len(world.pods()) == 3)
        print("after that:", *world.pods())


ELASTIC = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}


def lines(world):
    data = world.cluster.objects.get(("configmaps", "default", "j-hosts"), {}).get("data", {})
    return [line.split(".")[0] for line in data.get("hostfile", "").splitlines() if line[0] != "#"]


async def elastic_life(world, step):
    """Two workers, four, three, of which one is lost; the same launcher all the time."""
    world.cluster.may_end = False
    world.apply(elastic=ELASTIC)
    await step(lambda: world.status().get("phase") == "Running" and len(lines(world)) == 2)
    launcher = world.cluster.objects["pods", "default", "j-launcher"]["metadata"]["uid"]
    world.change({"elastic": {"expectedReplicas": 4}})
    await step(lambda: len(lines(world)) == 4)
    world.change({"elastic": {"expectedReplicas": 3}})
    await step(lambda: len(lines(world)) == 3 and "j-worker-3" not in world.pods())
    lost = "pods", "default", "j-worker-1"
    uid = world.cluster.objects[lost]["metadata"]["uid"]
    world.cluster.remove(lost)
    await step(lambda: lost in world.cluster.objects and
               world.cluster.objects[lost]["metadata"]["uid"] != uid and
               world.cluster.objects[lost]["status"]["phase"] == "Running")
    same = world.cluster.objects["pods", "default", "j-launcher"]["metadata"]["uid"] == launcher
    told = world.cluster.objects["pods", "default", "j-launcher"]["metadata"]["labels"]
    world.cluster.may_end = True
    await step(lambda: world.status().get("phase") == "Succeeded")
    return f"{same} {told['muster.dev/hosts']} {lines(world)} attempts {world.status()['attempt']}"


async def two_at_work():
    """One makes Secrets and a Pod while the other, who has seen no Secrets, asks for more."""
    is_held, may_go_on = asyncio.Event(), asyncio.Event()

    async def hold(method, path):
        has_begun = ("configmaps", "default", "j") in world.cluster.objects
        if has_begun and method == "GET" and "/services/" in path and not is_held.is_set():
            is_held.set()
            await may_go_on.wait()

    async with World(has_kubelet=False) as world:
        world.cluster.before = hold
        async with world.controlled():
            world.apply()
            await is_held.wait()
            # Two Secrets, hostfile, Service, NetworkPolicy, and a Pod, of which a watch tells.
            other = await world.run("attach", "j", MUSTER_TEST_DIE_AFTER="6")
            await other.wait()
            print("two at work meanwhile:", *world.pods())
            may_go_on.set()
            await world.until(lambda: len(world.pods()) == 3 or "phase" in world.status())
            await world.until(lambda: "phase" in world.status())
            print("two at work then:", *world.pods(), world.status()["phase"])


async def elastic():
    async with World() as world, world.controlled():
        print("elastic: the same launcher", await elastic_life(world, world.until))
    # The same in one life in which the controller is killed after every three actions.
    async with World(ages=OLD_SECRETS) as world:
        controllers = []

        async def step(holds):
            while not holds():
                if not controllers or controllers[-1].returncode is not None:
                    controllers.append(await world.run("controller", "--identity=test",
                                                       MUSTER_TEST_DIE_AFTER="3"))
                await asyncio.sleep(LOOK_S)
        print("killed: the same launcher", await elastic_life(world, step))
        print("killed enough:", len(controllers) > 4)
        if controllers[-1].returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                controllers[-1].kill()
            await controllers[-1].wait()


async def killed():
    """One life in which the controller is killed after every three actions."""
    async with World(failures=1, ages=OLD_SECRETS) as world:
        world.apply(runPolicy={"backoffLimit": 1})
        for lives in range(1, LIVES_MAX):
            controller = await world.run("controller", "--identity=test", MUSTER_TEST_DIE_AFTER="3")
            while controller.returncode is None:
                try:
                    await asyncio.wait_for(controller.wait(), LOOK_S)
                except asyncio.TimeoutError:
                    pods = world.pods()
                    if world.status().get("phase") == "Succeeded" and len(pods) == 3:
                        with contextlib.suppress(ProcessLookupError):  # it was killed just now
                            controller.send_signal(signal.SIGTERM)
            if controller.returncode != -signal.SIGKILL:
                break
        print("killed often enough:", lives > 4, world.status()["phase"], "backoffCount",
              world.status()["backoffCount"])


async def main():
    for story in (success, rude, watching, failure, changes, refusals, submitted_before, two_at_work,
                  elastic, killed):
        await asyncio.wait_for(story(), 240)
        sys.stdout.flush()


asyncio.run(main())
