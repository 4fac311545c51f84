#!/bin/sh
# Data that is read once: ranks in C and in Python read the shards of a dataset, and are killed.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

PYTHONPATH=$top_srcdir/contrib/python
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1 # not beside the sources
read_shards=$top_builddir/tests/run/end/read_shards

# read.py RECORDS SHARD FILE DIES: as read_shards.c; one that does not die forks a second process.
cat >read.py <<'END'
import os, signal, sys
import muster
size, shard_size, file, dies = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
shards = muster.Shards("train", size, shard_size, shuffle=True, seed=5)
file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
child = os.fork() if dies == 0 else None
for count, shard in enumerate(shards, 1):
    if count == dies:
        os.kill(os.getpid(), signal.SIGKILL)
    if count == dies - 5:
        open("near-" + os.environ["MUSTER_GENERATION"], "w").close()
    os.write(file, f"{shard.start} {shard.end}\n".encode())
if child == 0:
    os._exit(0)
if os.waitpid(child, 0)[1] != 0:
    sys.exit(4)
END

# Ranks 0 and 2 are in C. Rank 1 dies in generation 0, rank 2 in generation 1; the others wait until
# that one has read some, so that it does not come too late.
script_file rank <<'END'
#!/bin/sh
case $MUSTER_GENERATION.$RANK in
0.1 | 1.2) dies=30 ;;
*) dies=0 ;;
esac
until [ "$dies" = 30 ] || [ "$MUSTER_GENERATION" = 2 ] || [ -e "near-$MUSTER_GENERATION" ]; do
    sleep 0.01
done
case $RANK in
0 | 2) exec "$1" train 19995 10 "shuffle=1 seed=5" seen $dies ;;
*) exec python3 read.py 19995 10 seen $dies ;;
esac
END

# seen FILE RECORDS: how many shards were written once, and more than once; and whether they are all
# records.
seen() {
    sort "$1" | uniq -c | sort -k2n | awk -v records="$2" '
        $2 != at { print "from " at " to " $2 "?" }
        { at = $3; if ($1 == 1) once++; else more++ }
        END { print once + more, at == records ? "all" : "not all"; print more + 0 >"more" }'
}

# told WORD: the number behind it in what muster says at the end.
told() {
    sed -n "s/^muster: shards of train: .*$1 \([0-9]*\).*/\1/p" err
}

run muster --json end.json --max-restarts 3 --restart-delay 0 --grace 2 -H node1:2,node2:2 ./rank "$read_shards"
is "two ranks are killed with a shard, and the third generation ends well" "$rc" 0
is "... two restarts" "$(grep -c 'start again' err)" 2
is "every record was read" "$(seen seen 19995)" "2000 all"
ok "... each shard was done once" grep -q \
    '^muster: shards of train: 2000 of 2000 done, 0 dropped; .* done by two ranks 0 times$' err
ok "... and those that were read twice were reported" \
    test "$(cat more)" -le "$(told 'given out again')"
ok "... which are those that ranks had when they ended" sh -c \
    'test "$1" -ge 2 && test "$1" -le 12' sh "$(told 'given out again')"

ok "... in the JSON, too" json_says end.json '[(s["name"], s["all"], s["done"], s["twice"])
    for s in d["shards"]] == [("train", 2000, 2000, 0)] and d["shards"][0]["repeated"] >= 2'

# muster itself is killed; another run goes on.
script_file slowly <<'END'
#!/bin/sh
[ "$MUSTER_GENERATION" = 0 ] || exec "$1" train 5000 10 "" again
mkfifo wait 2>/dev/null
"$1" train 5000 10 "" begun 200
read -r never <wait
END
start muster --name half -H node1:1 ./slowly "$read_shards"
ok "a run reads some" wait_for 20 sh -c 'test -e begun && test "$(wc -l <begun)" = 199'
state=$HOME/.local/state/muster/runs
ok "... which are in its directory soon" wait_for 20 sh -c \
    'test "$(cat "$0"/*/shards | grep -c ^done)" -ge 199' "$state"
