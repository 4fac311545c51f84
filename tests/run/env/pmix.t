#!/bin/sh
# Real Open MPI programs run over 2 nodes x 2 without mpirun: muster-pmix speaks PMIx with them, on
# machines with networks of their own, and on two nodes that are one machine.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need open_mpi
own_namespaces
mount -t tmpfs none /dev/shm # without what other tests have there
use_netns 2
programs=$top_srcdir/tests/programs
# Other parts of Open MPI look for devices that a container shows and forbids.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self
# Both nodes have the same cores.
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TMPDIR="$PWD" # a rank alone leaves a directory there
open="--label none --env TMPDIR --env PATH=$top_builddir/pmix:$PATH"
compiles() {
    "$@" 2>compile || { ok "$* compiles" false; cat compile; finish; }
}
compiles mpicc.openmpi -o hello "$top_srcdir/contrib/examples/mpi_hello.c"
compiles mpicc.openmpi -w -O1 -o mpi "$programs/mpi.c"
# shellcheck disable=SC2046
compiles cc -o pmix "$programs/pmix.c" $(pkg-config --cflags --libs pmix)
cat >broken.c <<'EOF'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int      rank, known;
    MPI_Comm child;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "exit") == 0 && rank == 1)
        exit(0); /* without MPI_Finalize */
    if (strcmp(argv[1], "abort") == 0 && rank == 2)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(argv[1], "once") == 0 && rank == 3 && strcmp(getenv("TORCHELASTIC_RESTART_COUNT"), "0") == 0)
        raise(SIGKILL);
    if (strcmp(argv[1], "spawn") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        known = MPI_Comm_spawn("./hello", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                               &child, MPI_ERRCODES_IGNORE);
        printf("spawn %s\n", known == MPI_SUCCESS ? "works" : "is refused");
    }
    if (strcmp(argv[1], "wait") == 0 && rank == 0) {
        printf("waits\n");
        fflush(stdout);
    }
    if (strcmp(argv[1], "wait") == 0)
        pause();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
EOF
compiles mpicc.openmpi -w -o broken broken.c

shared_memory_is_empty() {
    [ -z "$(ls -A /dev/shm)" ]
}

# shellcheck disable=SC2086
{
run muster $open ./hello
is "an executable of Open MPI: 0" "$rc" 0
is "... of which four ranks are one world, on two hosts" \
    "$(grep -o 'rank . of 4 on node.' out | sort | tr '\n' '|')" \
    "rank 0 of 4 on node1|rank 1 of 4 on node1|rank 2 of 4 on node2|rank 3 of 4 on node2|"
run muster $open -H node1:8,node2:8 ./hello
is "sixteen ranks, eight on a node: 0" "$rc" 0
is "... are one world" "$(grep -o 'rank [0-9]* of 16 on node.' out | sort -u | wc -l)" 16
# Open MPI 4.1 has no one-sided MPI over TCP, and wrong errors: under its own mpirun, too.
known=$(./mpi | grep -Evx 'fence|passive|post_start|errors')
run muster $open -H node1:1,node2:3 ./mpi $known
is "uneven nodes; point to point, collectives, communicators, files: 0" "$rc" 0
is "... all of them" "$(sed 's/: ok$//' out)" "$known"
# shellcheck disable=SC2016
run muster $open sh -c 'test -z "$PMIX_NAMESPACE"; ./hello >/dev/null; exit 5'
is "started by a script: not seen before the start" "$rc" 5
ok "... the report says what to do" grep -q 'did not find each other: .* use --pmix' err
# shellcheck disable=SC2016
run muster $open --pmix sh -c './hello && test -z "$PMI_FD$PMI_RANK" && exit 0'
is "... with --pmix: 0" "$rc" 0
is "... one world" "$(grep -c 'rank . of 4 ' out)" 4
for bytes in 1 5000 1000000; do
    run muster $open --pmix ./pmix $bytes
    is "each rank has $bytes bytes of every other" "$rc $(grep -c ' 0 wrong$' out)" "0 4"
done
run muster $open --pmix ./pmix half
is "a fence of some ranks fails, one of all works" "$rc $(grep -c ' 0 wrong$' out)" "0 4"
run muster $open --pmix ./pmix direct
is "what no fence has collected is unknown elsewhere" "$rc $(grep -c ' 0 wrong$' out)" "0 4"
run muster $open --role a:3 ./hello : --role b ./hello
is "roles are worlds of their own" "$rc $(grep -c 'of 3 on' out) $(grep -c 'of 1 on' out)" "0 3 1"

run muster $open --grace 2 ./broken abort
is "MPI_Abort(9): 9" "$rc" 9
ok "... nothing is left" no_leftovers
run muster $open --grace 2 ./broken exit
is "an exit without MPI_Finalize is a failure" "$rc" 1
run muster $open ./broken spawn
is "MPI_Comm_spawn is refused, and says so" "$rc $(grep -c 'is refused' out)" "0 4"
run muster $open --max-restarts 1 ./broken once
is "a restart gets a server of its own: 0" "$rc" 0
ok "... after a kill" grep -q 'killed by SIGKILL' err
ok "no shared memory is left" shared_memory_is_empty

muster $open ./broken wait >waits 2>waits.err &
launcher=$!
wait_for 60 grep -q waits waits
server=$(leftovers | awk '$2 == "muster-pmix" { print $1; exit }')
kill -KILL "$server"
wait $launcher
is "muster-pmix is killed while ranks run: 126" $? 126
ok "... which is said" grep -Eq 'node. +running +muster-pmix: was killed by SIGKILL' waits.err
ok "... nothing is left" no_leftovers
ok "... nor shared memory" shared_memory_is_empty

rm waits # the shell behind & may empty it later than we look
muster $open --dead-after 5 ./broken wait >waits 2>waits.err &
launcher=$!
wait_for 60 grep -qs waits waits
pkill -KILL -f "^$nodes_dir/node1/home/.cache/muster" # we see no other processes
wait $launcher
wait_for 30 nothing_left
left=$(ls -A /dev/shm)
is "an agent is killed: its directory is left" "$(echo "$left" | grep -c '^muster-scratch-')" 1
run muster clean --kill --hosts node1
is "muster clean finds it" "$(grep -c "directory.*/dev/shm/$left" out)" 1
ok "... and removes it" shared_memory_is_empty
}

