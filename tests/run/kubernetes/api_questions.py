#!/usr/bin/python3
# api_questions.py SOCKET NAMESPACE - ask an API server, and print its answers without what is its own
#
# What muster k8s relies on: the same questions to api_server.py and to a real cluster must have the
# same answers. SOCKET asks for no login (kubectl proxy). Everything it makes, it deletes.
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import socket
import sys
import time
import urllib.parse


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(sys.argv[1])


SPACE = sys.argv[2]
LABEL = {"question": "yes"}


def ask(method, path, body=None, patch=False):
    connection = Connection("localhost")
    kind = "application/merge-patch+json" if patch else "application/json"
    connection.request(method, path, json.dumps(body) if body is not None else None,
                       {"Content-Type": kind, "Accept": "application/json"})
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, json.loads(text) if text.startswith("{") else text


def path(plural, name="", root="/api/v1"):
    return f"{root}/namespaces/{SPACE}/{plural}" + (f"/{name}" if name else "")


def show(what, answer, *fields):
    status, document = answer
    words = [str(status)]
    if isinstance(document, dict) and document.get("kind") == "Status" and status >= 400:
        words.append(document.get("reason", ""))
    for field in fields:
        value = document
        for part in field.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        words.append(f"{field}={json.dumps(value, sort_keys=True)}")
    print(f"{what}: {' '.join(words)}")
    return document


def config_map(name, owner=None, **data):
    metadata = {"name": name, "labels": LABEL}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap",
                                        "name": owner["metadata"]["name"],
                                        "uid": owner["metadata"]["uid"]}]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def objects():
    one = show("create", ask("POST", path("configmaps"), config_map("q", a="1")), "kind", "data")
    show("create again", ask("POST", path("configmaps"), config_map("q")))
    show("create nowhere", ask("POST", "/api/v1/namespaces/q-nowhere/configmaps",
                               config_map("q")))
    show("get", ask("GET", path("configmaps", "q")), "data", "metadata.labels")
    show("get none", ask("GET", path("configmaps", "q-none")))
    show("get of no group", ask("GET", "/apis/q.example/v1/namespaces/default/things"))
    version, uid = one["metadata"]["resourceVersion"], one["metadata"]["uid"]
    change = {"metadata": {"uid": uid, "resourceVersion": version}, "data": {"b": "2"}}
    two = show("patch", ask("PATCH", path("configmaps", "q"), change, True), "data")
    print("  is newer:", two["metadata"]["resourceVersion"] != version)
    show("patch of an old one", ask("PATCH", path("configmaps", "q"), change, True))
    show("patch of another", ask("PATCH", path("configmaps", "q"),
                                 {"metadata": {"uid": "other"}}, True))
    show("patch of one before", ask("PATCH", path("configmaps", "q"),
                                    {"metadata": {"uid": "other", "resourceVersion": version}},
                                    True))
    show("patch of none", ask("PATCH", path("configmaps", "q-none"), {"data": {}}, True))
    show("take away", ask("PATCH", path("configmaps", "q"), {"data": {"a": None}}, True), "data")
    show("delete another", ask("DELETE", path("configmaps", "q"),
                               {"preconditions": {"uid": "other"}}))
    return ask("GET", path("configmaps", "q"))[1]


def lists():
    for name in "q-1", "q-2":
        ask("POST", path("configmaps"), config_map(name))
    query = path("configmaps") + "?labelSelector=question%3Dyes"
    first = show("list", ask("GET", query + "&limit=2"), "kind")
    print("  names:", [item["metadata"]["name"] for item in first["items"]],
          "item's kind:", first["items"][0].get("kind"))
    more = urllib.parse.quote(first["metadata"]["continue"])
    last = show("more", ask("GET", f"{query}&limit=2&continue={more}"))
    print("  names:", [item["metadata"]["name"] for item in last["items"]],
          "more:", bool(last["metadata"].get("continue")))
    by_name = ask("GET", path("configmaps") + "?fieldSelector=metadata.name%3Dq-1")[1]
    print("by field:", [item["metadata"]["name"] for item in by_name["items"]])
    by_key = ask("GET", path("configmaps") + "?labelSelector=question")[1]
    print("by label:", len(by_key["items"]))
    return ask("GET", query)[1]["metadata"]["resourceVersion"]