started=$pid
run muster --shards-resume half -H node1:1 true
is "as long as it runs, no other run goes on with it" "$rc" 2
ok "... and it says why" grep -q -e '--shards-resume half: that run is still running' err
kill -KILL "$started"
ok "muster is killed, and its ranks with it" wait_for 20 nothing_left
run muster --shards-resume half -H node1:2 "$read_shards" train 5000 10 "" resumed
is "another run reads the rest" "$rc $(wc -l <resumed)" "0 301"
ok "... without a warning" not grep -q warning err
cat begun resumed >both
is "... so that every record was read" "$(seen both 5000)" "500 all"
is "... and each once" "$(cat more)" 0
# Killed before any rank has asked.
script_file late <<'END'
#!/bin/sh
[ "$MUSTER_GENERATION" = 0 ] || exec "$1" train 5000 10 "" rest
touch started
read -r never <wait
END
start muster --name early-shards --shards-resume half -H node1:1 ./late "$read_shards"
ok "a run that continues with shards starts" wait_for 20 test -e started
warned='run ([-0-9a-z]+) has already continued .*; --shards-resume=\1 reads only what it has left'
ok "... and says that another one did so before" wait_for 20 grep -Eq "warning: shards: $warned" err
kill -KILL "$pid"
ok "muster is killed" wait_for 20 nothing_left
run muster resume early-shards
is "muster resume reads what was left there, too" "$rc $(wc -l <rest)" "0 301"
run muster resume half
is "muster resume goes on with those of its own run" "$rc $(wc -l <again)" "0 301"
ok "... and says that another run did so before" grep -q 'has already continued from that state' err
cat begun again >both
is "... so that every record was read" "$(seen both 5000)" "500 all"
run muster -H node1:1 sh -c '"$1" train 50 10 "" some 4; exit 3' sh "$read_shards"
ok "a run that fails says how to read the rest" grep -qE \
    'shards of train: 3 of 5 done, .*; muster --shards-resume=[-0-9a-f]+ reads the rest$' err
run muster --shards-resume half -H node1:1 "$read_shards" train 5000 11 "" resumed
ok "other shards than in that run are refused" grep -q \
    'shards: dataset train had another size, shard, seed or shuffle in the run that this one' err
run muster --shards-resume nothing -H node1:1 true
is "a run that is not there: 2" "$rc" 2

# Rank 0 gets the first shard and says nothing until rank 1 has got it, too. Then rank 1 drops one.
cat >lease.py <<'END'
import os, sys, time
import muster
shards = muster.Shards("train", size=40, shard_size=10, lease=sys.argv[1], retries=1,
                       wait=True)
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)
if os.environ["RANK"] == "0":
    shard = shards.get()
    open("got", "w").close()
    wait_for("taken")
    print("late", shards.done(shard), shards.renew(shard), shard, flush=True)
    open("late", "w").close()
else:
    wait_for("got")
    while True:
        shard = shards.get()
        if shard.id == 0:
            break
        shards.done(shard)
    open("taken", "w").close()
    wait_for("late")
    print("fails", shards.fail(shard), shards.get())
    try:
        shards.done(muster.Shard({"id": 9, "start": 0, "end": 1, "epoch": 0, "tries": 0}))
    except muster.Error as error:
        print(error)
    try:
        muster.Shards("a b", size=1, shard_size=1)
    except muster.Error as error:
        print(error)
END
lease=$(stretched 1)
run muster --no_local_rank --label none -H node1:2 lease.py "$lease"
is "a lease expires, and another rank gets the shard" "$rc $(grep ^late out)" \
    "0 late False False Shard(id=0, start=0, end=10, epoch=0)"
ok "... which is said at once" grep -q \
    "shards of train: rank 0 has not reported on records 0 to 9 for $lease s: another rank" err
is "a shard that fails again is dropped" "$(grep ^fails out)" "fails True None"
ok "... and named" grep -q \
    'shards of train: records 0 to 9 of epoch 0 have failed 2 times: no rank gets them any more' err
ok "... the end tells both" grep -q \
    '3 of 4 done, 1 dropped; given out again 1 times (1 leases expired), done by two ranks 1 times' err
