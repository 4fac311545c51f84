#!/bin/sh
# Where /dev/kmsg cannot be read, what the kernel says comes from the journal, by the real
# journalctl; a run is neither held up nor ended by what becomes of that program.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"
. "$here/time.sh"

need_journal_remote() {
    [ -x /lib/systemd/systemd-journal-remote ] && [ -x /usr/bin/journalctl ] ||
        { echo "journalctl or systemd-journal-remote (the Debian package) is missing"; return 1; }
}
need journal_remote

# Node N of a run has the journal journal.N, and no /dev/kmsg.
MUSTER_TEST_KMSG=$PWD/kmsg
MUSTER_TEST_JOURNAL=$PWD/journal
MUSTER_AGENT=$test_agent
gpu='NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.'
writer=$here/end/journal_says.py
export MUSTER_TEST_KMSG MUSTER_TEST_JOURNAL MUSTER_AGENT MUSTER_RESTART_DELAY=0 gpu writer
four="-H node1:2,node2:2"

# says NODE TEXT OPTIONS...: the kernel of that node says it. For ranks, too.
script_file says <<'END'
#!/bin/sh
to=$MUSTER_TEST_JOURNAL.$1 text=$2
shift 2
printf '%s\n' "$text" | "$writer" "$to" "$@"
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

# stand_in NAME: a program in place of journalctl; the file pids has the number of each process.
stand_in() {
    { printf '#!/bin/sh\necho $$ >>%s/pids\n' "$PWD"; cat; } | script_file "$1"
    rm -f pids
    MUSTER_TEST_JOURNALCTL=$PWD/$1
    export MUSTER_TEST_JOURNALCTL
}

# old_journals: each node's kernel has said something before the run, and no node is a suspect.
old_journals() {
    rm -rf met.* journal.* go end "$HOME/.local/state/muster/suspects"
    for node in 0 1; do
        "$says" $node 'NVRM: Xid (PCI:0000:aa:00): 79, GPU has fallen off the bus.' --age 5
    done
}

# unread NODE: why its log cannot be read.
unread() {
    json end.json "[u['text'] for u in d['evidence_unread'] if u['node'] == '$1']"
}
evidence() {
    json end.json "sorted((e['device'], e['count']) for e in d['evidence'])" | tr -d "'"
}
# until_told TEXT COMMAND...: the file go comes when both nodes have told the launcher that.
until_told() {
    text=$1
    shift
    start muster -v --json end.json $four "$@"
    for node in 1 2; do
        wait_for 30 grep -q "node$node: $text" err
    done
    : >go
    finish_run 60
}
count_of_pids() {
    [ "$(cat pids 2>/dev/null | wc -l)" = "$1" ]
}

