#!/bin/sh
# Row 70b: muster collect, where the node is no agent: it gives absolute names, "..", files below a
# link, what nobody asked for, or it talks without end. Nothing is written outside its own folder.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# What must stay as it is: with names, modes, times and contents.
mkdir -p outside tree/d
echo precious >outside/f
echo new >tree/f
echo new >tree/d/f
outside() {
    (cd outside && find . -exec stat -c '%n %f %i %Y %Z %s' {} + | sort && cat f)
}
untouched=$(outside)

run muster collect -H node1 tree --to got
is "without the fault: 0" "$rc" 0
ok "... and all of it is there" diff -r tree got/node1/tree
is "... and nobody complains" "$(cat err)" ""

# giver CODE KIND [COMMAND...]: by that command.
giver() {
    code=$1
    kind=$2
    shift 2
    rm -rf got
    mkdir -p got/node1
    ln -s ../../outside got/node1/link
    run env FAKE="$kind" "$@" muster collect --agent "$here/hostile/tree_giver.py" -H node1 src \
        --to got
    is "$kind: exit status" "$rc" "$code"
    is "... outside nothing has changed" "$(outside)" "$untouched"
}
giver 0 good
is "set-uid is not taken over" "$(stat -c %a got/node1/src/f) $(cat got/node1/src/f)" "777 evil"
for kind in absolute dots dots-below below-a-sent-link below-nothing leaving-link device mode cut \
    list-unasked sum-of-another sum-not-next sums-unasked sum-cut file-unknown file-too-long \
    data-alone wants fails-silently; do
    giver 76 "$kind"
    ok "... the node is named" grep -q node1 err
    is "... nothing half is left" "$(find got -name '.muster*')" ""
done
giver 73 dir-is-link
ok "... is named" grep -q "got/node1/link: cannot make the directory: .*link" err
giver 0 file-is-link
is "... is replaced, not followed" "$(cat got/node1/link)" evil
giver 73 other-contents
ok "... is named" grep -q "src/f: cannot read: it changed" err
giver 73 file-gone
ok "... does not come" test ! -e got/node1/src/f
giver 76 floods python3 -c '
import resource, subprocess, sys
rc = subprocess.call(sys.argv[1:])
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(rc)'
at_most "... memory" 98304 "$(cat peak)"
ok "... what it says is cut" test "$(wc -c <err)" -lt 200000
ok "... and made harmless" not grep -q "$(printf '\033')" err
# As the node that has the files of a bcast
for kind in cut wants list-unasked fails-silently; do
    run env FAKE="$kind" muster bcast --agent "$here/hostile/tree_giver.py" -H node1 node1:src \
        --to got
    is "bcast from it, $kind: 76" "$rc" 76
done
# Another node, the second to begin, says HELLO while the answer to the last question is under way.
cat >other.py <<'END'
import json, os, struct, sys, time
print(sys.argv[2], flush=True)
hello = json.dumps({'protocol': 2, 'now_ns': time.monotonic_ns()}).encode()
os.write(1, struct.pack('>IBBHII', len(hello), 1, 0, 0, 1, 0) + hello)
open('other', 'w').close()
while len(head := sys.stdin.buffer.read(16)) == 16:
    size, number = struct.unpack('>IB', head[:5])
    sys.stdin.buffer.read(size)
    if number == 29:
        with open('order', 'a') as order:
            order.write('tree\n')
        break
END
script_file giver_and_other <<END
#!/bin/sh
! mkdir giver 2>/dev/null || exec "$here/hostile/tree_giver.py" "\$@"
until grep -qs last order; do sleep 0.01; done
exec python3 other.py "\$@"
END
run env FAKE=late-end muster bcast --fanout 1 --agent ./giver_and_other -H node1,node2 node1:src --to got
is "a node gets entries when all are known" "$(tr '\n' ' ' <order)" "last end tree "
ok "... and when it breaks off, it is named" test "$rc" != 139
rc=0
ended 0
finish
