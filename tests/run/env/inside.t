#!/bin/sh
# What a rank's process finds inside a PID namespace, and what others find of it: shared memory
# between ranks, inspection by process number from outside, its user's id.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

shared=/dev/shm/muster-inside-$tag
cat >rank.py <<'END'
import ctypes, mmap, os, time
mark = ctypes.create_string_buffer(b"rank " + os.environ["RANK"].encode() + b" was here")
file = open(os.environ["SHARED"], "r+b")
shared = mmap.mmap(file.fileno(), 2)
shared[int(os.environ["RANK"])] = 1
while shared[:] != b"\1\1":
    time.sleep(0.01)
child = os.fork()
if child == 0:
    os.execvp("sleep", ["sleep", "1000"])
print("pid", os.getpid(), os.readlink("/proc/self"), os.getuid(), "child", child,
      "mark", hex(ctypes.addressof(mark)), flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
os.kill(child, 15)
print("child ended by", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
END

# As py-spy does it: by number, and out of the other's memory.
cat >look.py <<'END'
import ctypes, sys
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
pid, address = int(sys.argv[1]), int(sys.argv[2], 16)
text = ctypes.create_string_buffer(15)
here, there = iovec(ctypes.addressof(text), 15), iovec(address, 15)
libc = ctypes.CDLL(None, use_errno=True)
if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != 15:
    sys.exit(f"process_vm_readv: errno {ctypes.get_errno()}")
print(text.raw.decode())
END

# The number outside of rank $1; a launcher or agent has no RANK in its environment.
outer_pid() {
    for environ in $(grep -lsz "^MUSTER_TEST_TAG=$tag\$" /proc/[0-9]*/environ); do
        pid_dir=${environ%/environ}
        grep -qz "^RANK=$1\$" "$environ" && grep -qa rank.py "$pid_dir/cmdline" && echo "${pid_dir#/proc/}"
    done 2>/dev/null
}

printf '\0\0' >"$shared"
start muster -v -H node1:2 --env "SHARED=$shared" --json end.json python3 rank.py
ok "ranks of a node share memory" wait_for 20 lines out 2
rm "$shared"
layers=$(sed -n 's/.*node1: containment //p' err)
for rank in 0 1; do
    read -r _ _ inner_pid proc_pid uid _ _ _ address <<END
$(grep "node1:$rank: " out)
END
    outer=$(outer_pid "$rank")
    is "rank $rank: its own /proc agrees with getpid()" "$proc_pid" "$inner_pid"
    is "... its user is who started muster" "$uid" "$(id -u)"
    is "... found from outside by its number there" "$(python3 look.py "$outer" "$address")" \
        "rank $rank was here"
    case $layers in
    *pidns*) ok "... which is another one" test "$outer" != "$inner_pid" ;;
    *) skip "... which is another one" "containment is $layers" ;;
    esac
    echo "$outer" >>pids
done
touch go
finish_run 20
is "exit status" "$rc" 0
ok "a rank signals and reaps its child as ever" test "$(grep -c 'child ended by -15' out)" = 2
is "the numbers in --json are those outside" \
    "$(json end.json '" ".join(str(r["pid"]) for r in d["results"])')" "$(tr '\n' ' ' <pids | sed 's/ $//')"
ok "nothing is left" no_leftovers

run muster -v --no-pidns -H node1:1 readlink /proc/self/ns/pid /proc/self/ns/user
is "--no-pidns: the namespaces are ours" "$rc $(tr '\n' ' ' <out)" \
    "0 $(readlink /proc/self/ns/pid /proc/self/ns/user | tr '\n' ' ')"
ok "... the rest contains the ranks" grep -q 'node1: containment .*+lease' err
cat >daemon.sh <<'END'
setsid sleep 1001 &
END
run muster --no-pidns -H node1:1 sh daemon.sh
ok "... and nothing is left" no_leftovers
finish
