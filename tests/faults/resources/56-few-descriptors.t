#!/bin/sh
# Row 56: fewer file descriptors than 32 nodes need. The soft limit is raised; a hard one is found
# before anything starts, with the number that it takes. So it is on a node, for its descriptors
# and its processes.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

hosts='node[01-32]:1'
rank_does <<'END'
echo "rank $RANK"
END
control 32 -H "$hosts" ./rank
ran_reset
run sh -c "ulimit -Sn 24; exec muster -H '$hosts' --env FAULT=yes ./rank"
is "a soft limit of 24 is raised" "$rc $(sort -u out | wc -l)" "0 32"
ran_reset
began=$(now_ms)
run sh -c "ulimit -n 24; exec muster -H '$hosts' --env FAULT=yes ./rank"
now_ms >ended_ms
within "a hard one: muster returns" 0.5 "$began"
ended 73
says '32 nodes need [0-9]+ file descriptors.*limit is 24.*ulimit'
ok "no rank was started" all_ran 0
# The number it names is enough.
enough=$(sed -n 's/.*need \([0-9]*\) file.*/\1/p' err)
run sh -c "ulimit -n $enough; exec muster -H '$hosts' --env FAULT=yes ./rank"
is "with as many as it says" "$rc $(sort -u out | wc -l)" "0 32"

# too_many LIMIT COMMAND...: 100 ranks on one node do not fit, with that limit.
too_many() {
    ran_reset
    limit=$1
    shift
    run "$@" muster --cwd "$PWD" --env FAULT=yes -H node1:100 ./rank
    ended 73
    says 'node1 +prepare +100 ranks' "$limit"
    ok "... and no rank was started" all_ran 0
}

too_many '100 ranks need [0-9]+ file descriptors, but the limit \(RLIMIT_NOFILE\) is 200' prlimit --nofile=200:200
# A group without a limit of its own, in one that may have 60 processes: as a login session is in
# its user's slice.
pids_group() {
    for dir in $group_dirs "/sys/fs/cgroup/pids$(group_path pids)"; do
        dir=${dir%/}
        dir=${dir%/muster-test-"$tag"}/muster-pids-$tag
        mkdir -p "$dir/inner" || continue
        echo 60 >"$dir/pids.max" && echo "$dir" && return
        rmdir "$dir/inner" "$dir"
    done 2>/dev/null
    return 1
}
if pids=$(pids_group); then
    too_many 'control group .*the limit \(pids.max\) is 60' \
        sh -c 'echo $$ >"$0/inner/cgroup.procs" && exec "$@"' "$pids"
    wait_for 5 rmdir "$pids/inner" 2>/dev/null
    rmdir "$pids"
else
    skip "a control group with few processes" "needs root and the pids controller"
fi
if need_user >/dev/null && chmod 711 "$tmp" "${tmp%/*}" && chmod 777 . &&
    setpriv --reuid 65534 test -x "$top_builddir/agent/muster-agent"; then
    too_many 'this user has [0-9]+ processes and threads, the limit \(RLIMIT_NPROC\) is 60' \
        setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD" prlimit --nproc=60:60
else
    skip "a user with few processes" "needs root, setpriv and a build that others can read"
fi
finish
