# cloud.py - the metadata service that the nodes of elastic ask: it knows who is to go, and lies
# SPDX-License-Identifier: Apache-2.0
"""A cloud's metadata service."""

import http.server
import random
import threading
import time

PORT = 8100


def words(seconds):
    """That time from now, as Alibaba's service has it."""
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + seconds))


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    goes = {}                 # address: the time at which that node goes
    random = random.Random()  # of lies: no schedule may depend on them

    def do_GET(self):
        goes = self.goes.get(self.client_address[0])
        if goes is not None:
            self.reply(200, goes)
        elif self.random.random() < 0.5:
            self.reply(404, 'none')
        else:
            self.random.choice(LIES)(self)

    def redirect(self):
        self.reply(302, words(60), ('Location', 'http://10.99.255.254/goes'))

    def html(self):
        self.reply(200, '<html><title>Welcome</title>Please log in.</html>')

    def ten_megabytes(self):
        self.reply(200, words(60) + ' ' * 10000000)

    def past(self):
        self.reply(200, words(-60))

    def far(self):
        self.reply(200, words(90000))

    def once(self):
        """A time that no other answer has: only two that are equal count."""
        self.reply(200, words(self.random.randrange(60, 80000)))

    def error(self):
        self.reply(500, words(60))

    def slow(self):
        self.send_response(200)
        for _ in range(20):
            time.sleep(0.1)
            self.wfile.write(b'x')
        self.close_connection = True

    def broken(self):
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n' + words(60).encode()[:9])
        self.close_connection = True

    def silent(self):
        time.sleep(2)
        self.close_connection = True

    def reply(self, status, text, *headers):
        self.send_response(status)
        for header in (('Content-Length', str(len(text))),) + headers:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(text.encode())

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # whoever has asked did not wait for the end of a lie

    def log_message(self, *_):
        pass


LIES = [Service.redirect, Service.html, Service.ten_megabytes, Service.past, Service.far,
        Service.once, Service.error, Service.slow, Service.broken, Service.silent]


def begin():
    """URL of the service."""
    server = http.server.ThreadingHTTPServer(('', PORT), Service)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f'http://10.99.255.254:{PORT}/spot'
