#!/usr/bin/python3
# in_cluster.py PROGRAM - muster k8s in a Pod: it logs in with the Pod's service account
#
# Prints one line for each story, beside an API server in memory (api_server.py) that has a
# certificate and asks for a token. PROGRAM is muster-k8s with switches for tests. There is no kubectl.
# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # not beside the sources
import api_server  # noqa: E402

program = sys.argv[1]
SUBMIT = ("submit", "--name=j", "--image=i")


def certify(directory):
    """As its own authority."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", f"{directory}/key", "-out", f"{directory}/ca.crt"],
        check=True, stderr=subprocess.DEVNULL)


class Pod:
    """And the API server of its cluster."""

    async def __aenter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = pathlib.Path(self.temporary.name)
        certify(self.directory)
        self.cluster = api_server.Cluster(spaces=("default", "training"))
        self.cluster.token = "a.b.c"
        (self.directory / "token").write_text("a.b.c\n")
        (self.directory / "namespace").write_text("training")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.directory / "ca.crt", self.directory / "key")
        self.server = await asyncio.start_server(self.cluster.serve, "127.0.0.1", 0, ssl=context,
                                                 limit=1 << 24)
        self.port = self.server.sockets[0].getsockname()[1]
        self.kubelet = asyncio.create_task(self.cluster.run_pods())
        return self

    async def __aexit__(self, *_):
        self.kubelet.cancel()
        self.server.close()
        await self.cluster.close()
        self.temporary.cleanup()

    async def start(self, *words, **environment):
        return await asyncio.create_subprocess_exec(
            program, *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": "/nowhere", "HOME": "/nowhere", "MUSTER_TEST_ACCOUNT": self.directory,
                 "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port),
                 **environment})

    async def run(self, *words, **environment):
        process = await self.start(*words, **environment)
        out, _ = await process.communicate()
        return process.returncode, out.decode().replace("\n", " | ")

    def spaces(self):
        return sorted({key[1] for key in self.cluster.objects})


async def jobs():
    async with Pod() as pod:
        print("submit:", *await pod.run(*SUBMIT, "--workers=2", "--wait", "a.py"))
        print("in:", *pod.spaces())
        print("get:", *await pod.run("get", "j", "-o", "name"))
        print("delete:", *await pod.run("delete", "j"))
        print("in another:", (await pod.run(*SUBMIT, "--namespace=default", "a.py"))[0],
              *pod.spaces())


async def controller():
    async with Pod() as pod:
        process = await pod.start("controller", "--identity=test")
        await pod.run(*SUBMIT, "a.py")
        anchor = ("configmaps", "training", "j")
        while "outcome" not in pod.cluster.objects.get(anchor, {}).get("data", {}):
            await asyncio.sleep(0.05)
        print("controller:", pod.cluster.objects[anchor]["data"]["outcome"][:20])
        process.terminate()
        print("it says:", (await process.communicate())[0].decode().splitlines()[0])


async def refused():
    async with Pod() as pod:
        (pod.directory / "token").write_text("of.another.cluster")
        print("token:", *await pod.run("list"))


async def stranger():
    async with Pod() as pod:
        certify(pod.directory)
        since = time.monotonic()
        print("stranger:", *await pod.run("list"))
        print("at once:", time.monotonic() - since < 30, pod.cluster.requests)


async def elsewhere():
    async with Pod() as pod:
        print("KUBECONFIG:", *await pod.run("list", KUBECONFIG="/some/file"))
        print("context:", *await pod.run("list", "--context=c"))
        home = pod.directory / "home"
        (home / ".kube").mkdir(parents=True)
        (home / ".kube/config").touch()
        print("file at home:", *await pod.run("list", HOME=home))
        print("no Pod:", *await pod.run("list", KUBERNETES_SERVICE_HOST=""))
        print("asked:", pod.cluster.requests)


async def main():
    for story in jobs, controller, refused, stranger, elsewhere:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(story(), 100)


asyncio.run(main())
