#!/bin/sh
# muster check --html: one page that needs nothing else, and that a browser shows.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
run muster check --grace 2 -H node1,node2,node3 --html - -- --backend gloo -e 4K -n 1
if grep -q 'built without Gloo' err; then
    skip_all "muster-train was built without Gloo"
fi
is "--html -: 0" "$rc" 0
cp out page.html
ok "... the text is on standard error" grep -q '^check passed' err

# page EXPRESSION: of p, what a parser found on the page.
page() {
    python3 - "$1" <<'END'
import html.parser, re, sys
VOID = {"meta", "line", "br"}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.bad = [], [], [], []
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)
text = open("page.html").read()
p = Page()
p.feed(text)
print(eval(sys.argv[1]))
END
}
is "every tag is closed" "$(page "(p.bad, p.open)")" "([], [])"
is "there is no script, nothing from elsewhere" \
    "$(page "([t for t in p.tags if t in ('script', 'link', 'img', 'iframe', 'object')],
        [a for a in p.attributes if a[1] in ('src', 'href') or a[1].startswith('on')],
        re.findall(r'https?:|url\(|@import', text))")" "([], [], [])"
is "a cell for each pair of nodes" "$(page "len(re.findall(r'background:hsl', text))")" 6
is "a curve for each collective" "$(page "p.tags.count('polyline')")" 6

run muster check --grace 2 -H node1 --env 'GLOO_SOCKET_IFNAME=<b>&"' --np 2 --html page.html -- -n 1
is "an interface with such a name is none" "$rc" 2
run muster --grace 2 -H node1:2 --env 'GLOO_SOCKET_IFNAME=<b>&"' muster-train check --html=page.html -n 1
is "a failure makes a page, too" "$rc" 3
ok "... that tells it, and is no HTML of others" grep -q '&lt;b&gt;&amp;&quot;: no such interface' page.html

# look NAME: what the page looks like, as NAME.png.
# shellcheck disable=SC2317
look() {
    DBUS_SESSION_BUS_ADDRESS=disabled: timeout 120 "$browser" --headless --no-sandbox --disable-gpu \
        --disable-extensions --disable-background-networking --disable-component-update \
        --no-first-run --hide-scrollbars --user-data-dir="$PWD/browser" \
        --window-size=800,2000 --screenshot="$PWD/$1.png" "file://$PWD/page.html" \
        >browser.log 2>&1
}
# pixels FILE "RED GREEN BLUE"...: how many have nearly that color, for each.
pixels() {
    python3 - "$@" <<'END'
import struct, sys, zlib
data, colors = open(sys.argv[1], "rb").read(), [list(map(int, c.split())) for c in sys.argv[2:]]
width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
assert depth == 8 and kind in (2, 6)
step, at, packed = (4 if kind == 6 else 3), 8, b""
while at < len(data):
    size = struct.unpack(">I", data[at:at + 4])[0]
    if data[at + 4:at + 8] == b"IDAT":
        packed += data[at + 8:at + 8 + size]
    at += size + 12
raw, before = zlib.decompress(packed), bytearray(width * step)
counts = [0] * len(colors)
for y in range(height):
    row = raw[y * (width * step + 1):][:width * step + 1]
    how, line = row[0], bytearray(row[1:])
    for i in range(len(line)):
        a, b = (line[i - step] if i >= step else 0), before[i]
        c = before[i - step] if i >= step else 0
        p = a + b - c
        near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        line[i] = (line[i] + (0, a, b, (a + b) // 2, near)[how]) % 256
    for k, (r, g, b) in enumerate(colors):
        counts[k] += sum(abs(line[x] - r) < 4 and abs(line[x + 1] - g) < 4 and
                         abs(line[x + 2] - b) < 4 for x in range(0, width * step, step))
    before = line
print(*counts)
END
}
cp out text
browser=$(command -v chromium || command -v chromium-browser || :)
if [ -z "$browser" ]; then
    skip "a browser shows it" "chromium is missing"
    finish
fi
# What a good cluster and a curve look like does not depend on how fast this machine is.
run muster check --grace 2 -H node1,node2,node3 --html page.html -- --backend gloo -e 4K -n 1
sed -i 's/background:hsl([0-9]* /background:hsl(130 /' page.html
ok "a browser opens it" look page
green=$(python3 -c 'import colorsys
print(*(round(255 * x) for x in colorsys.hls_to_rgb(130 / 360, 0.78, 0.70)))')
pixels page.png "$green" "66 105 208" >counts
read -r cells curve <counts
ok "... the matrix has its colors" test "$cells" -gt 3000
ok "... there is a curve" test "$curve" -gt 100
finish
