#!/bin/sh
# What speaks against a start is found before any rank runs, and all of it is shown at once.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

two="-H node1:1,node2:1"

# Ranks that leave a trace.
script_file trace <<'END'
#!/bin/sh
: >"started-$RANK"
END

nothing_started() {
    [ -z "$(find . -name 'started-*')" ]
}

# shellcheck disable=SC2086
{
# Containment
MUSTER_AGENT=$test_agent MUSTER_TEST_CONTAIN=subreaper run muster --strict-containment $two ./trace
is "--strict-containment where there is only a subreaper: 73" "$rc" 73
ok "... both nodes are in one row" grep -Eq 'node\[1-2\] +containment +neither' err
ok "... with what they have" grep -q 'subreaper+lease' err
ok "... and what to do" grep -q 'hint: node\[1-2\]' err
ok "... nothing was started" nothing_started
MUSTER_AGENT=$test_agent MUSTER_TEST_CONTAIN=subreaper run muster $two true
is "without it such nodes will do" "$rc" 0
run muster -v --strict-containment $two true
if grep -Eq 'containment .*(pidns|cgroup)' err; then
    is "strong containment passes" "$rc" 0
else
    skip "strong containment passes" "there is none on this machine"
fi

# Over SSH
use_sshd 1
sed 's/^Host node1$/Host also/; s/^Host node1 /Host also /' "$nodes_dir/ssh_config" >alias
cat alias >>"$nodes_dir/ssh_config"
sed 's/node1\]/also]/' "$nodes_dir/known_hosts" >alias
cat alias >>"$nodes_dir/known_hosts"
unset MUSTER_HOSTFILE
run muster -H node1:2,also:2 "$PWD/trace"
is "one machine by two names, the same slots: 65" "$rc" 65
ok "... is named" grep -Eq 'also +same machine +this is the same machine as node1' err
ok "... nothing was started" nothing_started
run muster -H node1:2,also:4 -i node1:0,1@also:2,3 true
is "slots of their own: 0" "$rc" 0
is "... and not a word" "$(complaints)" ""

# Two spares, which share a slot with each other, and none with the world
sed 's/^Host node1$/Host third/; s/^Host node1 /Host third /' "$nodes_dir/ssh_config" >alias
cat alias >>"$nodes_dir/ssh_config"
sed -n 's/node1\]/third]/p' "$nodes_dir/known_hosts" >alias
cat alias >>"$nodes_dir/known_hosts"
both_told() {
    grep -q 'checked; it waits for a place' err &&
        grep -Eq '(also|third): cannot take part now: same machine: this is the same machine as (also|third)' err
}
start muster -v --spares 2 -H node1:2,also:2,third:2 -i node1:0@also:1@third:1 \
    sh -c 'until [ -e go ]; do sleep 0.2; done'
ok "of two spares on one machine, one is refused" wait_for 60 both_told
touch go
finish_run 30
is "... and the run ends well" "$rc" 0

# An agent that lies in its greeting: a program between the launcher and the true one.
liar() {
    cat >"liar-$1" <<END
#!/usr/bin/env python3
import json, os, struct, subprocess, sys, threading, time
agent = subprocess.Popen(["$top_builddir/agent/muster-agent", *sys.argv[1:]],
                         stdin=0, stdout=subprocess.PIPE)
out = agent.stdout
sys.stdout.buffer.write(out.readline())
head = out.read(16)
hello = json.loads(out.read(struct.unpack(">I", head[:4])[0]))
hello["size"] = os.path.getsize(__file__)
$2
body = json.dumps(hello).encode()
sys.stdout.buffer.write(struct.pack(">I", len(body)) + head[4:] + body)
sys.stdout.flush()
while data := out.read1(65536):
    os.write(1, data)
sys.exit(agent.wait())
END
    chmod +x "liar-$1"
}
liar honest ''
run muster --agent ./liar-honest -H node1:1 true
is "an honest one: 0" "$rc" 0
is "... and not a word" "$(complaints)" ""
liar short 'hello["size"] -= 1'
run muster --agent ./liar-short -H node1:1 "$PWD/trace"
is "a damaged copy of the agent: 73" "$rc" 73
ok "... is named" grep -Eq 'node1 +agent +the copy of muster-agent' err
ok "... nothing was started" nothing_started
liar ahead 'hello["time_ns"] += 5 * 10**9'
run muster --agent ./liar-ahead -H node1:1 true
is "a clock 5 s ahead: 0" "$rc" 0
ok "... a warning" grep -Eq "node1: the clock is up to (4\\.9|5\\.[0-9]) s ahead" err
liar behind 'hello["time_ns"] -= 3600 * 10**9'
run muster --agent ./liar-behind -H node1:1 true
ok "a clock one hour behind: a warning" grep -q 'node1: the clock .* behind' err
liar clone 'hello["addresses"] = [{"if": "eth0", "addr": "10.9.8." + str(os.getpid() % 250 + 1), "loopback": False}]'
run muster --agent ./liar-clone --master_addr 127.0.0.1 -H node1:1,also:1 true
is "machines cloned from one snapshot are two: 0" "$rc" 0
}
finish
