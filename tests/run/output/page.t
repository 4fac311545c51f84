#!/bin/sh
# The page of a run: what the server of --metrics-listen says to a browser, to other sites, and to
# clients that are hostile; muster status --html. page_browser.t looks at it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/output/metrics.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
command -v curl >/dev/null || skip_all "curl is missing"

client() {
    "$here/output/page_client.py" "$port" "$@"
}

# code PATH OPTIONS...: the status of the answer.
code() {
    path=$1
    shift
    curl -s -m 20 -o answer -w '%{http_code}' "$@" "http://127.0.0.1:$port$path"
}

# shows EXPRESSION: is true of what the page has now, d.
shows() {
    [ "$(code /run.json)" = 200 ] && json_says answer "$1"
}

# says EXPRESSION: is true of a message that the stream has brought.
says() {
    python3 - "$1" <<'END'
import json, sys
messages = [json.loads(line) for line in open('stream') if line.startswith('{')]
sys.exit(not any(eval(sys.argv[1]) for d in messages))
END
}

is_alive_thrice() {
    [ "$(grep -c ^alive stream)" -ge 3 ]
}

descriptors() {
    ls "/proc/$pid/fd" | wc -l
}

few_descriptors() {
    [ "$(descriptors)" -le "$1" ]
}

script_file rank <<'END_OF_RANK'
#!/bin/sh
echo "<script>document.title='pwned'</script> of $RANK"
printf '\033[31mred\033[0m \033]0;title\007 mmm\n'
until [ -e "go.$MUSTER_GENERATION" ]; do sleep 0.02; done
if [ "$MUSTER_GENERATION" = 0 ]; then
    [ "$RANK" = 3 ] && { echo "no memory"; exit 3; }
    exec sleep 1000
fi
echo "iter $((10 - RANK)): loss 2.$RANK"
until [ -e end ]; do sleep 0.02; done
END_OF_RANK
start muster -H node1:2,node2:2 --name shown --max-restarts 1 --restart-delay 0 --heartbeat 0.2 \
    --dead-after 15 --env SECRET=hidden --metrics-listen 0 ./rank --token=hidden
ok "a run has a page" wait_for 30 has_address
port=$(address | sed 's|.*:\([0-9]*\)/.*|\1|')
is "... muster says where" "$(sed -n 's/.*a page of the run at //p' err)" "http://127.0.0.1:$port/"
ok "... all ranks run" wait_for 30 shows 'd["ranks"] == "r*4"'
is "... and muster status does" "$(muster status shown | grep ^page)" "page: http://127.0.0.1:$port/"

# --- what a browser gets

curl -s -D head -o page "http://127.0.0.1:$port/"
ok "it is HTML" grep -qi '^Content-Type: text/html; charset=utf-8' head
ok "... that may use only what this server has" grep -q "^Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " head
ok "... is not guessed at" grep -q '^X-Content-Type-Options: nosniff' head
ok "... names itself to no other" grep -q '^Referrer-Policy: no-referrer' head
ok "... sets no cookie, and lets no other site read" not grep -qiE '^(set-cookie|access-control)' head
is "style and script" "$(code /page.css) $(code /page.js) $(code /events -I)" "200 200 200"
ok "what it shows: the run" shows 'd["run"]["name"] == "shown" and d["run"]["script"] == "./rank"'
ok "... its state" shows 'd["state"]["state"] == "running" and d["state"]["generation"] == 0'
ok "... its nodes" shows 'd["nodes"] == [["node1", None, [0, 1], 0], ["node2", None, [2, 3], 0]]'
ok "... no step yet" shows '"points" not in d and d["step"] == [] and d["behind"] == "-1*4"'
ok "... what has happened" shows '[e[2] for e in d["events"]] == ["started"]'
ok "... no value of a variable, no argument" not grep -q hidden answer

