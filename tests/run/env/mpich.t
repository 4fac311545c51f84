#!/bin/sh
# Real MPICH programs run over 2 nodes x 2 without mpirun: muster speaks PMI-1.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need mpich
mpicc.mpich -o hello "$top_srcdir/contrib/examples/mpi_hello.c" 2>compile ||
    { ok "mpi_hello.c compiles" false; cat compile; finish; }

cat >cpi.c <<'END'
/* The integral that MPICH's own example takes, shared out over the ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    double part = 0, pi = 0;
    int    rank, size, i, n = 1000000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = rank; i < n; i += size) {
        double x = (i + 0.5) / n;
        part += 4 / (1 + x * x) / n;
    }
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pi %.8f of %d\n", pi, size);
    MPI_Finalize();
    return 0;
}
END
mpicc.mpich -o cpi cpi.c || { ok "cpi.c compiles" false; finish; }
cat >broken.c <<'END'
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && argc > 1)
        exit(0); /* without MPI_Finalize */
    if (rank == 2)
        MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
mpicc.mpich -o broken broken.c || { ok "broken.c compiles" false; finish; }

mpicc.mpich -w -O1 -o mpi "$top_srcdir/tests/programs/mpi.c" || { ok "mpi.c compiles" false; finish; }

four="-H node1:2,node2:2"
# shellcheck disable=SC2086
{
run muster $four ./hello
is "hello: 0" "$rc" 0
is "hello: every rank spoke" "$(grep -ciE 'rank|hello' out | awk '{ print ($1 >= 4) }')" 1
run muster --label none $four ./cpi
is "cpi: 0" "$rc" 0
is "cpi: the value, of 4" "$(cat out)" "pi 3.14159265 of 4"
# Both nodes are this machine, which UCX notices, and uses its memory.
run muster --label none -H node1:1,node2:3 ./cpi
is "cpi over uneven nodes" "$(cat out)" "pi 3.14159265 of 4"
run muster --label none -H node1:1,node2:2 ./mpi all
is "point to point, collectives, communicators, one-sided, files: 0" "$rc" 0
is "... all of them" "$(grep -c ': ok$' out) $(grep -vc ': ok$' out)" "$(./mpi | wc -l) 0"
run muster --label none -H node1:1 ./cpi
is "cpi alone" "$(cat out)" "pi 3.14159265 of 1"
run muster --grace 2 $four ./broken
is "MPI_Abort(9): 9" "$rc" 9
ok "... nothing is left" no_leftovers
run muster --grace 2 -H node1:2 ./broken early
is "an exit without MPI_Finalize is a failure" "$rc" 1
ok "... nothing is left" no_leftovers
}
finish
