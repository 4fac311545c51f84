# metrics.sh - the part of run that is about a run whose metrics somebody asks for all the time
# SPDX-License-Identifier: Apache-2.0

metrics_nodes=16
metrics_ranks=4      # on each
metrics_lines=100000 # of 100 bytes: 10 MB a rank
metrics_rate=100     # questions a second

# The same output without metrics, with metrics for which nobody asks, and with a reader that asks;
# in turn.
bench_metrics() {
    netns_nodes "$metrics_nodes"
    awk -v n="$metrics_lines" 'BEGIN { for (i = 0; i < n; i++) printf "%099d\n", i }' >"$work/lines"
    try muster "$metrics_nodes" >/dev/null
    round=0
    while [ "$round" -lt "$rounds" ]; do
        for way in without served asked; do
            metrics_run "$way"
        done
        round=$((round + 1))
    done
    printf '%-8s %9s %8s %10s %9s %10s %12s\n' metrics seconds MB/s "x without" "CPU s" \
        "x without" "answers a s"
    for way in without served asked; do
        echo "$way $(median 1 "$work/time.$way") $(ratio "$way" without)" \
            "$(median 4 "$work/time.$way") $(metrics_cpu_ratio "$way")" \
            "$([ "$way" != asked ] && echo 0 || median 1 "$work/answers")" |
            awk -v bytes="$((metrics_nodes * metrics_ranks * metrics_lines * 100))" '
                { printf "%-8s %9.3f %8.0f %10s %9.3f %10s %12.0f\n",
                    $1, $2, bytes / $2 / 1e6, $3, $4, $5, $6 }'
    done
}

# metrics_run without|served|asked
metrics_run() {
    way=$1
    set -- --ssh-config "$nodes_dir/ssh_config" --fanout "$metrics_nodes" --no_python \
        --no_local_rank -H "node[1-$metrics_nodes]:$metrics_ranks"
    [ "$way" = without ] || set -- --metrics-listen "$work/socket" "$@"
    reader=
    if [ "$way" = asked ]; then
        python3 "$top/tests/bench/metrics_reader.py" "$work/socket" "$metrics_rate" \
            >>"$work/answers" &
        reader=$!
    fi
    measure muster "$@" cat "$work/lines" 3>>"$work/time.$way" 2>"$work/err" | cat >"$work/out"
    [ -z "$reader" ] || wait "$reader"
    [ "$(wc -l <"$work/out")" -eq $((metrics_nodes * metrics_ranks * metrics_lines)) ] || {
        echo "bench: the run has not delivered every line:" >&2
        tail -n 20 "$work/err" >&2
        exit 1
    }
}

metrics_cpu_ratio() {
    cut -d' ' -f4 "$work/time.without" >"$work/cpu.without"
    cut -d' ' -f4 "$work/time.$1" | paste -d' ' - "$work/cpu.without" |
        awk '{ printf "%.3f\n", $1 / $2 }' >"$work/ratios"
    median 1 "$work/ratios"
}