lines() {
    [ "$(code '/rank?n=1')" = 200 ] && json_says answer "$1"
}
ok "a rank's last lines are text" wait_for 30 lines 'd["lines"][0] == "<script>document.title='"'pwned'"'</script> of 1"'
ok "... without what a terminal would obey" lines 'd["lines"][1] == "red ^[]0;title^G mmm"'
ok "... it is that rank" lines 'd["rank"] == 1 and d["node"] == "node1" and d["pid"] > 1 and d["words"] is None'
for query in '' '?' '?n=' '?n=-1' '?n=4' '?n=99999999999999999999' '?n=1x' '?n=1&n=2' '?n=%31' '?m=1' \
    '?n=1%00' "?n=$(printf '%05000d' 1)"; do
    [ "$(code "/rank$query")" = 404 ] || echo "$query: answered" | cut -c1-70
done >wrong
is "other queries get nothing" "$(cat wrong)" ""

# --- other sites

for path in / /page.css /page.js /run.json '/rank?n=1' /events; do
    for host in evil.example "evil.example:$port" 127.0.0.1.evil.example ''; do
        [ "$(code "$path" -H "Host: $host")" = 403 ] || echo "$path for $host: answered"
    done
done >wrong
sed 's/^/# /' wrong
is "a name that is not ours gets nothing" "$(cat wrong)" ""
is "... but figures" "$(code /metrics -H 'Host: evil.example')" 200
is "localhost does, and this machine by its name" \
    "$(code / -H 'Host: localhost:1') $(code / -H "Host: $(hostname)") $(code /run.json -H 'Host: [::1]:80')" "200 200 200"
is "a link to it works" "$(code / -H 'Sec-Fetch-Site: cross-site')" 200
is "... but another site's script gets nothing" \
    "$(code /run.json -H 'Sec-Fetch-Site: cross-site') $(code /events -H 'Sec-Fetch-Site: same-site') $(code '/rank?n=1' -H 'Sec-Fetch-Site: cross-site')" "403 403 403"

# --- the stream

client stream stop.stream >stream &
ok "the stream says all at first" wait_for 30 says 'd["run"]["name"] == "shown" and d["ranks"] == "r*4" and len(d["events"]) == 1'
: >go.0
ok "... then what is new" wait_for 60 says '"run" not in d and d.get("state", {}).get("generation") == 1'
ok "... why" wait_for 30 says '[g[3] for g in d.get("generations", [])][:1] == ["rank 3 on node2: exit 3"]'
ok "... an event" wait_for 30 says '[e[2] for e in d.get("events", [])][-1:] == ["restarted"]'
: >go.1
ok "... steps, and who is behind" wait_for 30 says 'd.get("behind") == "0,1,2,3"'
ok "... the loss, and the first point of a chart" shows 'd["state"]["loss"] in (2.0, 2.1, 2.2, 2.3) and len(d["points"]) == 1'
ok "... nothing twice" says 'len([m for m in messages if "points" in m]) == 1'
ok "a stream without news is alive, for longer than other connections" wait_for 60 is_alive_thrice
ok "... is not ended" not grep -q ^end stream

# --- hostile clients

before=$(descriptors)
: >many
: >deaf
client many 100 stop.many >many &
many=$!
ok "100 streams" wait_for 60 test -s many
client deaf stop.many >deaf &
deaf=$!
ok "... and one that nobody reads" wait_for 60 test -s deaf
ok "... keep nobody out: figures" scraped muster_generation 1
is "... the page" "$(code /) $(code /run.json)" "200 200"
: >stop.many
wait $many
is "... the newest stay, 16 with the deaf one" "$(sed -n 2p many)" 15
wait $deaf
ok "... and all are closed" wait_for 30 few_descriptors "$before"

# --- the end

client stream stop.stream >stream &
stream=$!
ok "another stream" wait_for 30 says 'd["state"]["state"] == "running"'
: >end
finish_run 60
wait $stream
is "the run ends" "$rc" 0
ok "... which the page learns" says 'd.get("state", {}).get("state") == "ended" and d["state"]["status"] == 0'
is "... with its stream" "$(tail -n 1 stream)" end

# --- muster status --html

