#!/bin/sh
# Programs of Open MPI would run as many worlds of one rank each, and end with 0, on nodes without
# muster-pmix (pmix.t has it): refused if they are executables; ended, or failed at the end, if only
# a script or an interpreter loads it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

command -v cc >/dev/null || skip_all "no C compiler here"

# What the linker and the loader see of Open MPI: libraries of these names. A further library is
# there instead of what MPI_Init() maps: components, since version 5 shared memory.
echo 'int MPI_Init(void) { return 0; }' >mpi.c
cat >program.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Init(void);

int main(int argc, char **argv)
{
    MPI_Init();
    if (argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL)
        return 9;
    while (access("seen", F_OK) != 0)
        usleep(20000);
    return 0;
}
END
mkdir new old
library() {
    cc -shared -fPIC -o "$1" -Wl,-soname,"${1##*/}" mpi.c
}
segment=new/sm_segment.node1.0.591e0000.0
library new/libmpi.so.40 && library $segment &&
    library old/libopen-rte.so.40 && library old/mca_ess_singleton.so &&
    cc -shared -fPIC -o old/libmpi.so.40 -Wl,-soname,libmpi.so.40 mpi.c -Wl,--no-as-needed \
        "-Wl,-rpath,$PWD/old" old/libopen-rte.so.40 &&
    cc -o program program.c new/libmpi.so.40 "-Wl,-rpath,$PWD/new" -ldl &&
    cc -o program4 program.c old/libmpi.so.40 "-Wl,-rpath,$PWD/old" -ldl &&
    library libmpi.so.12 &&
    cc -o mpich program.c libmpi.so.12 "-Wl,-rpath,$PWD" -ldl ||
    { ok "the programs compile" false; finish; }
: >seen

two="-H node1:2,node2:2"
# shellcheck disable=SC2086
{
run muster $two ./program
is "an executable of Open MPI: 126" "$rc" 126
ok "... is named once, with the library" grep -Eq \
    'node\[1-2\] +prepare +./program is linked with Open MPI \(libmpi.so.40\)' err
ok "... with what to do" grep -q 'hint: node\[1-2\]: install muster there, built with libpmix' err
ok "... and how to start it nevertheless" grep -q \
    'each rank should run alone, use --allow-open-mpi' err
run muster $two --allow-open-mpi ./program
is "--allow-open-mpi: 0" "$rc" 0
run muster -H node1:1 ./program
is "one rank is a world: 0" "$rc" 0
run muster exec -H node1:1,node2:1 "$PWD/program"
is "exec starts no world: 0" "$rc" 0
run muster $two ./mpich
is "libmpi.so.12 is another MPI: 0" "$rc" 0
is "... and nobody complains" "$(complaints)" ""

# until_seen ARGUMENTS...: the ranks end when their first one was looked at several times.
until_seen() {
    rm -f seen
    (sleep "$(stretched 0.4)" && : >seen) &
    run muster $two "$@"
}
until_seen sh -c 'exec ./program'
is "started by a script, but does not begin MPI, as PyTorch: 0" "$rc" 0
is "... and not a word" "$(complaints)" ""
until_seen --heartbeat 60 --dead-after 300 sh -c "exec ./program $segment"
is "begins MPI, and all ranks end well: 126" "$rc" 126
ok "... which says why, and what to do" grep -q \
    '^muster: the ranks used Open MPI (libmpi.so.40) and did not .*use --pmix' err
is "... in one line" "$(complaints | wc -l)" 1
until_seen --heartbeat 60 --dead-after 300 sh -c "./program $segment; exit 3"
is "a rank that fails: its status" "$rc" 3
ok "... and the reason is told" grep -q '^muster: the ranks used Open MPI' err
until_seen --allow-open-mpi sh -c "exec ./program $segment"
is "--allow-open-mpi, and a script: 0" "$rc" 0
is "... and not a word" "$(complaints)" ""
until_seen sh -c 'exec ./program4'
is "linked with it, but does not begin MPI: 0" "$rc" 0
is "... and not a word" "$(complaints)" ""
until_seen sh -c 'PMIX_NAMESPACE=4711@1 ./program4 old/mca_ess_singleton.so; exit'
is "ranks that start Open MPI's own mpirun: 0" "$rc" 0
rm -f seen
run muster --heartbeat 0.2 $two sh -c './program4 old/mca_ess_singleton.so; exit'
is "a script's child that begins MPI ends the run: 126" "$rc" 126
ok "... on the first node" grep -Eq 'node1 +running +the ranks use Open MPI \(libmpi.so.40\)' err
ok "... with what to do" grep -q 'hint: node1: use --pmix' err
}
ok "nothing is left" no_leftovers
finish
