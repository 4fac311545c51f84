#!/bin/sh
# A node whose kernel says that something there is broken gives its place to a spare; but not if
# several nodes say so, since then it is what they share.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Node N of a run has the file kmsg.N in place of the kernel's log.
MUSTER_TEST_KMSG=$PWD/kmsg
MUSTER_TEST_JOURNAL=$PWD/journal # which is not there
MUSTER_AGENT=$test_agent
export MUSTER_TEST_KMSG MUSTER_TEST_JOURNAL MUSTER_AGENT MUSTER_RESTART_DELAY=0
spare="-H node1:1,node2:1,node3:1 --spares 1 --no_local_rank"

# All ranks meet. Then the kernels of the nodes in $say_to say each line of the file messages; the
# last of these nodes waits for the others. Rank $fails exits with 1.
script_file job <<'END_OF_RANK'
#!/bin/sh
[ "$MUSTER_GENERATION" -lt "${turns:-1}" ] || exit 0
: >"met.$RANK"
until [ -e met.0 ] && [ -e met.1 ]; do sleep 0.02; done
case " $say_to " in *" $RANK "*)
    while read -r text; do
        printf '3,7,123456789,-;%s\n' "$text" >>"$MUSTER_TEST_KMSG.$RANK"
    done <messages
    : >"said.$RANK"
    ;;
esac
[ "$RANK" = "$fails" ] || exec sleep 1000
for rank in $say_to; do
    until [ -e "said.$rank" ]; do sleep 0.02; done
done
exec sh -c "$how"
END_OF_RANK

# job MESSAGE NODES RANK OPTIONS...: the kernels of these nodes (numbers) say it; that rank fails.
job() {
    printf '%s\n' "$1" >messages
    say_to=$2
    fails=$3
    shift 3
    export say_to fails how turns
    rm -f met.* said.*
    printf '3,1,5,-;NVRM: Xid (PCI:0000:aa:00): 79, GPU has fallen off the bus.\n' >kmsg.0
    cp kmsg.0 kmsg.1
    case " $* " in
    *" --role "*) run muster --json end.json "$@" ;;
    *) run muster "$@" --json end.json ./job ;;
    esac
    MUSTER_HOSTFILE='' muster clean --suspects >forgotten 2>&1
}

# left_out: [(node, reason)], of those that were left out.
left_out() {
    json end.json '[(s["node"], s["reason"]) for s in d["suspects"] if s["left_out"]]'
}

