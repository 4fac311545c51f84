#!/bin/sh
# Beside row 56: one node of several has too little for its ranks, and that shows only when they are
# forked. No rank has run anywhere, and the limit is named.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<'END'
echo "rank $RANK"
END
hosts=$(seq -s, -f 'node%g:4' 8)
control 32 -H "$hosts" ./rank

# too_small WHAT LIMIT COMMAND...: COMMAND before muster makes a node too small.
too_small() {
    ran_reset
    small=$1
    limit=$2
    shift 2
    run "$@" muster --env FAULT=yes -H "$hosts" ./rank
    ended 73
    says "node[^ ]+ +prepare .*$limit"
    ok "$small: no rank was started anywhere" all_ran 0
}

# small_agent LIMIT: an agent that sets this limit on the first node that starts it.
small_agent() {
    rmdir small 2>/dev/null
    cat >small-agent <<EOF
#!/bin/sh
mkdir "$PWD/small" 2>/dev/null && $1
exec "${MUSTER_AGENT:-$top_builddir/agent/muster-agent}" "\$@"
EOF
    chmod +x small-agent
}

small_agent 'ulimit -f 0'
too_small "no file may have a byte" 'RLIMIT_FSIZE\) is 0 bytes' \
    env MUSTER_AGENT="$PWD/small-agent"
ran_reset
sh -c "ulimit -f 0; muster --env FAULT=yes -H '$hosts' ./rank; echo status \$?" 2>&1 | cat >err
says 'RLIMIT_FSIZE\) is 0 bytes' 'status 73'
ok "muster itself may write no file: no rank was started" all_ran 0
small_agent 'ulimit -n 38'
too_small "few descriptors" '4 ranks need [0-9]+ .*RLIMIT_NOFILE\) is 38' \
    env MUSTER_AGENT="$PWD/small-agent"

# All nodes are in one group: each sees that it has space for four, but not all of them do.
group=
for dir in $group_dirs "/sys/fs/cgroup/pids$(group_path pids)"; do
    dir=${dir%/}
    dir=${dir%/muster-test-"$tag"}/muster-pids-$tag
    if mkdir -p "$dir" && echo 34 >"$dir/pids.max"; then
        group=$dir
        break
    fi
    rmdir "$dir"
done 2>/dev/null
if [ -n "$group" ]; then
    too_small "few processes" 'pids.max\) is 34' \
        sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group"
    wait_for 5 rmdir "$group" 2>/dev/null
else
    skip "a control group with few processes" "needs root and the pids controller"
fi
finish
