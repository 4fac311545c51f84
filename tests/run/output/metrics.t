#!/bin/sh
# --metrics and --metrics-listen: figures of a run for Prometheus, in a file that is always whole, and
# at a port or a socket.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/output/metrics.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
command -v curl >/dev/null || skip_all "curl is missing"
two=node1:2,node2:2

# lint WHAT FILE: promtool accepts it, if it is there.
lint() {
    ! has_promtool "$1: promtool accepts it" || ok "$1: promtool accepts it" accepts "$2"
}

# --- a run: steps, a rank that fails once, kernel messages

MUSTER_TEST_KMSG=$PWD/kmsg
MUSTER_TEST_JOURNAL=$PWD/journal # which is not there
MUSTER_AGENT=$test_agent
export MUSTER_TEST_KMSG MUSTER_TEST_JOURNAL MUSTER_AGENT
: >kmsg.0
: >kmsg.1

script_file rank <<'END_OF_RANK'
#!/bin/sh
until [ -e "go.$MUSTER_GENERATION" ]; do sleep 0.02; done
if [ "$MUSTER_GENERATION" = 0 ]; then
    [ "$RANK" = 3 ] && exit 3
    exec sleep 1000
fi
echo "iter $((RANK + 7)): loss 2.5"
until [ -e end ]; do sleep 0.02; done
END_OF_RANK
start muster -H $two --name 'measured' --max-restarts 1 --restart-delay 0 --heartbeat 0.2 --dead-after 15 \
    --on-event /bin/true --env SECRET=hidden --metrics m.prom --metrics-listen 0 ./rank --token=hidden