# The agent waits 20 s for it, in which the rest of this script goes on.
mkdir slow
printf '#!/bin/sh\nexec sleep 1000\n' >slow/muster-pmix
chmod +x slow/muster-pmix
# shellcheck disable=SC2086
muster $open --env "PATH=$PWD/slow:$PATH" -H node1:2 ./hello 2>slow/err &
slow=$!

# refuses SCRIPT [INTERPRETER]: muster-pmix is this script, else of a shell.
refuses() {
    mkdir -p other
    printf '#!%s\n%s\n' "${2:-/bin/sh}" "$1" >other/muster-pmix
    chmod +x other/muster-pmix
    # shellcheck disable=SC2086
    run muster $open --env "PATH=$PWD/other:$PATH" ./hello
}
refuses 'echo no such key >&2; exit 3'
is "muster-pmix that fails: 126" "$rc" 126
ok "... its last words are told" grep -q \
    'prepare  muster-pmix: has ended with status 3: no such key' err
refuses 'echo >&0; exec cat'
is "muster-pmix of another muster: 126" "$rc" 126
ok "... it says so" grep -q 'muster-pmix: does not speak as this muster does' err
refuses 'import socket, time
agent = socket.socket(fileno=0)
agent.recv(200000)
agent.shutdown(socket.SHUT_RD)
for rank in range(2):
    agent.send(b"{\"env\": []}")
time.sleep(1000)' "$(command -v python3)"
is "muster-pmix that takes no connections: 126" "$rc" 126
ok "... it says so" grep -q 'muster-pmix: does not take the connections of the ranks' err

# Two nodes that are one machine name their shared memory alike.
export MUSTER_TRANSPORT=exec
unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
# shellcheck disable=SC2086
{
run muster $open --env OMPI_MCA_btl_tcp_if_include=lo -H node1:2,node2:2 ./hello
is "two nodes on one machine: 0" "$rc" 0
is "... are one world" "$(grep -c 'rank . of 4 ' out)" 4
# shellcheck disable=SC2016
run unshare --mount sh -c 'for place in /tmp /dev/shm; do
    mount --bind $place $place && mount -o remount,bind,ro $place || exit 1
done
exec muster "$@"' sh $open -H node1:2,node2:2 ./hello
is "a node without a place for its directory: 126" "$rc" 126
ok "... it says so" grep -Eq \
    'prepare +muster-pmix: cannot make a directory in /tmp: Read-only file system' err
unset OMPI_MCA_mpi_yield_when_idle
# shellcheck disable=SC2016
run muster --label none --env "PATH=$top_builddir/pmix:$PATH" --pmix \
    -H "node1:$(($(nproc) + 1))" \
    sh -c 'echo "$OMPI_MCA_mpi_yield_when_idle $OMPI_MCA_btl_vader_backing_directory"'
is "ranks without a core each yield, with shared memory of their own" \
    "$(sed 's/scratch-......$/scratch/' out | sort -u)" "1 /dev/shm/muster-scratch"
# shellcheck disable=SC2016
run muster --label none --env "PATH=$top_builddir/pmix:$PATH" --pmix \
    --env OMPI_MCA_btl_vader_backing_directory=/x \
    --env PMIX_NAMESPACE=outer -H node1:1 \
    sh -c 'echo "$OMPI_MCA_mpi_yield_when_idle $OMPI_MCA_btl_vader_backing_directory" \
        "$(echo "$PMIX_NAMESPACE" | grep -c outer)"'
is "what the user has set stays, but for PMIx's own" "$(cat out)" " /x 0"
run muster $open --no_ssh --node_rank 0 --master_addr 127.0.0.1 --pmix -H node1:2,node2:2 ./hello
is "--no_ssh has no PMIx: 2" "$rc" 2
ok "... it says why" grep -q 'the agents would not know each other' err
}
wait $slow
is "muster-pmix that never begins: 126" $? 126
ok "... it says so" grep -Eq 'node1 +prepare +muster-pmix: is not ready after 20 s' slow/err
ok "... nothing is left" no_leftovers
ok "nothing is left" no_leftovers
finish
