#!/usr/bin/python3
# dashboard.py PROGRAM - muster k8s dashboard, and submit --metrics, in clusters in memory
#
# Prints a line for each story, beside an API server in memory (api_server.py). PROGRAM is muster-k8s
# with switches for tests. The kubectl on PATH says what it would forward.
# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not beside the sources
import api_server  # noqa: E402

program = sys.argv[1]


@contextlib.asynccontextmanager
async def served(cluster):
    with tempfile.TemporaryDirectory() as directory:
        server = await asyncio.start_unix_server(cluster.serve, directory + "/socket",
                                                 limit=1 << 24)
        yield directory + "/socket"
        server.close()
        await cluster.close()


async def run(socket, *words):
    """The exit status and all that it says, in one line."""
    process = await asyncio.create_subprocess_exec(
        program, *words, env={**os.environ, "MUSTER_TEST_SOCKET": socket},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out, _ = await process.communicate()
    return f"{process.returncode} {' | '.join(out.decode().splitlines())}"


async def submit(socket, *options):
    return await run(socket, "submit", "--name=j", "--image=i", "--workers=2", *options, "a.py")


def start_pod(cluster, name):
    """As a kubelet does; no other one is here, so nothing ends."""
    key = ("pods", "default", name)
    pod = api_server.clone(cluster.objects[key])
    pod["status"] = {"phase": "Running", "startTime": api_server.stamp(),
                     "conditions": [{"type": "Ready", "status": "True"}]}
    cluster.change("MODIFIED", key, pod)


async def without():
    cluster = api_server.Cluster()
    async with served(cluster) as socket:
        print("none:", await run(socket, "dashboard", "j"))
        await submit(socket)
        print("without:", await run(socket, "dashboard", "j"))


async def with_page(options, *more):
    """Before its Pods run, with some of them, and with all; and when it has ended."""
    cluster = api_server.Cluster()
    async with served(cluster) as socket:
        print("submitted:", await submit(socket, *options))
        print("pending:", await run(socket, "dashboard", "j"))
        start_pod(cluster, "j-launcher")
        start_pod(cluster, "j-worker-1")
        print("early:", await run(socket, "dashboard", "j"))
        start_pod(cluster, "j-worker-0")
        print("running:", await run(socket, "dashboard", "j", *more))
        cluster.objects["pods", "default", "j-launcher"]["metadata"]["deletionTimestamp"] = \
            api_server.stamp()
        print("ending:", await run(socket, "dashboard", "j"))
        del cluster.objects["pods", "default", "j-launcher"]["metadata"]["deletionTimestamp"]
        cluster.end_pod(("pods", "default", "j-launcher"), 0)
        print("ended:", await run(socket, "dashboard", "j"))
        kubelet = asyncio.create_task(cluster.run_pods())
        print("recorded:", (await run(socket, "attach", "j")).split()[0])
        kubelet.cancel()
        print("ended:", await run(socket, "dashboard", "j"))


async def elastic():
    """Its run begins with as few workers as it may have."""
    cluster = api_server.Cluster()
    async with served(cluster) as socket:
        await submit(socket, "--dashboard", "--max-workers=3")
        start_pod(cluster, "j-launcher")
        print("elastic, early:", await run(socket, "dashboard", "j"))
        start_pod(cluster, "j-worker-1")
        print("elastic:", await run(socket, "dashboard", "j"))


async def monitored(has_operator):
    """Without the Prometheus operator there is no job, either."""
    cluster = api_server.Cluster()
    if has_operator:
        api_server.KINDS["servicemonitors"] = ("/apis/monitoring.coreos.com/v1", "ServiceMonitor")
    async with served(cluster) as socket:
        said = await submit(socket, "--metrics=servicemonitor", "--metrics-namespace=monitoring")
        objects = sorted("/".join((key[0], key[2])) for key in cluster.objects)
        print(f"operator {has_operator}: {said} left",
              *(name for name in objects if not objects or name.endswith("-metrics")))
        print(f"operator {has_operator} objects: {len(objects)}")
        if has_operator:
            print("deleted:", await run(socket, "delete", "j"), len(cluster.objects))


async def main():
    for story in (without(), with_page(["--dashboard"], "--port=8000", "-n", "default"),
                  with_page(["--metrics=annotation", "--metrics-port=9000"]), elastic(),
                  monitored(False), monitored(True)):
        await asyncio.wait_for(story, 120)
        sys.stdout.flush()


asyncio.run(main())
