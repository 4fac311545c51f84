/* mpi_hello.c - an MPI program that checks its own all-reduce
 *
 *     mpicc -o mpi_hello mpi_hello.c
 *     muster --hostfile=hostfile ./mpi_hello
 *
 * muster speaks PMI-1, so programs built with MPICH and its relatives run without
 * mpirun; those built with Open MPI do where the nodes have muster-pmix.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include <mpi.h>

#define COUNT 1000

int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int  rank, size, length, i, wrong = 0;
    int  mine[COUNT], sum[COUNT];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    printf("hello from rank %d of %d on %s\n", rank, size, name);

    for (i = 0; i < COUNT; i++)
        mine[i] = i + rank;
    MPI_Allreduce(mine, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < COUNT; i++)
        wrong += sum[i] != size * i + size * (size - 1) / 2;
    if (wrong > 0)
        printf("rank %d: %d of %d sums are wrong\n", rank, wrong, COUNT);
    else if (rank == 0)
        printf("all-reduce of %d ranks is right\n", size);

    MPI_Finalize();
    return wrong > 0;
}
