#!/bin/sh
# muster-train check: four ranks over two nodes find each other, and what is wrong is found.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

need trainer
run muster-train check --backend gloo -n 1 barrier
if grep -q 'built without Gloo' err; then
    skip_all "muster-train was built without Gloo"
fi

# check OPTIONS...: on 2 nodes x 2. prepared SCRIPT: the same, with a shell before it.
check() {
    run muster --label none --grace 2 -H node1:2,node2:2 muster-train check "$@"
}
prepared() {
    script=$1
    shift
    run muster --label none --grace 2 -H node1:2,node2:2 \
        sh -c "$script"'; exec muster-train check "$@"' sh "$@"
}

# The rows of one collective, without their headings.
rows() {
    awk -v name="$1" '$1 == "#" { on = $2 == name } $1 != "#" && on' out
}

run muster check --grace 2 -H node1:2,node2:2 --quick
is "it passes" "$rc" 0
is "nobody complains" "$(complaints)" ""
ok "the verdict comes first" sh -c \
    "head -n 1 out | grep -Eq '^check passed: 4 ranks on 2 nodes, (gloo|nccl), 0 wrong elements, '"
is "then the layers, all well" "$(sed -n '2,/^arrival/p' out | awk '/^[a-z]/ { print $1, $2 }' | tr '\n' ' ')" \
    "preflight ok reach ok connect ok values ok pairs ok collectives ok arrival ok "
ok "it fits one screen" test "$(wc -l <out)" -le 25
run muster check -H node1 --quick --full
is "--quick and --full: 2" "$rc" 2
ok "... are named" grep -q 'quick and --full' err

check --nccl-tests
is "--nccl-tests passes" "$rc" 0
ok "the last line sums up" sh -c \
    "tail -n 1 out | grep -Eq '^# check passed: 4 ranks on 2 nodes, (gloo|nccl), .* 0 wrong elements'"
is "the columns are those of nccl-tests" "$(sed -n 's/^#  *size  *//p' out | tr -s ' ')" \
    "count type redop root time algbw busbw #wrong time algbw busbw #wrong"
is "each row has them all" "$(awk '$1 != "#" { print NF }' out | sort -u)" 13
is "its footer is that of nccl-tests" "$(sed -n 's/^# \(Out of bounds values\) : 0 OK$/\1/p; s/^# \(Avg bus bandwidth\) .*/\1/p' out)" \
    "Out of bounds values
Avg bus bandwidth"
rest="512 32768 2097152 4194304 "
for name in broadcast sendrecv all_reduce; do
    is "$name: up to 4M" "$(rows $name | awk '{ print $1 }' | tr '\n' ' ')" "8 $rest"
done
for name in all_gather reduce_scatter alltoall; do # at least one element for each rank
    is "$name: up to 4M" "$(rows $name | awk '{ print $1 }' | tr '\n' ' ')" "16 $rest"
done
is "barrier: one row" "$(rows barrier | wc -l)" 1
is "nothing is wrong" "$(awk '$1 != "#" { wrong += $9 + $13 } END { print wrong + 0 }' out)" 0
run muster --label rank -H node1:2,node2:2 muster-train check --nccl-tests -n 1 -e 8
is "only rank 0 speaks" "$(sed 's/^\[\([0-9]*\)\].*/\1/' out | sort -u)" 0

check -n 1 -e 64K --json result.json
is "--json: all is well" "$(json result.json "d['ok'], d['ranks'], d['nodes'], d['wrong']")" \
    "(True, 4, 2, 0)"
is "--json: who is where" "$(json result.json "[(r['rank'], r['node']) for r in d['rank']]")" \
    "[(0, 0), (1, 0), (2, 1), (3, 1)]"
is "--json: busbw of all_reduce is 2 (n - 1) / n of algbw" \
    "$(json result.json "all(abs(r['busbw'] - 1.5 * r['algbw']) < 1e-5 for r in d['results']
        if r['collective'] == 'all_reduce')")" True
check -n 1 -e 64K --json -
is "--json - is standard output" "$(json out "d['ok']")" True
ok "... and the text is on standard error" grep -q '^check passed' err

