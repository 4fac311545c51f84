#!/bin/sh
# muster clean removes the files and control groups of earlier runs, and only shows who uses a GPU.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

# GPUs
mkdir dev
: >dev/nvidia0
sleep 1006 <dev/nvidia0 &
holder=$!
test_pids="$test_pids $holder"
wait_for 5 grep -qs sleep "/proc/$holder/cmdline"
MUSTER_AGENT=$test_agent MUSTER_TEST_GPU_GLOB="$PWD/dev/nvidia[0-9]*" clean --kill
is "a GPU that somebody uses is no leftover: 0" "$rc" 0
ok "... but shown" row "$holder" "in use +gpu 0"
ok "... and not ended" alive "$holder"
kill "$holder"

# What muster itself has left: files, and control groups, where they can be made
cache=$HOME/.cache/muster/$(printf '%064d' 0)
mkdir -p "$cache"
part=$cache/.$(printf '%032d' 7)
sending=$cache/.$(printf '%032d' 8)
echo x >"$part"
echo x >"$sending"
echo x >"$cache/muster-agent"
touch -d '1 hour ago' "$part" "$cache/muster-agent"
clean
is "a part of an agent: 1" "$rc $(grep -c "^node1 *left *file .*$part" out)" "1 1"
clean --kill
is "--kill: 0" "$rc" 0
ok "... the part is gone" not test -e "$part"
ok "... what is being sent, or used, is not" test -e "$sending" -a -e "$cache/muster-agent"

# A notice stays where its agent is killed. Notices are in /tmp, and a `muster clean --kill` of any
# other script would remove that one: so this is a /tmp of our own, with what we need of the real one.
mkdir /run/tmp
mount -t tmpfs tmpfs /run/tmp
for place in "$top_srcdir" "$top_builddir" "$tmp"; do
    case $place in
    /tmp/*) mkdir -p "/run$place" && mount --bind "$place" "/run$place" ;;
    esac
done
mount --move /run/tmp /tmp
cd "$tmp/work" || exit 1
script_file rank <<'EOF'
#!/bin/sh
echo "$MUSTER_NOTICE_FILE" >"notice.$RANK"
echo ready
while :; do sleep 0.1; done
EOF
start muster --name told -H node1:1,node2:1 --agent "$test_agent" --no_pidns ./rank
ok "a run" wait_for 20 all_ready
notice=$(cat notice.0)
muster drain --within 100 told node2 >told 2>&1
ok "... whose ranks have had a notice" wait_for 20 test -e "$notice"
clean
ok "while its agent lives it is no leftover" not grep -q muster-notice out
kill -KILL "$(pgrep -P "$pid" | head -n 1)"
finish_run 30
ok "the agent is killed: it stays" test -e "$notice"
# A child of the agent may end a moment later, and has the file's lock as well.
knows_it() {
    clean
    [ "$rc $(grep -c "^node1 *left *file .*$notice" out)" = "1 1" ]
}
ok "muster clean knows it: 1" wait_for 10 knows_it
clean --kill
ok "... and removes it" not test -e "$notice"
umount -l /tmp
cd "$tmp/work" || exit 1

umount /sys/fs/cgroup
groups=
for controller in unified freezer; do
    place=/sys/fs/cgroup/$controller
    [ -e "$place/cgroup.procs" ] || place=/sys/fs/cgroup
    mkdir "$place/test-$tag" 2>/dev/null && groups="$groups $place/test-$tag"
done
if [ -n "$groups" ]; then
    for group in $groups; do
        for number in 4711 4712 4713; do
            mkdir "$group/muster-$old-$number"
        done
        mkdir "$group/muster-x"
        sleep 1008 &
        member=$!
        test_pids="$test_pids $member"
        echo "$member" >"$group/muster-$old-4712/cgroup.procs"
        flock "$group/muster-$old-4713" sleep 1009 &
        test_pids="$test_pids $!"
        wait_for 5 not flock -n "$group/muster-$old-4713" true
    done
    clean --kill
    for group in $groups; do
        ok "a dead run's control group goes" \
            grep -Eq "^node1 +removed +group .* $group/muster-$old-4711" out
        is "... not one that is in use" "$(ls -d "$group"/muster-* | sed 's/.*-//' | tr '\n' ' ')" \
            "4713 x "
    done
    ok "... with what is in it, which nothing else tells of" grep -Eq \
        "^node1 +ended +process +$member .* $old +sleep 1008" out
    pkill -f 'sleep 1009'
    for group in $groups; do
        rmdir "$group"/muster-* "$group"
    done
else
    skip "a dead run's control group goes" "no control groups available"
fi
finish
