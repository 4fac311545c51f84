#!/bin/sh
# The programs of contrib/on-event: a mail, and a post whose address no other user can read from the
# words of a process.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
contrib=$top_srcdir/contrib/on-event

# --- a mail

mkdir bin
script_file bin/sendmail <<'END_OF_PROGRAM'
#!/bin/sh
printf '%s\n' "$*" >>arguments
cat >>mails
echo ==== >>mails
END_OF_PROGRAM
script_file fails <<'END_OF_RANK'
#!/bin/sh
echo 'no memory' >&2
exit 3
END_OF_RANK
run env PATH="$PWD/bin:$PATH" MAILTO=somebody muster -H node1:1 --name night --on-event "$contrib/mail" ./fails
is "mail: one for the failure, one for the end" "$rc $(grep -c warning err) $(sort arguments | uniq -c | tr -s ' ')" \
    "3 0  2 -t -i"
is "... to whom" "$(grep -c '^To: somebody$' mails)" 2
is "... about what" "$(python3 -c 'import email, email.policy
for one in open("mails").read().split("====\n")[:-1]:
    mail = email.message_from_string(one, policy=email.policy.default)
    print(mail["Subject"].split(" after ")[0])')" \
    "muster: failed: night (./fails): generation 0 failed: rank 0 on node1: exit 3; the run ends
muster: ended: night (./fails): ended with exit status 3"
ok "... with the report" grep -q '^muster: rank 0 on node1 failed first: exit 3' mails
ok "... and the last lines" grep -q '^  | no memory' mails
printf '{"event": "ended", "text": "a\\nBcc: all@example.org", "run_id": "1"}' |
    env PATH="$PWD/bin:$PATH" MAILTO="$(printf 'me\nBcc: x')" "$contrib/mail"
is "no text becomes a header" "$(grep -c '^Bcc' mails)" 1 # in the body
cp mails before
echo '{"event": "notice", "text": "a", "run_id": "1"}' | env PATH="$PWD/bin:$PATH" "$contrib/mail"
is "what nobody must look at: no mail" "$? $(cmp mails before)" "0 "

# --- posts

# Answers each request with the status in the file answer, and keeps its body in posts. In words are
# the words of all processes that have the address of the webhook in them.
script_file server <<'END_OF_SERVER'
#!/usr/bin/env python3
import glob, http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open("posts", "ab") as file:
            file.write(self.path.encode() + b" " + self.headers["Content-Type"].encode() + b" " +
                       body.strip() + b"\n")
        for name in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = open(name, "rb").read()
            except OSError:
                continue
            if b"s3cret" in words:
                open("words", "ab").write(words + b"\n")
        self.send_response(int(open("answer").read()))
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as file:
    file.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
END_OF_SERVER
echo 200 >answer
./server &
test_pids="$test_pids $!"
ok "a web server" wait_for 30 test -s port
mkdir -p "$HOME/.config/muster"
webhook=$HOME/.config/muster/webhook
(umask 077; echo "http://127.0.0.1:$(cat port)/T0/s3cret" >"$webhook")

# posted EXPRESSION: of Python, over p, the list of (path, type, body) of all posts.
posted() {
    python3 -c 'import json, sys
p = [line.split(" ", 2) for line in open("posts")]
p = [(path, kind, json.loads(body)) for path, kind, body in p]
print(eval(sys.argv[1]))' "$1"
}

if command -v curl >/dev/null; then
    run muster -H node1:1 --on-event "$contrib/webhook" sh -c 'until [ -s posts ]; do sleep 0.1; done'
    is "webhook: each event is posted" "$rc $(grep -c warning err) $(posted '[b["event"] for _, _, b in p]')" \
        "0 0 ['started', 'ended']"
    is "... as JSON, to the address" "$(posted '{(path, kind) for path, kind, _ in p}')" \
        "{('/T0/s3cret', 'application/json')}"
    ok "... which is no word of a process" test ! -e words
    echo 500 >answer
    run muster -H node1:1 --on-event "$contrib/webhook" true
    is "... refused: a warning, without the address" "$rc $(grep -c 'event started: exit 22 (curl.*500' err) \
$(grep -c s3cret err)" "0 1 0"
    for bad in '' 'file:///etc/passwd' 'http://a"b' '-x'; do
        echo "$bad" >"$webhook.bad"
        mkdir -p "bad/muster" && cp "$webhook.bad" bad/muster/webhook
        said=$(echo '{}' | XDG_CONFIG_HOME=$PWD/bad "$contrib/webhook" 2>&1)
        is "... '$bad' is no address" "$? $said" "1 $PWD/bad/muster/webhook: its first line is not a URL"
    done
else
    for _ in 1 2 3 4 5 6 7 8; do skip "webhook" "curl is missing (Debian: apt-get install curl)"; done
fi

rm -f posts
echo 200 >answer
run muster -H node1:1 --name 'night' --on-event "$contrib/slack" ./fails
is "slack: what happens, in words" "$rc $(grep -c warning err) $(posted '[b["text"].split(" after ")[0] for _, _, b in p]')" \
    "3 0 ['night (./fails): 1 rank on 1 node started', 'night (./fails): generation 0 failed: rank 0 on node1: \
exit 3; the run ends', 'night (./fails): ended with exit status 3']"
is "... nothing else" "$(posted '{tuple(b) for _, _, b in p}')" "{('text',)}"
rm -f posts
echo '{"event": "ended", "text": "a <b> & c"}' | "$contrib/slack"
is "... its signs are no markup" "$(posted 'p[0][2]["text"]')" "a &lt;b&gt; &amp; c"
echo 404 >answer
said=$(echo '{"event": "ended", "text": "a"}' | "$contrib/slack" 2>&1)
is "... refused: why, without the address" "$? $said" "1 no post: HTTP Error 404: Not Found"
ok "... no process had the address among its words" test ! -e words
ok "nothing is left" no_leftovers
finish
