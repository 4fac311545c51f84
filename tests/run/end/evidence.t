#!/bin/sh
# What a node's kernel says of hardware while ranks run is in the report, beside the first failure.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

# Node N of a run has the file kmsg.N in place of the kernel's log.
MUSTER_TEST_KMSG=$PWD/kmsg
MUSTER_TEST_JOURNAL=$PWD/journal # which is not there
MUSTER_AGENT=$test_agent
export MUSTER_TEST_KMSG MUSTER_TEST_JOURNAL MUSTER_AGENT
four="-H node1:2,node2:2"

# says NODE TEXT: the kernel of that node says it. For ranks, too.
script_file says <<'END'
#!/bin/sh
printf '3,7,123456789,-;%s\n' "$2" >>"$MUSTER_TEST_KMSG.$1"
END
says=$PWD/says
export says

# All ranks must have started before one writes: older messages do not count.
script_file meet <<'END'
#!/bin/sh
: >"met.$MUSTER_GENERATION.$RANK"
for rank in 0 1 2 3; do
    until [ -e "met.$MUSTER_GENERATION.$rank" ]; do sleep 0.02; done
done
END

# A run does not warn of the nodes of the one before.
old_logs() {
    rm -rf met.* "$HOME/.local/state/muster/suspects"
    printf '3,1,5,-;NVRM: Xid (PCI:0000:aa:00): 79, GPU has fallen off the bus.\n' >kmsg.0
    cp kmsg.0 kmsg.1
}

# evidence EXPRESSION: over the list of it in end.json, called e.
evidence() {
    json end.json "[$1 for e in d['evidence']]"
}

old_logs
# shellcheck disable=SC2086
{
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    $says 0 "nfs: server filer1 not responding, still trying"
    $says 1 "INFO: task python3:7 blocked for more than 120 seconds."
    $says 1 "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus."
    $says 1 "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
    $says 1 "EDAC MC0: 1 CE memory read error on DIMM"
    $says 1 "usb 1-1: new high-speed USB device"
    exit 1'
is "a rank exits with 1 after its GPU: 1" "$rc" 1
is "the report has what is broken, of the node of the first failure; then the rest" \
    "$(sed -n 's/^muster: \(.*\): kernel, [0-9:]*: \(.*\): .*/\1 \2/p' err)" \
    "node2 Xid 79, has fallen off the bus (GPU 0000:3b:00.0)
node2 a process waits in the kernel for minutes (python3)
node1 an NFS server does not answer (filer1)"
ok "... and what to do" grep -q 'bus (GPU 0000:3b:00.0): reboot the node' err
ok "it is below the first failure" sh -c "grep -A 1 'rank 2 on node2 failed' err | grep -q 'kernel, .*Xid 79'"
is "what was corrected is in --json" "$(json end.json \
    'sorted((e["node"], e["kind"], e["device"], e["count"], e["severity"]) for e in d["evidence"])' |
    tr -d "'")" "[(node1, nfs, filer1, 1, error), (node2, hung task, python3, 1, error), (node2, memory corrected, MC0, 1, notice), (node2, xid 79, GPU 0000:3b:00.0, 1, broken)]"
ok "... with the message and the time" json_says end.json \
    '{len(e["time"]) for e in d["evidence"]} == {24} and "pid=7, GPU" in str(d["evidence"])'

old_logs
run muster -vv $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    $says 1 "NVRM: Xid (PCI:0000:3b:00): 79"; exit 1'
is "the launcher knows it before it knows that the rank has failed" \
    "$(sed -n 's/.*node2: -> \(EVIDENCE\|EXIT\).*/\1/p' err | head -n 2 | tr '\n' ' ')" "EVIDENCE EXIT "

old_logs
run muster --json end.json $four sh -c '$says 1 "EXT4-fs error (device nvme0n1p1): x"; exit 0'
is "all is well: not a word" "$rc $(complaints)" "0 "
is "... but in --json" "$(evidence 'e["kind"]' | tr -d "'")" "[file system]"

# Each kind, by what a user reads.
old_logs
cat >messages <<'END'
NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=python3, MMU Fault
nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 24 LTSSM Fault Up
nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
mlx5_core 0000:17:00.0 ib0: Link down
Lustre: a-OST0003-osc-ff: Connection to a-OST0003 (at 10.0.0.7@o2ib) was lost; in progress
Out of memory: Killed process 4711 (python3) total-vm:1kB
EDAC MC0: 1 UE memory read error on DIMM
I/O error, dev nvme0n1, sector 123 op 0x0:(READ)
watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:7]
clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because
END
messages=$PWD/messages
export messages
run muster --json end.json -H node1:2,node2:2 sh -c './meet; test $RANK = 2 || exec sleep 1000
    while read -r text; do $says 1 "$text"; done <$messages
    exit 1'
