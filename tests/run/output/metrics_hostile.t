#!/bin/sh
# --metrics-listen: what a hostile client sends, or does not send, holds up neither the run nor other
# clients, and muster does not grow. --metrics: neither does a file system that hangs.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/output/metrics.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
command -v curl >/dev/null || skip_all "curl is missing"

# talk WORDS...: of the client, to the port of the run.
talk() {
    "$here/output/metrics_client.py" "$port" "$@"
}

# descriptors: that muster has open.
descriptors() {
    ls "/proc/$pid/fd" | wc -l
}

few_descriptors() {
    [ "$(descriptors)" -le "$1" ]
}

memory_kb() {
    sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
}

# Ranks that write without end, until end is there; what they have written is whole.
cat >writes <<'END_OF_RANK'
n=0
until [ -e end ]; do n=$((n + 1)); echo "line $n"; sleep 0.01; done
END_OF_RANK
start muster -H node1:2,node2:2 --dead-after "$(stretched 15)" --metrics-listen 0 sh writes
ok "a run" wait_for 30 scraped 'muster_ranks{state="running"}' 4
port=$(address | sed 's|.*:\([0-9]*\)/.*|\1|')

# --- requests

talk requests >answers
is "what is asked well is answered" "$(sed -n 's/: 200$//p' answers | tr '\n' ',')" "get,get 1.0,query,whole address,"
is "... other methods are not" "$(sed -n 's/: 405$//p' answers | tr '\n' ',')" "body of 4 KiB,put,delete,options,"
is "... nor other paths" "$(sed -n 's/: 404$//p' answers | tr '\n' ',')" \
    "below,traversal,traversal of it,encoded,"
is "... nor the page to a name that is not ours" "$(sed -n 's/: 403$//p' answers | tr '\n' ',')" "root,"
sed -n '/: 40[0345]$/!{/: 200$/!p;}' answers | sed 's/^/# /'
is "the rest gets an error, or nothing" "$(grep -cE ': (400|413|501|closed)$' answers)" 12
is "HEAD has the length alone" "$(curl -sI "$(address)" | grep -ci '^Content-Length: [1-9]') $(curl -sI "$(address)" | wc -l)" "1 7"
is "a thousand on one connection are all answered" "$(talk many 1000)" 1000

# --- connections

ok "no connection stays" wait_for 30 few_descriptors 40
before=$(descriptors)
rm -f look
: >ended
talk silent 200 look >ended &
client=$!
ok "200 connections that say nothing" wait_for 60 grep -q connected ended
ok "... do not keep others out" scraped muster_generation 0
: >look
wait $client
ok "... the oldest end, and 64 stay" test "$(tail -n 1 ended)" -ge 136
ok "... and has none when they are gone" wait_for 30 few_descriptors "$before"

memory=$(memory_kb)
rm -f look
for _ in 1 2 3 4 5 6 7 8; do
    talk slow look >/dev/null &
done
for _ in $(seq 20); do
    scraped muster_generation 0 || break
done
is "eight that ask without end and do not read keep no others out" "$(figure muster_generation scraped)" 0
ok "... and take little memory" test "$(memory_kb)" -le $((memory + 16384 * slowness_build))
: >look
ok "... it is done with them" wait_for 60 few_descriptors "$before"

# --- the run

: >end
finish_run 60
is "the run ends well" "$rc $(grep -v -e 'metrics are at' -e suspect -e 'heard again' err)" "0 "
is "... no line of its ranks is lost" \
    "$(for label in node1:0 node1:1 node2:2 node2:3; do
        sed -n "s/^$label: line //p" out | awk 'NR != $1 { print "at", NR }'; done)" ""

# --- descriptors

rm -f end look
start sh -c 'ulimit -Sn 80 && ulimit -Hn 80 && exec "$@"' sh muster -H node1:1,node2:1 --metrics-listen 0 sh writes
ok "a run with few descriptors" wait_for 30 scraped 'muster_ranks{state="running"}' 2
port=$(address | sed 's|.*:\([0-9]*\)/.*|\1|')
: >ended
talk silent 100 look >ended &
client=$!
ok "... and many connections" wait_for 60 grep -q connected ended
ok "... takes little time" test "$(awk '{ print $14 + $15 }' "/proc/$pid/stat")" -le 1000
: >look
wait $client
ok "... answers again" wait_for 60 scraped muster_generation 0
: >end
finish_run 60
is "... and ends well, and says nothing" "$rc $(grep -v -e 'metrics are at' -e suspect -e 'heard again' err)" "0 "
ok "nothing is left" no_leftovers
finish
