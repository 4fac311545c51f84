#!/bin/sh
# hvd.init() finds the other ranks at a server of node 0's agent: of scripts that import horovod, and
# with --horovod of all others.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

script_file rank.py <<'END_RANK'
#!/usr/bin/env python3
import os

try:
    import horovod.torch as hvd
except ImportError:
    pass
print(*[name[8:] + "=" + os.environ[name] for name in sorted(os.environ)
        if name.startswith("HOROVOD_") and not name[8:].endswith(("RANK", "SIZE"))])
END_RANK
sed 's/horovod.torch/os/' rank.py >hidden.py
chmod +x hidden.py

# about SCRIPT OPTIONS...: the variables of the ranks, the port and the interface left out
about() {
    about_script=$1
    shift
    run muster -H node1:1,node2:1 --label none --no_python "$@" "$about_script"
    echo "$rc $(sed 's/PORT=[1-9][0-9]*/PORT=N/; s/IFACE=[^ ]*/IFACE=eth/' out | sort | tr '\n' '|')"
}
served='CONTROLLER=gloo CPU_OPERATIONS=gloo GLOO_IFACE=eth GLOO_RENDEZVOUS_ADDR=ADDR GLOO_RENDEZVOUS_PORT=N HOSTNAME=node'
addressed() {
    about "$@" | sed 's/ADDR=[0-9.]*/ADDR=ADDR/g'
}
is "a script that imports horovod" "$(addressed ./rank.py)" "0 ${served}1|${served}2|"
is "another gets nothing" "$(addressed ./hidden.py)" "0 ||"
is "... unless with --horovod" "$(addressed ./hidden.py --horovod)" "0 ${served}1|${served}2|"
is "... or horovodrun's --gloo" "$(addressed ./hidden.py --gloo)" "0 ${served}1|${served}2|"
is "a module" "$(mkdir -p pkg; cp rank.py pkg/train.py; run muster -H node1:1 --label none --no_local_rank --module pkg.train
    echo "$rc $(grep -c RENDEZVOUS out)")" "0 1"
is "a server that the user names is used" "$(about ./rank.py --env HOROVOD_GLOO_RENDEZVOUS_ADDR=te0)" \
    "0 GLOO_RENDEZVOUS_ADDR=te0|GLOO_RENDEZVOUS_ADDR=te0|"
is "his other variables stay" "$(about ./rank.py --env HOROVOD_CPU_OPERATIONS=ccl |
    grep -o 'CPU_OPERATIONS=[a-z]*' | sort -u)" CPU_OPERATIONS=ccl
run muster -H localhost:1 --label none --no_python ./rank.py
is "one machine: its loopback alone" "$rc $(grep -o 'IFACE.*ADDR=[0-9.]*' out)" \
    "0 IFACE=lo GLOO_RENDEZVOUS_ADDR=127.0.0.1"
run muster -H node1:1,node2:1 --per-node --no_python ./rank.py
is "--per-node: no rank is Horovod's" "$rc $(grep -c RENDEZVOUS out)" "0 0"
run muster --dry-run -H node1:1,node2:1 ./rank.py
ok "--dry-run says where they will meet" \
    grep -q "^Horovod's ranks meet there, too, at a free port of node 0's agent$" out
run muster -H node1:1,node2:1 --no_ssh --node_rank 0 --master_addr 127.0.0.1 --horovod ./rank.py
is "--no_ssh: 2, since the nodes cannot ask for the port" "$rc" 2
ok "... says what to write" grep -q -e '--horovod cannot be used together with --no_ssh: .*HOROVOD_GLOO_RENDEZVOUS_ADDR' err
run muster -H node1:1 --per-node --horovod ./rank.py
is "nor with --per-node: 2" "$rc" 2
run muster -H node1:1,node2:1 --master_addr fd00::1 --no_python ./rank.py
ok "an IPv6 address is said to be of no use" \
    grep -q "MASTER_ADDR is fd00::1, and Horovod's ranks find each other over IPv4 only" err

script_file where <<'END_WHERE'
#!/bin/sh
echo "$MUSTER_ROLE $HOROVOD_GLOO_RENDEZVOUS_PORT $HOROVOD_SIZE"
END_WHERE
run muster -H node1:2,node2:2 --label none --role a:2 --horovod ./where : --role b:1 --horovod ./where : --role c:1 ./where
is "each role has a server of its own, if it wants one" "$rc $(cut -d ' ' -f 1,3 out | sort | tr '\n' '|')" \
    "0 a 2|a 2|b 1|c 1|" # no port: two blanks
is "... at two ports" "$(cut -d ' ' -f 2 out | grep -c .) $(cut -d ' ' -f 2 out | grep . | sort -u | wc -l)" "3 2"

# Each generation has a server of its own, and none remains.
script_file twice <<'END_TWICE'
#!/bin/sh
echo "$HOROVOD_GLOO_RENDEZVOUS_ADDR $HOROVOD_GLOO_RENDEZVOUS_PORT" >>asked
[ "$MUSTER_GENERATION" = 1 ]
END_TWICE
run muster -H node1:1,node2:1 --horovod --max-restarts 1 ./twice
is "a restart" "$rc" 0
# called FILE: does any of these servers still answer?
cat >called.py <<'END_CALLED'
import socket, sys
for line in open("asked"):
    address, port = line.split()
    try:
        socket.create_connection((address, int(port)), 5)
        sys.exit("port %s still answers" % port)
    except OSError:
        pass
END_CALLED
ok "... and no port remains" python3 called.py

cat >silent.py <<'END_SILENT'
import os, sys
if os.environ["RANK"] == "0":
    print("  what():  [/x/horovod/common/gloo/memory_store.cc:52] Wait timeout after 30 seconds for key(s): 1.",
          file=sys.stderr)
    sys.exit(1)
END_SILENT
run muster -H node1:1,node2:1 --no_local_rank silent.py
ok "where it was not served: what to write" grep -q 'write muster --horovod$' err

need torch
export PYTHONDONTWRITEBYTECODE=1
run_limit=120
run muster -H node1:3,node2:1,node3:2 --label none --no_local_rank --env OMP_NUM_THREADS=1 \
    "$top_srcdir/tests/programs/horovod_client.py"
is "Gloo connects in all three scopes, with other numbers of slots" "$rc $(sort out | tr '\n' '|')" \
    "0 rank 0: sums 15 3 7|rank 1: sums 15 3 6|rank 2: sums 15 3 2|rank 3: sums 15 3 7|rank 4: sums 15 9 7|rank 5: sums 15 9 6|"

cat >train.py <<'END_TRAIN'
import torch
import horovod.torch as hvd

hvd.init()
for _ in range(2):
    total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum, name="total")
    print("rank", hvd.rank(), "of", hvd.size(), "local", hvd.local_rank(), "cross", hvd.cross_rank(),
          "sum", int(total.item()))
    hvd.shutdown()
    hvd.init()  # the addresses of the first time must be gone
END_TRAIN
if python3 -c 'import horovod.torch' 2>/dev/null; then
    run muster -H node1:1,node2:3 --label none --no_local_rank --env OMP_NUM_THREADS=1 train.py
    is "Horovod itself" "$rc $(sort out | uniq -c | sed 's/^ *//' | tr '\n' '|')" \
        "0 2 rank 0 of 4 local 0 cross 0 sum 6|2 rank 1 of 4 local 0 cross 1 sum 6|2 rank 2 of 4 local 1 cross 0 sum 6|2 rank 3 of 4 local 2 cross 0 sum 6|"
else
    skip "Horovod itself" "python3 cannot import horovod.torch"
fi
ok "nothing is left" no_leftovers
finish