def watches(version):
    ask("PATCH", path("configmaps", "q-1"), {"data": {"c": "3"}}, True)
    ask("DELETE", path("configmaps", "q-1"))
    ask("DELETE", path("configmaps", "q-2"))
    connection = Connection("localhost")
    connection.request("GET", path("configmaps") + "?labelSelector=question%3Dyes&watch=1"
                       f"&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion={version}")
    reply, seen = connection.getresponse(), []
    while len(seen) < 3:
        event = json.loads(reply.readline())
        if event["type"] != "BOOKMARK":
            seen.append((event["type"], event["object"]["kind"],
                         event["object"]["metadata"]["name"], event["object"].get("data")))
    connection.close()
    print("watch:", reply.status, *seen, sep="\n  ")


def owners(owner):
    ask("POST", path("configmaps"), config_map("q-owned", owner))
    secret = {"apiVersion": "v1", "kind": "Secret", "immutable": True, "type": "Opaque",
              "metadata": {"name": "q"}, "stringData": {"a": "b"}}
    show("secret", ask("POST", path("secrets"), secret), "data", "stringData", "immutable")
    show("delete it", ask("DELETE", path("secrets", "q")))
    show("delete the owner", ask("DELETE", path("configmaps", "q"),
                                 {"propagationPolicy": "Background",
                                  "preconditions": {"uid": owner["metadata"]["uid"]}}))
    until = time.monotonic() + 60
    while ask("GET", path("configmaps", "q-owned"))[0] != 404 and time.monotonic() < until:
        time.sleep(0.1)
    show("what it owned", ask("GET", path("configmaps", "q-owned")))
    show("delete it again", ask("DELETE", path("configmaps", "q")))


def leases():
    root = "/apis/coordination.k8s.io/v1"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "q"},
             "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15,
                      "renewTime": "2026-11-22T15:00:00.000001Z"}}
    show("no lease", ask("GET", path("leases", "q", root)))
    one = show("lease", ask("POST", path("leases", "", root), lease), "spec.holderIdentity")
    lease["metadata"]["resourceVersion"] = one["metadata"]["resourceVersion"]
    lease["spec"]["holderIdentity"] = ""
    show("give it back", ask("PUT", path("leases", "q", root), lease), "spec.leaseDurationSeconds")
    show("write the old one", ask("PUT", path("leases", "q", root), lease))
    show("delete it", ask("DELETE", path("leases", "q", root)))


def events():
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "q.1.retry", "namespace": SPACE},
             "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "q",
                                "namespace": SPACE, "uid": "u"},
             "reason": "Retry", "message": "one", "type": "Warning", "count": 1}
    show("event", ask("POST", path("events"), event), "reason", "message")
    show("event again", ask("POST", path("events"), event))
    show("another message", ask("PATCH", path("events", "q.1.retry"), {"message": "two"}, True),
         "message", "count")
    show("delete it", ask("DELETE", path("events", "q.1.retry")))


def pods():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"},
           "spec": {"nodeSelector": {"q": "none"}, "automountServiceAccountToken": False,
                    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000,
                                        "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [{"name": "a", "image": "i", "securityContext": {
                        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}}
    show("pod", ask("POST", path("pods"), pod), "status.phase")
    show("log of no pod", ask("GET", path("pods", "q-none") + "/log"))
    show("delete it", ask("DELETE", path("pods", "q"), {"gracePeriodSeconds": 0}))


owner = objects()
watches(lists())
owners(owner)
leases()
events()
pods()
