#!/usr/bin/env python3
# spot_service.py FILE - a metadata service on a port of its own, which it writes into FILE
#
# /goes/SECONDS   this machine goes then: its time, as Alibaba's has it; 404 as long as a test keeps
#                 FILE.hold
# /lies           a lie to each question, in the order of LIES; each is written into FILE.told.
#                 Then the truth: it goes in 40 s
# SPDX-License-Identifier: Apache-2.0
import http.server
import os
import sys
import time

LIES = ["redirect", "html", "large", "past", "far", "once", "error", "slow", "broken", "silent"]
told = 0


def at(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    goes = {}

    def do_GET(self):
        if self.path.startswith("/goes/") and os.path.exists(sys.argv[1] + ".hold"):
            self.reply(404, "")
        elif self.path.startswith("/goes/"):
            self.reply(200, self.goes.setdefault(self.path, at(float(self.path[6:]))))
        elif told < len(LIES):
            self.lie(LIES[told])
        else:
            self.note("truth")
            self.reply(200, self.goes.setdefault("truth", at(40)))

    def lie(self, lie):
        global told
        told += 1
        self.note(lie)
        if lie == "redirect":
            self.reply(302, at(60), ("Location", "/goes/60"))
        elif lie == "html":
            self.reply(200, "<html><title>Welcome</title>Please log in.</html>")
        elif lie == "large":
            self.reply(200, at(60) + " " * 10000000)
        elif lie == "past":
            self.reply(200, at(-60))
        elif lie == "far":
            self.reply(200, at(90000))
        elif lie == "once":  # and then an error: twice in a row is needed
            self.reply(200, at(60))
        elif lie == "error":
            self.reply(500, at(60))
        elif lie == "slow":
            self.send_response(200)
            for _ in range(30):
                time.sleep(0.1)
                self.wfile.write(b"x")
        elif lie == "broken":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + at(60).encode()[:9])
            self.close_connection = True
        elif lie == "silent":
            time.sleep(3)

    def note(self, what):
        with open(sys.argv[1] + ".told", "a") as file:
            file.write(what + "\n")

    def reply(self, status, text, *headers):
        self.send_response(status)
        for header in (("Content-Length", str(len(text))),) + headers:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(text.encode())

    def handle(self):
        try:
            super().handle()
        except OSError:  # whoever has asked did not wait for the end of a lie
            pass

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
