# restart.sh - the part of run that is about restarts, under muster and under torchrun
# SPDX-License-Identifier: Apache-2.0

# One run in which a rank is killed ROUNDS times. By muster's own stamps: when the last old rank
# was gone, and when the first and the last new one was executed.
bench_restart() {
    count=${1:-8}
    each=${2:-8}
    netns_nodes "$count"
    try muster "$count" >/dev/null
    cat >"$work/rank" <<'END'
#!/bin/sh
[ "$MUSTER_GENERATION" -lt "$1" ] || exit 0
[ "$RANK" = 1 ] || exec sleep 1000
sleep 0.5
kill -KILL $$
END
    chmod +x "$work/rank"
    muster --ssh-config "$nodes_dir/ssh_config" --fanout "$count" -H "node[1-$count]:$each" \
        --max-restarts "$rounds" --restart-delay 0 --json "$work/end.json" \
        "$work/rank" "$rounds" >"$work/out" 2>"$work/err" || {
        cat "$work/err" >&2
        exit 1
    }
    python3 - "$work/end.json" "$count" "$each" <<'END'
import json, statistics, sys
run = json.load(open(sys.argv[1]))
all = run["generations"]
first = [b["first_start"] - a["last_end"] for a, b in zip(all, all[1:])]
last = [b["last_start"] - a["last_end"] for a, b in zip(all, all[1:])]
print("nodes ranks each   gone to first start   gone to last start   a new run to last start")
print(f"{sys.argv[2]:>5} {sys.argv[3]:>10} {statistics.median(first):10.3f} ({max(first):.3f})"
      f" {statistics.median(last):13.3f} ({max(last):.3f})"
      f" {all[0]['last_start'] - run['start']:18.3f}")
END
    if command -v torchrun >/dev/null; then
        restart_beside "$((count < 4 ? count : 4))"
    else
        echo "bench: no torchrun is here (Debian: python3-torch)" >&2
    fi
}

# The same training, contrib's example, under muster and torchrun, on so many nodes with two ranks each;
# by the ranks' own stamps, from the kill of one to the first instruction of the first and of the last
# new one.
restart_beside() {
    python=$(sed -n '1s/^#! *//p' "$(command -v torchrun)") # the same for all
    for tool in muster static c10d; do
        rm -rf "$work/stamps"
        mkdir "$work/stamps"
        "restart_$tool" "$1" || {
            echo "bench: restart under $tool failed:" >&2
            tail -n 20 "$work"/out.* >&2
            exit 1
        }
        restart_seconds "$tool" >>"$work/restarts"
    done
    awk 'BEGIN { print "\nnodes   kill to first start   kill to last start   x muster" }
        NR == 1 { muster = $3 }
        { printf "%5d %21.3f %20.3f %10.1f  %s\n", nodes, $2, $3, $3 / muster, $1 }
        ' nodes="$1" "$work/restarts"
}

restart_muster() {
    # PyTorch's settings as below; Debian 13 builds it without libuv, but leaves its use the default.
    muster --ssh-config "$nodes_dir/ssh_config" -H "node[1-$1]:2" --max-restarts "$rounds" \
        --restart-delay 0 --env USE_LIBUV=0 --env OMP_NUM_THREADS=1 \
        "$top/tests/bench/restart_rank.sh" "$work/stamps" "$rounds" "$python" >"$work/out.1" 2>&1
}

restart_static() {
    restart_torchrun "$1" --master_addr "$(node_address 1)" --master_port 29400
}

restart_c10d() {
    restart_torchrun "$1" --rdzv_backend c10d --rdzv_endpoint "$(node_address 1):29400" --rdzv_id 1
}

# One on each node. PyTorch 1.13 with Python 3.11 takes no other way to say "redirect nothing", which
# is its default.
restart_torchrun() {
    nodes=$1
    shift
    pids=
    node=1
    while [ "$node" -le "$nodes" ]; do
        ssh -F "$nodes_dir/ssh_config" "node$node" USE_LIBUV=0 OMP_NUM_THREADS=1 timeout 600 torchrun \
            --redirects 9:3 --tee 9:3 --nnodes "$nodes" --node_rank "$((node - 1))" \
            --nproc_per_node 2 --max_restarts "$rounds" "$@" --no_python \
            "$top/tests/bench/restart_rank.sh" "$work/stamps" "$rounds" "$python" \
            >"$work/out.$node" 2>&1 </dev/null &
        pids="$pids $!"
        node=$((node + 1))
    done
    failed=0
    for pid in $pids; do
        wait "$pid" || failed=1
    done
    [ "$failed" = 0 ]
}

# NAME, and the medians of both.
restart_seconds() {
    python3 - "$1" "$work/stamps" <<'END'
import glob, statistics, sys
def read(path):
    return [float(line) for line in open(path)]
began = [read(path) for path in glob.glob(sys.argv[2] + "/began.*")]
killed = read(sys.argv[2] + "/killed") + [float("inf")]
first, last = [], []
for kill, following in zip(killed, killed[1:]):
    new = [[t for t in times if kill < t < following] for times in began]
    first.append(min(map(min, new)) - kill)
    last.append(max(map(max, new)) - kill)  # a launcher may start some more than once
print(sys.argv[1], statistics.median(first), statistics.median(last))
END
}
