#!/usr/bin/python3
# api_server.py SOCKET - a Kubernetes API server in memory, as far as muster k8s needs one
#
# kubernetes.t asks it and a real one the same questions (api_questions.py). It is for what a real
# cluster cannot show in a test: hundreds of workers, and a controller that is killed after each of
# its actions. Its "kubelet" starts and ends Pods: a launcher whose attempt is not above FAILURES
# exits with 7, later ones with 0, and workers end when the launcher has succeeded.
# SPDX-License-Identifier: Apache-2.0
import asyncio
import base64
import json
import os
import sys
import time
import urllib.parse

TICK_S = 0.01
KINDS = {  # plural: (path of the group, kind)
    "configmaps": ("/api/v1", "ConfigMap"),
    "secrets": ("/api/v1", "Secret"),
    "services": ("/api/v1", "Service"),
    "pods": ("/api/v1", "Pod"),
    "events": ("/api/v1", "Event"),
    "networkpolicies": ("/apis/networking.k8s.io/v1", "NetworkPolicy"),
    "deployments": ("/apis/apps/v1", "Deployment"),
    "leases": ("/apis/coordination.k8s.io/v1", "Lease"),
    "deepspeedjobs": ("/apis/muster.dev/v1beta1", "DeepSpeedJob"),
}
REASONS = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
           422: "Invalid", 429: "TooManyRequests", 503: "ServiceUnavailable"}
HISTORY = 20000  # changes that a watch can begin before


class Refusal(Exception):
    def __init__(self, code, reason=None, message=None, retry_after_s=None):
        super().__init__(code)
        self.code, self.reason = code, reason or REASONS[code]
        self.message = message or self.reason
        self.field = f"Retry-After: {retry_after_s}\r\n" if retry_after_s else ""


def merge(old, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = merge(new.get(name), value)
    return new


def clone(value):
    """What copy.deepcopy does, for what JSON has, in a fifth of its time."""
    if isinstance(value, dict):
        return {name: clone(one) for name, one in value.items()}
    return [clone(one) for one in value] if isinstance(value, list) else value


def matches(document, query):
    labels = document["metadata"].get("labels", {})
    for one in filter(None, query.get("labelSelector", "").split(",")):
        name, equal, value = one.partition("=")
        if name not in labels or (equal and labels[name] != value):
            return False
    field = query.get("fieldSelector", "")
    return not field or document["metadata"]["name"] == field.removeprefix("metadata.name=")


def stamp(age_s=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age_s))