run muster status --html=run.html shown
is "muster status --html" "$rc $(cat out err)" "0 "
ok "... is one file" not grep -qE '(src|href)="[^d]' run.html
is "... for its user" "$(stat -c %a run.html)" 600
sed -n 's|.*<script type="application/json" id="data">\(.*\)</script>|\1|p' run.html >data
ok "... of the run as it ended" json_says data 'd["state"]["state"] == "ended" and d["state"]["status"] == 0 and d["ranks"] == "d*4"'
ok "... with its generations and events" json_says data 'len(d["generations"]) == 2 and d["events"][-1][2] == "ended" and len(d["points"]) == 1'
run muster status --html=- shown
ok "... or standard output" grep -q '</html>' out
run muster status --html=no/where shown
is "... a folder that is missing" "$rc $(cat err)" "73 muster: error: $(muster status --json=- shown | python3 -c 'import json, sys; print(json.load(sys.stdin)["run_id"])'): no/where: No such file or directory"
run muster status --html=x
is "... of no run" "$rc $(cat err)" "2 muster: error: --html: which run? muster status shows them"

# --- a socket

rm -f end go.*
chmod a+rx "$tmp" .
run muster -H node1:2 --name plain --metrics-listen ./a.sock sh -c "
    curl -s --unix-socket a.sock http://localhost/run.json >answer.\$RANK
    stat -c '%a' a.sock >mode.\$RANK
    setpriv --reuid 65534 --regid 65534 --clear-groups curl -s --unix-socket a.sock http://localhost/ >other.\$RANK 2>&1
    echo \$? >other.\$RANK.status
    [ \$RANK = 1 ] && echo last words >&2 && exit 4 || sleep 100"
ok "a socket has it, too" json_says answer.1 'd["run"]["name"] == "plain"'
is "... for its user alone" "$(cat mode.1)" 600
if why=$(need_user); then
    is "... another user cannot connect" "$(cat other.1 other.1.status)" 7
else
    skip "... another user cannot connect" "$why"
fi
muster status --html=run.html plain
sed -n 's|.*<script type="application/json" id="data">\(.*\)</script>|\1|p' run.html >data
ok "the file of a run that failed has the last lines of the rank" json_says data 'd["lines"]["1"]["lines"] == ["last words"] and d["lines"]["1"]["words"] == "exit 4"'
ok "... and no others" json_says data 'list(d["lines"]) == ["1"]'

# --- a run whose muster was killed

start muster -H node1:2 --name killed --metrics ./killed.prom sleep 1004
killed_has() {
    muster status --html=run.html killed 2>/dev/null &&
        sed -n 's|.*<script type="application/json" id="data">\(.*\)</script>|\1|p' run.html >data &&
        json_says data "$1"
}
ok "it runs" wait_for 30 killed_has 'd["state"]["state"] == "running" and d["ranks"] == "r*2"'
kill -KILL "$pid"
finish_run 30
ok "muster status --html says that it died" wait_for 30 killed_has \
    'd["state"]["state"] == "died" and d["run"]["name"] == "killed"'
ok "... and what was known of its ranks" json_says data 'len(d["nodes"]) == 1 and d["ranks"] == "r*2"'
ok "nothing is left of it" wait_for 30 no_leftovers

# --- sizes

ranks=64
[ "${MUSTER_TEST_WIDE:-}" != yes ] || ranks=512
cat >counts <<'END_OF_RANK'
n=0
until [ -e end ]; do n=$((n + 1)); echo "iter $n: loss 2.$RANK"; sleep 0.$((RANK % 5 + 3)); done
END_OF_RANK
start muster -H "node1:$((ranks / 2)),node2:$((ranks / 2))" --dead-after "$(stretched 15)" --name many \
    --metrics-listen 0 sh counts
ok "$ranks ranks" wait_for 120 scraped 'muster_ranks{state="running"}' $ranks
port=$(address | sed 's|.*:\([0-9]*\)/.*|\1|')
client size 5 >size
echo "# bytes at first, and in the busiest second: $(cat size)"
ok "... a page of 300 KB at most, at first" test "$(cut -d ' ' -f 1 size)" -le 300000
ok "... then 5 KB a second" test "$(cut -d ' ' -f 2 size)" -le 5000
: >end
finish_run 60
ok "nothing is left" no_leftovers
finish
