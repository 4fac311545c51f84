#!/bin/sh
# A node whose GPUs are slower than those of the others is named while the run goes on, and the run
# does not end for it. A driver that hangs holds up nothing.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/end/on_event.sh"

. "$here/end/samples.sh"
MUSTER_TEST_SAMPLES_S=0.1
three="-H node1:2,node2:2,node3:2 --no_local_rank"
run_limit=120

# state EXPRESSION: over what JSON says of the run that is running, d.
state() {
    muster status --json state.json slow >state && json_says state.json "$1"
}
script_file rank <<'END'
#!/bin/sh
until [ -e over ]; do sleep 0.05; done
END

# shellcheck disable=SC2086
{
# --- one of three

gpus '' 'mhz=1095 reasons=64' ''
begin
start muster --name slow --heartbeat 0.2 --on-event ./keep --metrics "$PWD/m.prom" --json end.json $three ./rank
ok "a node that is slower than the others is named" \
    wait_for 60 grep -Eq '^muster: warning: node2: slow for [0-9]+ s: GPU 1 runs at 1095 MHz, the median of all at 1980 MHz \(hardware thermal slowdown\)$' err
ok "... by muster status" wait_for 30 state '[s["node"] for s in d["slow"]] == ["node2"]'
ok "... in words" grep -q '^slow: node2: GPU 1 runs at 1095 MHz' state
ok "... by an event" wait_for 30 has_event slow
is "... which says why" "$(events 'of("slow")["node"], of("slow")["reason"][:24]')" "('node2', 'GPU 1 runs at 1095 MHz, ')"
ok "... and the run goes on" state 'd["state"] == "running"'
gpus '' '' ''
ok "when it is fast again muster says so" wait_for 60 grep -q '^muster: node2: is as fast as the others again$' err
ok "... and muster status" wait_for 30 state 'd["slow"] == []'
gpus '' 'reasons=128' ''
ok "it is named once more, now for its power" \
    wait_for 60 grep -Eq '^muster: warning: node2: slow for .*: GPU 1 is slowed down, as most are not \(power brake\)$' err
: >over
finish_run 60
is "it does not end the run" "$rc" 0
is "each time is said once" "$(grep -c 'warning: node.: slow for' err)" 2
ok "the report at the end has both" test "$(grep -c '^muster: node2 was slow for [0-9.]* min: ' err)" = 2
is "... and JSON" "$(json end.json '[(s["node"], s["until"] is None) for s in d["slow"]]')" \
    "[('node2', False), ('node2', True)]"
ok "... and the figures" grep -q '^muster_slow_nodes{.*} 1$' m.prom
rm over

# --- all of them

gpus 'mhzs=1000 mhz=1000' 'mhzs=1000 mhz=1000' 'mhzs=1000 mhz=1000'
start muster --name slow --json end.json $three ./rank
ok "all are equally slow: each is sampled often" looked 0 30
ok "... each of them" looked 2 30
: >over
finish_run 60
is "... none is named" "$rc $(json end.json 'd["slow"]') $(grep -c 'slow' err)" "0 [] 0"
rm over

# Roles have work of their own.
gpus 'mhzs=1000 mhz=1000' 'mhzs=1000 mhz=1000' '' ''
start muster --name slow --json end.json -H node1:2,node2:2,node3:2,node4:2 --no_local_rank \
    --role one:4 ./rank : --role two:4 ./rank
ok "all of a role are slow: each is sampled often" looked 0 30
: >over
finish_run 60
is "... none is named, since the other role has other work" "$rc $(json end.json 'd["slow"]')" "0 []"
rm over
gpus '' '' 'mhz=1000' ''
start muster --name slow --json end.json -H node1:2,node2:2,node3:2,node4:2 --no_local_rank \
    --role one:4 ./rank : --role two:4 ./rank
ok "one of a role is slow: it is named" wait_for 60 grep -q '^muster: warning: node3: slow for ' err
: >over
finish_run 60
is "... alone" "$rc $(json end.json '[s["node"] for s in d["slow"]]')" "0 ['node3']"
rm over

# --- steps

# The ranks of node 1 do a step while the others do ten.
script_file steps <<'END'
#!/bin/sh
[ "$LOCAL_RANK" = 0 ] || exec ./rank
step=0
until [ -e over ]; do
    [ "$MUSTER_HOST" = node2 ] && step=$((step + 1)) || step=$((step + 10))
    echo "step $step"
    sleep 0.05
done
END
gpus '' '' ''
start muster --name slow --heartbeat 0.1 --progress 'step ([0-9]+)' --json end.json $three ./steps
ok "a node that makes fewer steps is named" \
    wait_for 60 grep -Eq '^muster: warning: node2: slow for .*: its ranks do [0-9.]+ steps in a minute, the median is ' err
: >over
finish_run 60
is "... and the run ends well" "$rc" 0
rm over

# --- a driver that hangs

gpus '' '' ''
start muster --name slow --json end.json $three ./rank
ok "the driver is asked" looked 1 1
gpus '' stall ''
ok "the driver hangs: that is said" \
    wait_for 60 grep -q '^muster: warning: node2: the driver of its GPUs or network ports does not answer: ' err
: >over
finish_run 60
is "... once, and the run ends well" "$rc $(grep -c 'does not answer' err)" "0 1"
ok "... nothing of it is left" no_leftovers
rm over
}

# --- without GPUs and ports

MUSTER_TEST_ROOT=$PWD/none
MUSTER_TEST_GPU_GLOB="$PWD/none/dev/nvidia[0-9]*"
start muster --name slow -H node1:1 ./rank
ok "a node has neither" wait_for 30 state 'd["state"] == "running" and d["ranks"][0]["state"] == "running"'
ok "... so it has no child for them" not sampler
: >over
finish_run 60
is "... and the run ends well" "$rc" 0
ok "nothing is left" no_leftovers
finish