ok "a port of its own is printed" wait_for 30 has_address
ok "all ranks run" wait_for 30 scraped 'muster_ranks{state="running"}' 4
ok "... the generation, and the nodes" is_figure muster_generation 0 scraped
is "... the nodes" "$(figure muster_nodes scraped) $(figure muster_spares scraped)" "2 0"
is "... the state of the run" "$(figure 'muster_run_state{state="running"}' scraped)" 1
is "... no step yet" "$(figure muster_step_highest scraped)" ""
is "... what it is" "$(grep '^muster_run_info' scraped | sed 's/run_id="[^"]*",//')" \
    "muster_run_info{name=\"measured\",script=\"./rank\",host=\"$(hostname)\"} 1"
ok "... the file has it as well" wait_for 30 is_figure 'muster_run_state{state="running"}' 1 m.prom
is "... which all may read" "$(stat -c %a m.prom)" 644
lint "the file" m.prom
lint "the older format" scraped
curl -s -D head -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' -o open "$(address)"
ok "OpenMetrics for those that ask" grep -q '^Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8' head
ok "... it is" "$here/output/openmetrics.py" <open
curl -s -D head -o /dev/null "$(address)"
ok "... else the older format" grep -q '^Content-Type: text/plain; version=0.0.4; charset=utf-8' head
ok "no script of another page may read it" not grep -qi '^Access-Control' head
ok "no value of a variable, no argument" not grep -q hidden m.prom scraped open
is "muster status shows where" "$(muster status measured | grep ^metrics)" "metrics: $(address)"
muster status --json=status.json measured >/dev/null
is "... in JSON, too" "$(json status.json 'd["metrics"]')" "$(address)"

printf '3,7,123456789,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n' >>kmsg.1
ok "what a kernel says" wait_for 30 scraped 'muster_kernel_evidence_total{severity="broken"}' 1
: >go.0
ok "a rank fails: the second generation" wait_for 30 scraped muster_generation 1
ok "... has a cause" is_figure 'muster_restarts_total{cause="rank"}' 1 scraped
ok "... what the kernel said before still counts" is_figure 'muster_kernel_evidence_total{severity="broken"}' 1 scraped
: >go.1
ok "steps" wait_for 30 scraped muster_step_highest 10
ok "... of the rank that is behind" wait_for 30 scraped muster_step_lowest 7
ok "... since when" test -n "$(figure muster_step_age_seconds scraped)"
is "... bytes of output" "$(figure muster_output_bytes_total scraped)" 69
ok "heartbeats of each node" test -n "$(figure 'muster_node_round_trip_seconds{node="node2"}' scraped)"
ok "... and when it was heard" test -n "$(figure 'muster_node_silent_seconds{node="node2"}' scraped)"
ok "work that was lost" test "$(figure 'muster_node_seconds_total{use="lost"}' scraped)" != 0
told_four() {
    scraped muster_generation 1 && [ "$(figure 'muster_events_total{result="told"}' scraped)" -ge 4 ]
}
ok "events" wait_for 30 told_four
lint "with all of it" scraped

# A reader of the file never sees a part of it.
whole=0
for _ in $(seq 200); do
    cp m.prom copy
    [ "$(tail -n 1 copy | cut -d '{' -f 1)" = muster_events_total ] && whole=$((whole + 1))
done
is "the file is whole whenever it is read" "$whole" 200
is "... and no other is there" "$(ls -d m.prom*)" m.prom
at=$(address)
: >end
finish_run 30
is "the run ends" "$rc" 0
is "the file stays, with the exit status" \
    "$(figure muster_exit_status m.prom) $(figure 'muster_run_state{state="ended"}' m.prom)" "0 1"
is "... and the last state" "$(figure 'muster_ranks{state="done"}' m.prom) $(figure muster_step_highest m.prom)" "4 10"
lint "the last file" m.prom
is "nothing listens" "$(curl -s "$at"; echo $?)" 7

run muster -H $two --metrics m.prom sh -c 'exit 5'
is "another run has another exit status" "$rc $(figure muster_exit_status m.prom)" "5 5"
is "... and run id" "$(grep -c ^muster_run_info m.prom)" 1

# --- roles; an elastic run with a spare

cat >waits <<'END_OF_RANK'
until [ -e over ]; do sleep 0.05; done
END_OF_RANK
start muster -H $two --metrics-listen 127.0.0.1:0 --role train:2 sh waits : --role gen:2 sh waits
ok "roles" wait_for 30 scraped 'muster_ranks{state="running",role="gen"}' 2
ok "... each has its ranks" wait_for 30 scraped 'muster_ranks{state="running",role="train"}' 2
lint "roles" scraped
: >over
finish_run 30
is "... the run ends" "$rc" 0

rm over
start muster --name measured-spare -H node1:1,node2:1,node3:1 --spares 1 --spot off --grace 1 --metrics-listen 0 sh waits
ok "a spare waits" wait_for 60 scraped muster_spares 1
lint "a run with a spare" scraped
muster drain --within 0 measured-spare node2 >/dev/null
ok "a node leaves: a change" wait_for 60 scraped 'muster_restarts_total{cause="change"}' 1
ok "... no spare is left" wait_for 60 scraped muster_spares 0
: >over
finish_run 30
is "... the run ends" "$rc" 0

# --- a socket

rm over
mkdir -m 700 dir
start muster -H $two --metrics-listen dir/m.sock sh waits
ok "a socket" wait_for 30 test -S dir/m.sock
is "... for its user alone" "$(stat -c %a dir/m.sock)" 600
ok "... answers" sh -c 'curl -sf --unix-socket dir/m.sock http://localhost/metrics | grep -q ^muster_generation'
run muster -H $two --metrics-listen unix:dir/m.sock touch second
is "a second run cannot have it" "$rc $(grep error: err)$(ls second 2>/dev/null)" \
    "73 muster: error: --metrics-listen: dir/m.sock: another program listens there: name another path"
: >over
finish_run 30
is "... it is gone after the run" "$rc $(ls dir)" "0 "
rm over
start muster -H $two --metrics-listen dir/m.sock sh waits
ok "muster is killed" wait_for 30 sh -c 'curl -sf --unix-socket dir/m.sock http://localhost/metrics >/dev/null'
kill -KILL "$pid"
finish_run 30
ok "... its socket stays" test -S dir/m.sock
: >over
run muster -H $two --metrics-listen dir/m.sock sh waits
is "... and is replaced" "$rc $(ls dir)" "0 "

# --- what is refused before the run begins

: >dir/file
: >file
for bad in '--metrics=none/m.prom:cannot create none/m.prom\..*: No such file or directory; it needs' \
    '--metrics=dir:is not a file; name one in a directory' '--metrics=/dev/null:is not a file' \
    '--metrics=file/m.prom:Not a directory' '--metrics-listen=dir/file:is there, and no socket' \
    '--metrics-listen=none/m.sock:cannot listen there: No such file' \
    '--metrics-listen=192.0.2.1?1:this machine has no address 192.0.2.1'; do
    run muster -H $two "$(echo "${bad%%:*}" | tr '?' :)" touch started
    ok "${bad%%:*}: why" grep -q "^muster: error: --metrics.*${bad#*:}" err
    is "... nothing starts" "$rc $(ls started 2>/dev/null)" "73 "
done
start muster -H node1:1 --metrics-listen 0 sleep 1000
ok "a run has a port" wait_for 30 has_address
port=$(address | sed 's|.*:\([0-9]*\)/.*|\1|')
run muster -H node1:1 --metrics-listen "$port" touch started
is "another cannot have it" "$rc $(grep error: err)$(ls started 2>/dev/null)" \
    "73 muster: error: --metrics-listen: port $port of 127.0.0.1 is taken by another program: take another one, or 0 for a free one"
kill -INT "$pid"
finish_run 30
run muster -H node1:1 --metrics-listen te1:9464 touch started
is "an address must be a number" "$rc $(grep -c "'te1' is no address in numbers" err)" "2 1"

# --- the file system fails later

mkdir gone
rm over
start muster -H $two --metrics gone/m.prom sh waits
ok "a file in a directory" wait_for 30 is_figure 'muster_run_state{state="running"}' 1 gone/m.prom
rm -r gone
: >over
finish_run 30
is "the directory is gone: a warning, and the same run" "$rc $(grep -c 'warning: --metrics gone/m.prom: No such file' err)" "0 1"

# --- how it is given

run muster --metrics m.prom --metrics-listen 9464 -H node1:1 --dry-run true
is "--dry-run names both" "$(grep ^metrics out | tr '\n' ' ')" \
    "metrics go to m.prom (--metrics) metrics are served at 9464 (--metrics-listen) "
rm m.prom
printf '[muster]\nmetrics = m.prom\nmetrics-listen = dir/m.sock\n' >muster.conf
run muster exec --config muster.conf -H node1:1 true
is "muster exec has none, even from muster.conf" "$rc $(ls m.prom dir 2>/dev/null | tr '\n' ' ')" "0 dir: file "
run muster exec --metrics m.prom -H node1:1 true
is "... nor on its command line" "$rc $(grep -c -e --metrics err)" "2 1"
run muster bcast --metrics m.prom -H node1:1 waits
is "... nor has muster bcast" "$rc" 2
run muster --config muster.conf -H node1:1 true
is "in muster.conf" "$rc $(figure muster_exit_status m.prom)" "0 0"

rm over
run muster --detach -H node1:1 --name measured-later --metrics later.prom --metrics-listen dir/m.sock sh waits
is "a detached run" "$rc" 0
ok "... serves them" sh -c 'curl -sf --unix-socket dir/m.sock http://localhost/metrics | grep -q name=.measured-later'
muster stop measured-later >/dev/null
ok "... and ends" wait_for 30 is_figure 'muster_run_state{state="ended"}' 1 later.prom
run muster resume measured-later
ok "resumed, it has a later generation" wait_for 30 is_figure 'muster_generation' 1 later.prom
ok "... and serves again" wait_for 30 test -S dir/m.sock
: >over
ok "... to its end" wait_for 30 is_figure muster_exit_status 0 later.prom
ok "... and its socket is gone" wait_for 30 test ! -e dir/m.sock
ok "nothing is left" wait_for 30 nothing_left
ok "... at all" no_leftovers
finish
