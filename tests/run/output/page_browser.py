#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_browser.py - the page of a run in headless Chromium, for page_browser.t

    page_browser.py URL COMMAND...    does one after the other; what each finds is a line of output

    get             opens URL
    light, dark     what the user likes; and size=WxH of the window
    wait=JS         until that expression is true, for a minute
    js=JS           prints the value of that expression
    key=NAME        presses a key: ArrowRight, Enter, Escape, Tab, ...
    click=CSS       clicks the first element
    shot=FILE       writes what is in the window as a PNG of 256 colours
    touch=FILE      makes that file
    log             prints what the browser has complained of: errors, what its policy has refused

chromedriver is asked as WebDriver says, over HTTP. Browser and profile are in the present folder.
"""
import base64
import collections
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib

# As root Chromium has no sandbox of its own; and it asks nothing of the network but the page.
ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
             '--disable-dev-shm-usage', '--disable-background-networking',
             '--disable-component-update', '--disable-sync', '--hide-scrollbars',
             '--force-device-scale-factor=1', '--no-proxy-server']
KEYS = {'Enter': '\ue007', 'Escape': '\ue00c', 'Tab': '\ue004', 'ArrowLeft': '\ue012',
        'ArrowUp': '\ue013', 'ArrowRight': '\ue014', 'ArrowDown': '\ue015', 'End': '\ue010',
        'Home': '\ue011'}
DEADLINE_S = 60


class Driver:
    """chromedriver at a port of its own, with one session."""

    def __init__(self, folder):
        self.log = os.path.join(folder, 'driver.log')
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(['chromedriver', '--port=0'], stdout=log, stderr=log,
                                            start_new_session=True)
        self.base = f'http://127.0.0.1:{self.port()}'
        options = {'args': [*ARGUMENTS, f'--user-data-dir={folder}/profile'],
                   'binary': os.environ.get('CHROMIUM', '/usr/bin/chromium')}
        wanted = {'browserName': 'chrome', 'goog:chromeOptions': options,
                  'goog:loggingPrefs': {'browser': 'ALL'}}
        made = self.ask('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})
        self.base += '/session/' + made['sessionId']

    def port(self):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            with open(self.log, encoding='utf-8', errors='replace') as log:
                found = re.search(r'on port (\d+)\.', log.read())
            if found:
                return found[1]
            time.sleep(0.05)
        raise SystemExit('chromedriver names no port')

    def ask(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == 'POST' else None
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={'Content-Type': 'application/json'})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            raise SystemExit(f'{path}: {error.read().decode()[:400]}') from error

    def devtools(self, command, **parameters):
        return self.ask('POST', '/goog/cdp/execute', {'cmd': command, 'params': parameters})

    def script(self, text):
        return self.ask('POST', '/execute/sync', {'script': f'return ({text});', 'args': []})

    def end(self):
        try:
            self.ask('DELETE', '')
        finally:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


def rows_of(png):
    """The rows of a PNG of 8 bits a channel, and the number of its channels."""
    at, packed = 8, b''
    width, height, depth, colour = struct.unpack('>IIBB', png[16:26])
    assert depth == 8 and colour in (2, 6)
    while at < len(png):
        size, kind = struct.unpack('>I4s', png[at:at + 8])
        packed += png[at + 8:at + 8 + size] if kind == b'IDAT' else b''
        at += size + 12
    step, data = (4 if colour == 6 else 3), zlib.decompress(packed)
    above = bytearray(width * step)
    for y in range(height):
        begin = y * (width * step + 1)
        row = bytearray(data[begin + 1:begin + 1 + width * step])
        for i, value in enumerate(row) if data[begin] else ():
            left = row[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            paeth = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                        (abs(left + up - 2 * corner), 2, corner))[2]
            row[i] = value + (0, left, up, (left + up) // 2, paeth)[data[begin]] & 255
        above = row
        yield [bytes(row[i:i + 3]) for i in range(0, len(row), step)]


def with_palette(png):
    """The same picture in its 256 most frequent colours, for a third of the bytes."""
    rows = list(rows_of(png))
    often = collections.Counter(pixel for row in rows for pixel in row)
    palette = [colour for colour, _ in often.most_common(256)]
    near = {colour: i for i, colour in enumerate(palette)}
    for colour in often:
        if colour not in near:
            near[colour] = min(range(len(palette)), key=lambda i: sum(
                (a - b) ** 2 for a, b in zip(palette[i], colour)))
    data = b''.join(b'\0' + bytes(near[pixel] for pixel in row) for row in rows)
    head = struct.pack('>IIBBBBB', len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    return (png[:8] + chunk(b'IHDR', head) + chunk(b'PLTE', b''.join(palette)) +
            chunk(b'IDAT', zlib.compress(data, 9)) + chunk(b'IEND', b''))


def wait(driver, text):
    deadline = time.monotonic() + DEADLINE_S
    while not driver.script(text):
        if time.monotonic() > deadline:
            print('never:', text, flush=True)
            return
        time.sleep(0.05)


def do(driver, url, name, value):
    if name == 'get':
        driver.ask('POST', '/url', {'url': url})
    elif name in ('light', 'dark'):
        driver.devtools('Emulation.setEmulatedMedia', media='',
                        features=[{'name': 'prefers-color-scheme', 'value': name}])
    elif name == 'size':
        width, height = (int(part) for part in value.split('x'))
        driver.devtools('Emulation.setDeviceMetricsOverride', width=width, height=height,
                        deviceScaleFactor=1, mobile=False)
    elif name == 'wait':
        wait(driver, value)
    elif name == 'js':
        print(driver.script(value), flush=True)
    elif name == 'key':
        press = [{'type': kind, 'value': KEYS[value]} for kind in ('keyDown', 'keyUp')]
        driver.ask('POST', '/actions', {'actions': [{'type': 'key', 'id': 'keys',
                                                     'actions': press}]})
    elif name == 'click':
        found = driver.ask('POST', '/element', {'using': 'css selector', 'value': value})
        driver.ask('POST', f'/element/{next(iter(found.values()))}/click')
    elif name == 'shot':
        with open(value, 'wb') as file:
            file.write(with_palette(base64.b64decode(driver.ask('GET', '/screenshot'))))
    elif name == 'touch':
        with open(value, 'w', encoding='utf-8'):
            pass
    elif name == 'log':
        print(' '.join(entry['message'] for entry in driver.ask('POST', '/se/log',
                                                                {'type': 'browser'})))
    else:
        raise SystemExit(f'{name}: what is that?')


def main():
    folder = tempfile.mkdtemp(prefix='browser.', dir='.')
    driver = Driver(os.path.abspath(folder))
    try:
        for word in sys.argv[2:]:
            name, _, value = word.partition('=')
            do(driver, sys.argv[1], name, value)
    finally:
        driver.end()


main()