is "each kind is named" "$(sed -n 's/^muster: node2: kernel, [0-9:]*: \(.*\): .*/\1/p' err)" \
    "SXid 20034, error of an NVSwitch (NVSwitch 0000:c5:00.0)
fatal PCIe error (0000:3b:00.0)
uncorrected memory error (MC0)
a disk cannot be read or written (nvme0n1)
a network link went down (ib0)
the connection to a Lustre server was lost (a-OST0003)
the node ran out of memory, and the kernel ended a process (python3, pid 4711)
a processor was stuck
the clock of the node is unstable (tsc)
Xid 31, memory page fault (GPU 0000:3b:00.0)"

old_logs
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    for turn in 1 2 3; do
        $says 0 "nfs: server filer1 not responding, still trying"
        $says 1 "nfs: server filer1 not responding, still trying"
    done
    $says 0 "$(printf "XFS (a\033[31mb): Corruption")"
    printf "14,7,5,-;NVRM: Xid (PCI:0000:3b:00): 79, a program wrote it\n\001\377 torn" >>"$MUSTER_TEST_KMSG.1"
    exit 1'
is "what several nodes say is one line" "$(grep -c 'kernel, .*filer1' err)" 1
ok "... of all of them" grep -q 'node\[1-2\]: kernel, .*: an NFS server does not answer (filer1): check' err
is "how often is in --json" "$(json end.json 'sorted(e["count"] for e in d["evidence"])')" "[1, 3, 3]"
ok "no escape reaches the terminal" not grep -q "$(printf '\033')" err
ok "what a program wrote there is no evidence" not grep -q 'Xid 79' err

# In a generation counts only what came in it.
old_logs
run muster --max-restarts 1 --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    $says 1 "nfs: server one not responding, still trying"
    test $MUSTER_GENERATION = 0 || $says 1 "nfs: server two not responding, still trying"
    exit 1'
is "two generations: 1" "$rc" 1
is "... the evidence of the last one, counted from its start" \
    "$(evidence '(e["device"], e["count"])' | tr -d "'")" "[(one, 1), (two, 1)]"
is "... and that of the first" "$(json end.json 'd["generations"][0]["evidence"][0]["device"]')" one
is "... which was told when it ended" "$(grep -n 'kernel, .*(one)\|generation 1:\|kernel, .*(two)' err |
    sed 's/.*(\(one\|two\)).*/\1/; s/.*generation 1:.*/again/' | tr '\n' ' ')" "one again one two "

old_logs
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    python3 -c "import os
with open(os.environ[\"MUSTER_TEST_KMSG\"] + \".1\", \"a\") as log:
    for number in range(100000):
        print(f\"3,{number},5,-;I/O error, dev sd{number % 100}, sector {number}\", file=log)"
    echo flooded
    exit 1'
is "a flood of 100000 messages: the run ends" "$rc $(grep -c flooded out)" "1 1"
ok "... with at most 64 things of a node" json_says end.json '1 < len(d["evidence"]) <= 64'
ok "... of which the report has some" sh -c "[ $(grep -c 'kernel, ' err) = 16 ] && grep -q 'more things of that kind: see --json' err"

rm kmsg.1
run muster --json end.json $four sh -c 'test $RANK != 2 || exit 1; exec sleep 1000'
is "a log that cannot be read is no reason to say so" "$rc $(grep -c "kernel's log" err)" "1 0"
is "... but in --json" "$(json end.json '[(u["node"], "No such file" in u["text"]) for u in d["evidence_unread"]]' |
    tr -d "'")" "[(node2, True)]"
run muster $four sh -c 'test $RANK != 2 || kill -KILL $$; exec sleep 1000'
ok "... unless the kernel may know more" grep -q "^muster: the kernel's log of node2 could not be read: .*kmsg.1: No such file" err
run muster -v $four true
is "with -v it is told once" "$(grep -c "node2: the kernel's log cannot be read" err)" 1
run muster exec -H node1,node2 true
is "exec does not look" "$rc $(complaints)" "0 "

unset MUSTER_AGENT
old_logs
run muster --json end.json $four sh -c '$says 1 "nfs: server filer1 not responding, still trying"; exit 1'
is "the installed agent reads no other log" "$(evidence 'e["device"]' | grep -c filer1)" 0
}
ok "nothing is left" no_leftovers
finish
