#!/bin/sh
# --hang-timeout: a run that hangs is ended, saying where; one that works is not.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

four="-H node1:2,node2:2"
python3=$(command -v python3)
mkdir bin # in front of the PATH of muster, and so of the ranks
PATH=$PWD/bin:$PATH

hang() {
    time=$1
    shift
    run muster --hang-timeout "$time" --heartbeat 0.2 --grace 1 --json end.json "$@"
}

lasted() {
    json_says end.json "$1 <= d['first_failure']['at'] - d['results'][0]['start'] < $2 * slow"
}

# shellcheck disable=SC2086
{
script_file bin/gdb <<'END'
#!/bin/sh
echo "#0 where gdb says, of process ${*##* }"
END
hang 1 $four sh -c 'echo up; exec sleep 1001'
is "all ranks sleep: 124" "$rc" 124
ok "... after the time, by muster's own stamps" lasted 0.9 5
ok "... the report says why" grep -q 'muster: hang: no output and no CPU time .* for 1 s' err
is "... and where each rank is, once" "$(grep -Fxc '  | ranks 0-3 on node[1-2]:' err)" 1
is "... its command" "$(grep -c '| pid [0-9]*: sleep 1001' err)" 1
is "... its state" "$(grep -c '|   thread [0-9]* sleep: S (sleeping)' err)" 1
is "... and what gdb says" "$(grep -c '| #0 where gdb says' err)" 1
ok "... the report comes last" sh -c "tail -n 1 err | grep -q 'ended after that'"
ok "all of it is kept" grep -Fq 'ranks 0-3 on node[1-2]:' "$HOME"/.local/state/muster/runs/*/stacks.txt
ok "nothing is left" no_leftovers

# Four seconds: a loaded machine may give a rank nothing for two.
hang 4 $four sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; sleep 0.5; done'
is "ranks that write go on: 0" "$rc" 0
mkfifo done
exec 9<>done # what is written stays there, whoever reads when
script_file busy <<END
#!$python3
import os, time
end = time.monotonic() + 6
while os.environ['RANK'] == '3' and time.monotonic() < end:
    pass
if os.environ['RANK'] == '3':
    os.write(os.open('done', os.O_WRONLY), b'012')
else:
    os.read(os.open('done', os.O_RDONLY), 1)
END
hang 4 $four ./busy
exec 9>&-
is "one rank that computes is enough: 0" "$rc" 0
hang 4 -H node1:1 sh -c "(exec $python3 -c 'import time; end = time.monotonic() + 6
while time.monotonic() < end: pass') & wait"
is "so is a child of one: 0" "$rc" 0
hang 2 $four sh -c 'test $RANK = 0 || exit 0; exec sleep 1002'
is "ranks that have ended do not count: 124" "$rc" 124

# py-spy goes before gdb for Python
script_file bin/py-spy <<'END'
#!/bin/sh
echo "stack: $*"
END
hang 1 -H node1:1 "$python3" -c 'import time; time.sleep(1003)'
ok "py-spy is asked about Python" grep -Eq '\| stack: dump --pid [0-9]+$' err
spied=$(sed -n 's/.*stack: dump --pid //p' err)
is "... by the pid that it can see" "$spied" "$(json end.json 'd["results"][0]["pid"]')"
script_file bin/py-spy <<'END'
#!/bin/sh
echo begun
sleep 1004 &
echo $! >spy.pid
wait
END
hang 1 -H node1:1 "$python3" -c 'import time; time.sleep(1003)'
is "a py-spy that hangs itself: 124" "$rc" 124
ok "... is given up" grep -q 'not finished within 10 s' err
ok "... and what it said is there" grep -q '| begun' err
ok "... and gone, with what it has started" wait_for 5 is_gone "$(cat spy.pid)"
rm bin/*
if command -v gdb >/dev/null; then
    hang 1 -H node1:1 "$python3" -c 'import time; time.sleep(1003)'
    ok "gdb can look into the namespace" grep -Eq '\| #[0-9]+ .*Py' err
    ok "... and advises nothing" not grep -q auto-load err
else
    skip "gdb can look into the namespace" "gdb is missing (Debian: gdb)"
    skip "... and advises nothing" "gdb is missing (Debian: gdb)"
fi

run muster --heartbeat 0.2 --timeout 2 --grace 1 -H node1:1 sleep 1005
ok "without the option there is no hang" not grep -q "hang:" err

# Who looks can see which rank has fallen silent.
start muster --heartbeat 0.2 $four sh -c \
    '[ $RANK != 1 ] || exec sleep 1006; while :; do echo more; sleep 0.1; done'
silent() {
    muster status --json state.json >state &&
        id=$(json state.json 'd["runs"][0]["run_id"]') &&
        muster status --json state.json "$id" >state &&
        json_says state.json '[(r["silent_s"] or 0) > 2 for r in d["ranks"]] == [False, True, False, False]'
}
ok "status shows how long each rank has been silent" wait_for 20 silent
ok "... in seconds" grep -Eq '^1 +node1 +[0-9]+ +running +[2-9] s$' state
written() {
    stat -c '%i %y' "$HOME/.local/state/muster/runs/$id/status.json"
}
before=$(written)
sleep 1 # nothing must happen
is "output alone, in five heartbeats, writes nothing to the home" "$(written)" "$before"
muster status "$id" >state
ok "... but who asks gets it" not [ "$(written)" = "$before" ]
run muster stop "$id"
is "the run is stopped" "$rc" 0
}
finish