is "what muster refuses is an exception" "$(grep -v -e ^late -e ^fails out)" "$(printf '%s\n' \
    "shards: shard 9 of train was given to no rank" \
    "a value has a blank, an equals sign or a control character: $(sed -n 's/.*character: //p' out)")"
PMI_FD=0 python3 -c 'import muster
muster.Shards("a", 1, 1)' 2>alone
ok "... and so is a process that muster has not started" grep -q \
    'muster.Error: this process was not started by muster' alone

cat >gone.py <<'END'
import os, socket
ours, theirs = socket.socketpair()
os.environ.update(PMI_FD=str(ours.fileno()), MUSTER_RUN_ID="1")
theirs.close()
import muster
try:
    muster.Shards("a", 1, 1)
except muster.Error as error:
    print(error)
END
is "if muster has gone, that is its exception, too" "$(python3 gone.py 2>&1 | tail -n 1)" \
    "cannot send to muster (PMI_FD): Broken pipe"

if need_torch >/dev/null; then
    cat >torch_rank.py <<'END'
import muster, torch.utils.data
shards = muster.Shards("train", size=1000, shard_size=7)
data = muster.ShardDataset(shards, read=lambda record: 2 * record)
loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=2,
                                     multiprocessing_context="fork")
print(sorted(int(n) // 2 for batch in loader for n in batch) == list(range(1000)))
END
    run muster --no_local_rank --label none -H node1:1 torch_rank.py
    is "workers of PyTorch's DataLoader read each record once" "$rc $(cat out)" "0 True"
else
    skip "PyTorch's DataLoader" "torch is missing (Debian: apt-get install python3-torch)"
fi
run muster --no_ssh --node_rank 0 -H node1:1 "$read_shards" train 10 1 "" alone
ok "with --no_ssh there are none" grep -q 'muster exec and --no_ssh have no shards' err
ok "nothing is left" no_leftovers

# A connection breaks while ranks ask.
if need_sshd >/dev/null; then
    use_sshd 2
    . "$here/reconnect/reconnect.sh"
    # shellcheck disable=SC2086
    start muster $patient -H node1:1,node2:1 "$read_shards" train 100000 10 "" over
    ok "ranks read over SSH" wait_for 30 sh -c 'test -e over && test "$(wc -l <over)" -gt 500'
    break_connection node1
    finish_run 60
    is "a connection breaks, and is made again" "$rc $(grep -c 'node1: reconnected after' err)" "0 1"
    is "... and every record was read" "$(seen over 100000)" "10000 all"
    is "... once" "$(cat more)" 0
    ok "... and nothing is left" wait_for 5 nothing_left
else
    skip "shards over SSH" "sshd is missing"
fi

# What users build with. A sanitizer has to be in the program, too.
if nm -D "$top_builddir/client/libmuster.so.0" | grep -q -e __asan -e __ubsan; then
    skip "libmuster is installed" "it was built with a sanitizer"
    finish
fi
cat >user.c <<'END'
#include <muster.h>
#include <stdio.h>
int main(void)
{
    puts(muster_shards_open("a", 1, 1, NULL) == NULL ? muster_error() : "opened");
    return 0;
}
END
build_user() {
    make -s -C "$top_builddir/client" install DESTDIR="$PWD/root" >make.log 2>&1 &&
        library=$(find "$PWD/root" -name libmuster.so) && library=${library%/*} &&
        cc -o user user.c $(PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$library/pkgconfig \
            pkg-config --cflags --libs muster) &&
        LD_LIBRARY_PATH=$library ./user >said
}
ok "libmuster is installed, and pkg-config knows how to link with it" build_user
ok "... the shared one" sh -c 'readelf -d user | grep -q "NEEDED.*libmuster.so.0"'
is "... which shows what the header has" \
    "$(nm -D --defined-only "$library/libmuster.so.0" | sed -n 's/.* T \([a-z_]*\).*/\1/p' | sort)" \
    "$(grep -oE '\bmuster_[a-z_]+\(' "$top_srcdir/client/muster.h" | grep -v '()' | tr -d '(' | sort -u)"
is "... and works" "$(cat said)" "this process was not started by muster: it has no shards or steps"
finish