for dtype in int8 half bfloat16 double int64; do
    check -n 1 -b 7 -e 70001 -f 100 -d $dtype -o prod all_reduce reduce_scatter
    is "$dtype prod" "$rc" 0
    check --nccl-tests -n 1 -b 7 -e 70001 -f 100 -d $dtype
    is "$dtype sum" "$rc" 0
done

prepared "MUSTER_TEST_CORRUPT_RANK=2; export MUSTER_TEST_CORRUPT_RANK" -n 1 -e 512
is "one wrong element: 1" "$rc" 1
ok "... is the verdict" grep -q '^check FAILED at values: ' out
ok "... and whose it is" grep -Eq '^  rank 2 on .*: all_reduce, 8 bytes of float: 1 wrong' out
prepared "MUSTER_TEST_CORRUPT_RANK=2; export MUSTER_TEST_CORRUPT_RANK" --nccl-tests -n 1 -e 512
is "one wrong element: 1" "$rc" 1
ok "... the rank and the element are named" \
    grep -Eq 'rank 2 on .*: all_reduce, 8 bytes of float: 1 wrong, the first is element 0: got' err
is "... it is counted where it is" "$(rows all_reduce | awk '{ print $9, $13 }' | tr '\n' ' ')" "1 1 1 1 "
ok "... and at the end" grep -q '^# check FAILED: .* 4 wrong elements' out

check --frobnicate
is "an unknown option: 2" "$rc" 2
ok "... is named" grep -q 'unknown option --frobnicate' err

prepared "WORLD_SIZE=8"
is "ranks that are missing: 5" "$rc" 5
ok "... is said" grep -q 'has WORLD_SIZE=8, but 4 ranks are here' out
is "... once" "$(grep -c 'WORLD_SIZE=' out)" 1
prepared "unset PMI_FD"
is "four runs of one rank that think they are one: 5" "$rc" 5
ok "... is said" grep -q 'has WORLD_SIZE=4, but 1 rank is here' out
prepared "LOCAL_RANK=0"
is "two ranks in one place: 5" "$rc" 5
ok "... both are named" grep -Eq 'rank 0 on .* and rank 1 on .* both have local rank 0' out

prepared "GLOO_SOCKET_IFNAME=nope0; export GLOO_SOCKET_IFNAME" --backend gloo
is "an interface that is not there: 3" "$rc" 3
ok "... is named" grep -q 'GLOO_SOCKET_IFNAME=nope0: no such interface' out
# shellcheck disable=SC2016
prepared '[ "$RANK" != 3 ] || exec sleep 1000' -T 1
is "a rank that never comes: 4" "$rc" 4
ok "... is said" grep -q 'not all 4 ranks arrived within 1 s' out
ok "... and which" grep -q 'within 1 s: rank 3 on this node did not' err
run muster check --grace 2 -H node1,node2 -- -T 1 --frobnicate
is "what follows -- is for the check" "$rc" 2
ok "nothing is left" no_leftovers

run muster-train check -n 1
is "alone it is a world of one rank" "$rc" 0
ok "... and says why busbw is 0" grep -q 'with one rank no data is sent, so busbw' out
# without_name COMMAND...: where the host's own name stands for nothing.
without_name() {
    run unshare --uts sh -c 'echo nobody.invalid >/proc/sys/kernel/hostname
        exec "$@"' sh "$@"
}
if unshare --uts true 2>/dev/null; then
    without_name muster-train check --backend gloo -n 1 barrier
    is "... also where the host's own name stands for nothing" "$rc" 0
    without_name env MASTER_ADDR=nobody.invalid muster-train check --backend gloo -n 1 barrier
    is "... and MASTER_ADDR is that name" "$rc" 0
    without_name muster -H node1:2 env -u MASTER_ADDR -u GLOO_SOCKET_IFNAME \
        muster-train check --backend gloo -n 1 barrier
    is "two ranks there, which nobody has told an address" "$rc" 0
else
    skip "... also where the host's own name stands for nothing" "needs root, for a name of its own"
fi
run sh -c 'exec muster-train check -n 1 >/dev/full'
is "a table that cannot be written: 2" "$rc" 2
run muster-train
is "no program: 2" "$rc" 2
run muster-train --version
ok "--version" grep -q '^muster-train [0-9]' out
run muster-train check --help
ok "check --help tells the exit statuses" grep -q '^Exit status' out
finish