# shellcheck disable=SC2086
{
old_journals
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    $says 0 "nfs: server filer1 not responding, still trying"
    $says 1 "nfs: server forged not responding" --transport stdout
    $says 1 "nfs: server written not responding" --facility 3
    $says 1 "nfs: server before not responding" --boot 00000000000000000000000000000001
    $says 1 "$(printf "XFS (a\033[31mb\001\377): Corruption")"
    $says 1 "$gpu"
    exit 1'
is "a rank exits with 1 after its GPU: 1" "$rc" 1
ok "the report has it, below the first failure" \
    sh -c "grep -A 3 'rank 2 on node2 failed' err | grep -q 'node2: kernel, .*Xid 79, has fallen off the bus (GPU 0000:3b:00.0): reboot'"
ok "... and what another node says" grep -q 'node1: kernel, .*filer1' err
ok "a message with bytes that are no text counts" json_says end.json \
    '[e["device"][0] for e in d["evidence"] if e["kind"] == "file system"] == ["a"]'
ok "... and no escape reaches the terminal" not grep -q "$(printf '\033')" err
is "older ones, those of programs and of another boot do not" \
    "$(evidence | grep -c 'aa:00\|forged\|written\|before')" 0
is "the log was read" "$(json end.json 'd.get("evidence_unread", [])')" "[]"

old_journals
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exit 0; $says 1 "$gpu"'
is "all is well: not a word" "$rc $(complaints)" "0 "

old_journals
run muster --max-restarts 1 --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    $says 1 "nfs: server one not responding, still trying"
    test $MUSTER_GENERATION = 0 || $says 1 "nfs: server two not responding, still trying"
    exit 1'
is "two generations: 1" "$rc" 1
is "... the evidence of the last one, counted from its start" "$(evidence)" "[(one, 1), (two, 1)]"
is "... and that of the first" "$(json end.json 'd["generations"][0]["evidence"][0]["device"]')" one

old_journals
run muster --max-restarts 3 --spares 1 --no_local_rank -H node1:1,node2:1,node3:1 --json end.json sh -c '
    [ $MUSTER_GENERATION = 0 ] || exit 0
    : >met.$RANK; until [ -e met.0 ] && [ -e met.1 ]; do sleep 0.02; done
    [ $RANK = 1 ] || exec sleep 1000
    $says 1 "$gpu"; exit 1'
is "a node whose journal says that its GPU is broken is left out" \
    "$rc $(json end.json '[s["node"] for s in d["suspects"] if s["left_out"]]')" "0 ['node2']"

old_journals
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000
    seq 200000 | sed "s/.*/I\/O error, dev sd&, sector &/" | $writer $MUSTER_TEST_JOURNAL.1
    exit 1'
is "a flood of 200000 messages: the run ends" "$rc" 1
ok "... with at most 64 things of a node" json_says end.json '1 < len(d["evidence"]) <= 64'

# --- journalctl itself

line='{"_TRANSPORT":"kernel","SYSLOG_FACILITY":"0","__MONOTONIC_TIMESTAMP":"99999999999999999"'
line="$line,\"_BOOT_ID\":\"$(tr -d - </proc/sys/kernel/random/boot_id)\",\"MESSAGE\":\"EDAC MC0: 1 UE memory read error on DIMM\"}"
old_journals
stand_in endless <<END
exec yes '$line'
END
until_told 'kernel: ' sh -c 'until [ -e go ]; do sleep 0.02; done; test $RANK = 2 || exec sleep 1000; exit 1'
is "a journal without an end: the run ends" "$rc $(evidence | tr -cd 'M\n')" "1 MM"
ok "... and journalctl with it" wait_for 5 is_gone "$(tail -n 1 pids)"

# The pipe ends with the rank.
mkfifo lives
stand_in late <<END
cat $PWD/lives
sleep 0.2
echo '$line'
exec sleep 1000
END
run muster --json end.json -H node1:1 sh -c 'exec 3>lives; exit 1'
timed "what the journal has 0.2 s after a rank has failed is in the report" grep -q 'node1: kernel, .*memory' err

old_journals
stand_in hangs <<'END'
exec sleep 1000
END
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000; exit 1'
is "one that hangs: the run ends" "$rc" 1
ok "... and both reasons are told" json_says end.json \
    '[("kmsg." in u["text"] and ": No such file" in u["text"] and "journalctl has shown no message" in u["text"])
      for u in d["evidence_unread"]] == [True, True]'
ok "... and none is left" wait_for 5 is_gone "$(tail -n 1 pids)"

stand_in dies <<'END'
echo 'No such
  thing' >&2
exit 3
END
until_told "the kernel's log cannot be read" sh -c 'until [ -e go ]; do sleep 0.02; done; test $RANK != 2 || kill -KILL $$; exec sleep 1000'
ok "one that ends: its words are in the report, if the kernel may know more" \
    grep -q "^muster: the kernel's log of node2 could not be read: .*No such file.*; journalctl has ended with exit status 3: No such thing" err
ok "... and it was not started again" count_of_pids 2

MUSTER_TEST_JOURNALCTL=$PWD/nowhere
run muster --json end.json $four true
is "one that is not there" "$rc $(unread node2 | grep -c 'no journalctl in /usr/bin and /bin')" "0 1"

stand_in refused <<'END'
exec setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/journalctl "$@"
END
rm go
until_told "the kernel's log cannot be read" sh -c 'until [ -e go ]; do sleep 0.02; done'
is "one that may not read: who may" \
    "$rc $(unread node2 | grep -c 'ermission.*; members of the groups systemd-journal and adm may read it')" "0 1"
is "... said once, with -v" "$(grep -c "node2: the kernel's log cannot be read" err)" 1

stand_in complains <<'END'
echo 'Hint: You are currently not seeing messages from other users and the system.' >&2
exec sleep 1000
END
rm go
until_told "the kernel's log cannot be read" sh -c 'until [ -e go ]; do sleep 0.02; done'
is "one that shows only what is the user's own: who may" \
    "$rc $(unread node2 | grep -c 'Hint: .*; members of the groups systemd-journal and adm may read it')" "0 1"

unset MUSTER_TEST_JOURNALCTL
rm -rf journal.*
mkdir journal.0 journal.1
run muster --json end.json $four sh -c './meet; test $RANK = 2 || exec sleep 1000; exit 1'
is "a journal without a file" "$rc $(unread node1 | grep -c 'No such file.*; journalctl')" "1 1"

# --- killed

stand_in noted <<END
tr '\0' '\n' </proc/\$\$/environ | sort >$PWD/environ
readlink /proc/\$\$/fd/0 >>$PWD/environ
exec /usr/bin/journalctl "\$@"
END
old_journals
start muster -v --json end.json -H node1:1 sh -c '$says 0 "nfs: server one not responding, still trying"
    until [ -e go ]; do sleep 0.02; done
    $says 0 "nfs: server two not responding, still trying"
    until [ -e end ]; do sleep 0.02; done; exit 1'
launcher=$pid
ok "journalctl is read" wait_for 30 grep -q 'node1: kernel: .*(one)' err
is "... and gets an environment and a stdin of its own" "$(cat environ)" "LC_ALL=C
PATH=/usr/bin:/bin
/dev/null"
kill "$(cat pids)"
: >go
ok "killed, it is started again" wait_for 60 count_of_pids 2
ok "... and read" wait_for 30 grep -q 'node1: kernel: .*(two)' err
: >end
wait "$launcher"
is "... and says nothing twice" "$? $(evidence)" "1 [(one, 1), (two, 1)]"

# journalctl would end with its pipe, too; this one does not.
stand_in hangs <<'END'
exec sleep 1000
END
start muster -H node1:1 sleep 1000
launcher=$pid
wait_for 30 count_of_pids 1
journalctl=$(cat pids)
wait_for 30 grep -qsx sleep "/proc/$journalctl/comm"
agent=$(sed 's/.*) //' "/proc/$journalctl/stat" | cut -d ' ' -f 2)
is "its parent is the agent" "$(cat "/proc/$agent/comm")" muster-agent
kill -KILL "$agent"
ok "the agent is killed: no journalctl is left" wait_for 10 is_gone "$journalctl"
wait "$launcher" || :

rm -f pids
run muster exec -H node1,node2 true
is "exec does not look" "$rc $(complaints)" "0 "
ok "... at all" count_of_pids 0

# --- muster doctor

mkdir -p root/proc/sys/kernel
echo vm >root/proc/sys/kernel/hostname
MUSTER_TEST_ROOT=$PWD/root
MUSTER_TEST_JOURNAL=$PWD/journal.2
unset MUSTER_TEST_JOURNALCTL
export MUSTER_TEST_ROOT
echo 'EDAC MC0: 1 UE memory read error on DIMM' | "$writer" journal.2 --age 90000
echo 'EXT4-fs error (device nvme0n1p1): x' | "$writer" journal.2 --age 60
run muster doctor -H node1
ok "doctor reads the journal, too" grep -q 'the kernel has reported in the last day: .*file system' out
is "... of the last day" "$(grep -c 'in the last day.*memory' out)" 0
}
ok "nothing is left" no_leftovers
finish