class Cluster:
    def __init__(self, failures=0, spaces=("default",), ages=None):
        """ages: {plural: seconds}, how old objects say they are when they are made."""
        self.failures, self.spaces, self.ages = failures, set(spaces), ages or {}
        self.objects = {}  # (plural, namespace, name): document
        self.version = 100
        self.history = []  # (version, type, plural, document)
        self.requests = []  # "GET pods" ...
        self.moves = 0  # changes and requests, but for those of Leases, which are renewed for ever
        self.may_end = True  # elastic runs
        self.hosts = {}  # how many an elastic launcher had
        self.graces = []  # of the Pods that were deleted
        self.quota = {}  # plural: how many there may be
        self.ahead_s = None  # what its clock says, beside ours; None: it does not say
        self.token = None  # in lower case; who has to log in
        self.news = asyncio.Event()
        self.tasks = set()

    # ---- objects ----

    def change(self, kind, key, document):
        self.version += 1
        self.moves += key[0] != "leases"
        document["metadata"]["resourceVersion"] = str(self.version)
        if kind == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = document
        self.history.append((self.version, kind, key[0], clone(document)))
        del self.history[:-HISTORY]
        self.news.set()
        self.news = asyncio.Event()
        return document

    def create(self, plural, space, document):
        if space not in self.spaces:
            raise Refusal(404)
        metadata = document.setdefault("metadata", {})
        key = (plural, space, metadata["name"])
        if key in self.objects:
            raise Refusal(409, "AlreadyExists")
        most = self.quota.get(plural)
        if most is not None and sum(other[:2] == key[:2] for other in self.objects) >= most:
            raise Refusal(403, message=f'{plural} "{key[2]}" is forbidden: exceeded quota: few, '
                                       f'requested: {plural}=1, used: {plural}={most}, '
                                       f'limited: {plural}={most}')
        metadata.update(
            namespace=space, uid=f"uid-{self.version}",
            creationTimestamp=stamp(self.ages.get(plural, 0) - (self.ahead_s or 0)))
        if plural == "secrets":
            texts = document.pop("stringData", {})
            document.setdefault("data", {}).update(
                {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()})
        if document.get("data") == {}:
            del document["data"]
        if plural == "pods":
            document["status"] = {"phase": "Pending"}
        return self.change("ADDED", key, document)

    def check(self, key, conditions, uid_differs=409):
        if key not in self.objects:
            raise Refusal(404)
        metadata = self.objects[key]["metadata"]
        for name, code in ("resourceVersion", 409), ("uid", uid_differs):
            if conditions.get(name, metadata[name]) != metadata[name]:
                raise Refusal(code)
        return clone(self.objects[key])

    def update(self, key, document):
        old = self.check(key, document.get("metadata", {}))
        document["metadata"] = {**old["metadata"], **document["metadata"]}
        return self.change("MODIFIED", key, document)

    def patch(self, key, patch, part=None):
        """part: the subresource; the rest stays as it is."""
        old = self.check(key, patch.get("metadata", {}), uid_differs=422)
        new = merge(old, {part: patch.get(part)} if part else patch)
        if key[0] == "deepspeedjobs" and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
        return self.change("MODIFIED", key, new)

    def delete(self, key, options):
        document = self.check(key, options.get("preconditions", {}))
        if key[0] == "pods":
            self.graces.append(options.get("gracePeriodSeconds"))
        # A Pod that is on no node yet goes at once.
        if key[0] == "pods" and document["status"]["phase"] == "Running":
            document["metadata"].setdefault("deletionTimestamp", stamp())
            return self.change("MODIFIED", key, document)
        return self.remove(key)

    def remove(self, key):
        document = self.change("DELETED", key, clone(self.objects[key]))
        uid = document["metadata"]["uid"]
        for other in [k for k, o in self.objects.items() if any(
                owner["uid"] == uid for owner in o["metadata"].get("ownerReferences", []))]:
            self.delete(other, {})
        return document

    # ---- what kubelets do ----

    async def run_pods(self):
        while True:
            await asyncio.sleep(TICK_S)
            for key in [key for key in self.objects if key[0] == "pods"]:
                if key in self.objects:
                    self.step_pod(key)

    def step_pod(self, key):
        metadata, phase = self.objects[key]["metadata"], self.objects[key]["status"]["phase"]
        labels = metadata.get("labels", {})
        if "deletionTimestamp" in metadata:
            self.remove(key)
        elif phase == "Pending":
            pod = clone(self.objects[key])
            pod["status"] = {"phase": "Running", "startTime": stamp(),
                             "conditions": [{"type": "Ready", "status": "True"}]}
            self.change("MODIFIED", key, pod)
        elif phase == "Running" and labels.get("muster.dev/role") == "launcher":
            workers = self.workers(key[1], labels)
            if "muster.dev/hosts" in labels and not self.ends_elastic(key, labels, workers):
                return
            if len(workers) == int(labels.get("muster.dev/hosts", labels["muster.dev/workers"])):
                code = 7 if int(labels["muster.dev/attempt"]) <= self.failures else 0
                self.end_pod(key, code)
                for worker in workers if code == 0 else []:
                    self.end_pod(worker, 0)

    def ends_elastic(self, key, labels, workers):
        """An elastic run lets go those that are not in the hostfile, and ends when it is told."""
        hosts = int(labels["muster.dev/hosts"])
        for worker in workers:
            if hosts <= int(worker[2].rsplit("-", 1)[1]) < self.hosts.get(key, 0):
                self.end_pod(worker, 0)
        self.hosts[key] = hosts
        return self.may_end

    def workers(self, space, labels):
        return [key for key, pod in self.objects.items() if key[0] == "pods" and key[1] == space and
                pod["metadata"]["labels"].get("muster.dev/role") == "worker" and
                pod["metadata"]["labels"]["muster.dev/job"] == labels["muster.dev/job"] and
                pod["status"]["phase"] == "Running" and
                "deletionTimestamp" not in pod["metadata"]]

    def end_pod(self, key, code):
        pod = clone(self.objects[key])
        ended = {"exitCode": code, "reason": "Error" if code else "Completed",
                 "finishedAt": stamp()}
        pod["status"].update(
            phase="Failed" if code else "Succeeded", conditions=[],
            containerStatuses=[{"name": pod["spec"]["containers"][0]["name"],
                                "state": {"terminated": ended}}])
        self.change("MODIFIED", key, pod)

    # ---- requests ----

    def answer(self, method, path, query, body):
        """The status, and a document or a text; None: a watch."""
        where = path.split("/")
        root = "/".join(where[:3] if where[1] == "api" else where[:4])
        rest = path[len(root) + 1:].split("/")
        space = rest[1] if rest[0] == "namespaces" else None
        plural, name, *below = (rest[2:] if space else rest) + [None]
        if plural not in KINDS or KINDS[plural][0] != root:
            return 404, "404 page not found"
        key = (plural, space, name)
        self.requests.append(f"{method} {plural}")
        self.moves += plural != "leases"
        if below[:1] == ["log"]:
            self.check(key, {})
            return 200, f"the log of {name}\n"
        if method == "POST":
            return 201, self.create(plural, space, body)
        if method == "PATCH":
            return 200, self.patch(key, body, below[0])
        if method == "PUT":
            return 200, self.update(key, body)
        if method == "DELETE":
            return 200, self.delete(key, body or {})
        if name:
            return 200, self.check(key, {})
        if "watch" in query:
            return None
        return 200, self.list(plural, space, query)

    def list(self, plural, space, query):
        found = [document for key, document in sorted(self.objects.items())
                 if key[0] == plural and space in (None, key[1]) and matches(document, query)]
        begin, limit = int(query.get("continue", 0)), int(query.get("limit", len(found) + 1))
        metadata = {"resourceVersion": str(self.version)}
        if begin + limit < len(found):
            metadata["continue"] = str(begin + limit)
        left_out = () if plural == "deepspeedjobs" else ("kind", "apiVersion")  # as real ones do
        items = [{name: value for name, value in one.items() if name not in left_out}
                 for one in found[begin:begin + limit]]
        return {"apiVersion": "v1", "kind": KINDS[plural][1] + "List", "metadata": metadata,
                "items": items}

    async def watch(self, path, query, writer):
        plural = path.split("/")[-1]
        space = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else None
        seen = int(query["resourceVersion"])
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            news = self.news
            for version, kind, what, document in self.since(seen):
                if what == plural and matches(document, query) and \
                        space in (None, document["metadata"]["namespace"]):
                    line = json.dumps({"type": kind, "object": document}).encode() + b"\n"
                    writer.write(b"%x\r\n%s\r\n" % (len(line), line))
                seen = version
            await writer.drain()
            await news.wait()

    def since(self, version):
        first = len(self.history)
        while first > 0 and self.history[first - 1][0] > version:
            first -= 1
        return self.history[first:]

    async def close(self):
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            while await self.serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(asyncio.current_task())
            writer.close()

    async def before(self, method, path):
        """For tests that make a request wait."""

    async def serve_one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = head[0].split(" ")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        bytes_ = await reader.readexactly(int(fields.get("content-length", 0)))
        url = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        await self.before(method, url.path)
        field = ""
        try:
            if self.token and fields.get("authorization") != f"bearer {self.token}":
                raise Refusal(401)
            answer = self.answer(method, url.path, query, json.loads(bytes_) if bytes_ else None)
        except Refusal as refusal:
            field = refusal.field
            answer = refusal.code, {"kind": "Status", "apiVersion": "v1", "metadata": {},
                                    "status": "Failure", "reason": refusal.reason,
                                    "message": refusal.message, "code": refusal.code}
        if answer is None:
            await self.watch(url.path, query, writer)
            return False
        if self.ahead_s is not None:
            date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + self.ahead_s))
            field += f"Date: {date}\r\n"
        text = answer[1] if isinstance(answer[1], str) else json.dumps(answer[1])
        writer.write(f"HTTP/1.1 {answer[0]} .\r\nContent-Type: application/json\r\n{field}"
                     f"Content-Length: {len(text.encode())}\r\n\r\n{text}".encode())
        await writer.drain()
        return True


async def main():
    cluster = Cluster(failures=int(os.environ.get("FAILURES", "0")))
    server = await asyncio.start_unix_server(cluster.serve, sys.argv[1], limit=1 << 24)
    print("ready", flush=True)
    await asyncio.gather(server.serve_forever(), cluster.run_pods())


if __name__ == "__main__":
    asyncio.run(main())