how='exit 1'
# shellcheck disable=SC2086
{
# --- broken: wherever the run ended first

gpu='NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.'
job "$gpu" 1 0 $spare --max-restarts 3
is "a GPU off the bus: its node is left out, though another failed first" "$rc $(left_out)" \
    "0 [('node2', 'kernel: Xid 79, has fallen off the bus (GPU 0000:3b:00.0): reboot the node; if it happens again, have the GPU replaced')]"
ok "... which is said" grep -q '^muster: warning: node2: left out from now on: kernel: Xid 79, .* (--leave-out)$' err
ok "... and is no restart" grep -q 'node3 takes the place of node2; 2 ranks on 2 nodes; restarts used: 0 of 3$' err
ok "it is a suspect" grep -q '^forgotten: node2: kernel: Xid 79' forgotten
job "$gpu" 1 1 $spare
is "without --max-restarts as well: the spare is there for it" "$rc $(left_out | grep -c node2)" "0 1"
job "$gpu" 1 1 $spare --max-restarts 3 --leave-out 2
is "--leave-out=2 does not look at evidence" "$rc $(left_out)" "0 []"
job "$gpu" '' 1 $spare --max-restarts 3
is "what was there before the run is no evidence" "$rc $(left_out)" "0 []"

# --- who would take its place?

job "$gpu" 1 1 -H node1:1,node2:1 --no_local_rank --max-restarts 3
is "without a spare it stays" "$rc $(left_out)" "0 []"
ok "... which is said" grep -q '^muster: warning: node2: stays, since no other node can take its place: kernel: Xid 79' err
ok "... and is a restart" grep -q 'restart 1 of 3' err
ok "it is a suspect, too" grep -q '^forgotten: node2: kernel: Xid 79' forgotten
turns=3 job "$gpu" 1 1 -H node1:1,node2:1 --no_local_rank --max-restarts 3
is "... once" "$rc $(grep -c 'node2: stays' err)" "0 1"
job "$gpu" 1 1 -H node1:1,node2:1 --no_local_rank
is "without another generation" "$rc $(json end.json '[s["left_out"] for s in d["suspects"]]')" "1 [False]"
ok "... the next run warns" grep -q '^muster: warning: node2: a suspect, of which the next run will warn: kernel: Xid 79' err
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
job "$gpu" 1 1 -H node1:1,node2:1 --no_local_rank --master_port "$port"
is "... if no agent waits for one either" "$rc $(json end.json '[s["left_out"] for s in d["suspects"]]')" "1 [False]"
job "$gpu" 1 1 -H node1:1,node2:1 --no_local_rank --max-restarts 3 --recovery elastic
is "a smaller world" "$rc $(json end.json 'd["world_size"]') $(left_out | grep -c node2)" "0 1 1"

# --- each kind

while IFS='|' read -r kind message; do
    job "$message" 1 1 $spare --max-restarts 3
    is "$kind on one node: it is left out" "$rc $(left_out | grep -c "('node2', ")" "0 1"
    job "$message" '0 1' 1 $spare --max-restarts 3
    is "... on both: none is" "$rc $(left_out) $(grep -c 'it is of what they share, and none is left out' err)" "0 [] 1"
done <<'END_OF_KINDS'
NVSwitch|nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 24 LTSSM Fault Up
PCIe|nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
a link|mlx5_core 0000:17:00.0 ib0: Link down
NFS|nfs: server filer1 not responding, still trying
Lustre|Lustre: a-OST0003-osc-ff: Connection to a-OST0003 (at 10.0.0.7@o2ib) was lost; in progress
memory|EDAC MC0: 1 UE memory read error on DIMM
a disk|I/O error, dev nvme0n1, sector 123 op 0x0:(READ)
a file system|EXT4-fs error (device nvme0n1p1): x
a hung task|INFO: task python3:7 blocked for more than 120 seconds.
a lockup|watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:7]
the clock|clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because
END_OF_KINDS

# --- what is no reason

while IFS='|' read -r kind message; do
    job "$message" 1 1 $spare --max-restarts 3
    is "$kind: the node stays" "$rc $(left_out)" "0 []"
done <<'END_OF_KINDS'
a fault of a program|NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=python3, MMU Fault
too little memory|Out of memory: Killed process 4711 (python3) total-vm:1kB
a corrected error|EDAC MC0: 1 CE memory read error on DIMM
what muster does not know|NVRM: nothing of note
END_OF_KINDS
job 'mlx5_core 0000:17:00.0 ib0: Link down' 1 0 $spare --max-restarts 3
is "what may pass, on a node that did not fail first: it stays" "$rc $(left_out)" "0 []"

# --- roles, which have no spares

job "$gpu" 1 1 -H node1:1,node2:1 --no_local_rank --max-restarts 1 --role one:1 sh -c 'RANK=0 exec ./job' \
    : --role two:1 sh -c 'RANK=1 exec ./job'
is "roles: the node is a suspect" "$rc $(json end.json '[(s["node"], s["left_out"]) for s in d["suspects"]]')" \
    "0 [('node2', False)]"

# --- a hang

how='exec sleep 1000'
job "$gpu" 1 1 $spare --hang-timeout 1 --heartbeat 0.2 --dead-after 15
is "a hang of a node with a broken GPU goes on without it" "$rc $(left_out | grep -c node2)" "0 1"
}
ok "nothing is left" no_leftovers
finish
