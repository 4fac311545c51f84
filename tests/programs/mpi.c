/* mpi.c - small MPI programs of every family, in one file
 *
 *     mpi NAME...    run these of them, one after the other
 *     mpi all        run all
 *
 * Each computes something of which every rank knows what must come out, for any number of ranks
 * from two on. Rank 0 prints "NAME: ok", or "NAME: N wrong" and the exit status is 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (1 << 20) /* ints: beyond every eager limit */
#define PAGE  4096      /* bytes of a window: MPICH 4.0 confuses smaller ones */

static int      rank, size;
static MPI_Comm world;

/* ---- point to point ---- */

static int ring(void)
{
    int sum = 0;

    if (rank > 0)
        MPI_Recv(&sum, 1, MPI_INT, rank - 1, 7, world, MPI_STATUS_IGNORE);
    sum += rank;
    MPI_Send(&sum, 1, MPI_INT, (rank + 1) % size, 7, world);
    if (rank == 0)
        MPI_Recv(&sum, 1, MPI_INT, size - 1, 7, world, MPI_STATUS_IGNORE);
    return rank == 0 && sum != size * (size - 1) / 2;
}

/* Everybody to everybody, the sends synchronous. */
static int pairs(void)
{
    MPI_Request *request = malloc(2 * (size_t)size * sizeof *request);
    int         *in = calloc((size_t)size, sizeof *in), out = rank * 3, i, wrong = 0;

    for (i = 0; i < size; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, i, rank, world, &request[i]);
        MPI_Issend(&out, 1, MPI_INT, i, i, world, &request[size + i]);
    }
    MPI_Waitall(2 * size, request, MPI_STATUSES_IGNORE);
    for (i = 0; i < size; i++)
        wrong += in[i] != i * 3;
    free(request);
    free(in);
    return wrong;
}

/* Messages of unknown size from anybody. */
static int probe(void)
{
    int        buffer[256], count, i, from = 0, wrong = 0;
    MPI_Status status;

    for (i = 0; i < 256; i++)
        buffer[i] = rank;
    if (rank > 0)
        MPI_Send(buffer, rank * 5 % 256, MPI_INT, 0, rank, world);
    for (i = 1; i < size && rank == 0; i++) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        wrong += count != status.MPI_SOURCE * 5 % 256 || status.MPI_TAG != status.MPI_SOURCE;
        MPI_Recv(buffer, 256, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, world, &status);
        wrong += count > 0 && buffer[count - 1] != status.MPI_SOURCE;
        from += status.MPI_SOURCE;
    }
    return wrong + (rank == 0 && from != size * (size - 1) / 2);
}

/* Heat in a rod, the ends of each part exchanged: the sum stays. */
static int halo(void)
{
    double cell[12], next[12], sum = 0, total;
    int    left = rank > 0 ? rank - 1 : MPI_PROC_NULL, i, step;
    int    right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

    for (i = 0; i < 12; i++)
        cell[i] = i == 5 ? 64 : 0;
    for (step = 0; step < 20; step++) {
        cell[0] = cell[1];
        cell[11] = cell[10];
        MPI_Sendrecv(&cell[10], 1, MPI_DOUBLE, right, 1, &cell[0], 1, MPI_DOUBLE, left, 1, world,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&cell[1], 1, MPI_DOUBLE, left, 2, &cell[11], 1, MPI_DOUBLE, right, 2, world,
                     MPI_STATUS_IGNORE);
        for (i = 1; i <= 10; i++)
            next[i] = cell[i] + (cell[i - 1] - 2 * cell[i] + cell[i + 1]) / 4;
        memcpy(&cell[1], &next[1], 10 * sizeof *cell);
    }
    for (i = 1; i <= 10; i++)
        sum += cell[i];
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, world);
    return total < 64 * size - 1e-6 || total > 64 * size + 1e-6;
}

static int persistent(void)
{
    int         out = 0, in = -1, round, wrong = 0;
    MPI_Request request[2];

    MPI_Send_init(&out, 1, MPI_INT, (rank + 1) % size, 3, world, &request[0]);
    MPI_Recv_init(&in, 1, MPI_INT, (rank + size - 1) % size, 3, world, &request[1]);
    for (round = 0; round < 50; round++) {
        out = rank * 1000 + round;
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        wrong += in != (rank + size - 1) % size * 1000 + round;
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    return wrong;
}

static int large(void)
{
    int *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in), i, wrong = 0;
    int  from = (rank + size - 1) % size;

    for (i = 0; i < LARGE; i++)
        out[i] = i ^ rank;
    MPI_Sendrecv(out, LARGE, MPI_INT, (rank + 1) % size, 1, in, LARGE, MPI_INT, from, 1, world,
                 MPI_STATUS_IGNORE);
    for (i = 0; i < LARGE; i++)
        wrong += in[i] != (i ^ from);
    free(out);
    free(in);
    return wrong;
}

/* A column of a matrix arrives as a row. */
static int datatypes(void)
{
    int          matrix[8][8], row[8], i, wrong = 0, from = (rank + size - 1) % size;
    MPI_Datatype column;

    for (i = 0; i < 64; i++)
        matrix[i / 8][i % 8] = rank * 100 + i;
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(&matrix[0][3], 1, column, (rank + 1) % size, 1, row, 8, MPI_INT, from, 1, world,
                 MPI_STATUS_IGNORE);
    for (i = 0; i < 8; i++)
        wrong += row[i] != from * 100 + i * 8 + 3;
    MPI_Type_free(&column);
    return wrong;
}

/* ---- collectives ---- */

static int reduce(void)
{
    struct {
        double value;
        int    where;
    } mine = { (rank * 7) % 5 + rank * 1e-3, rank }, least;
    int one = 1, many = 0, product = rank % 3 + 1, all = 0, i, right = 1, root;

    for (root = 0; root < size; root++)
        MPI_Bcast(root == rank ? &one : &many, 1, MPI_INT, root, world);
    MPI_Reduce(&one, &many, 1, MPI_INT, MPI_SUM, size - 1, world);
    MPI_Allreduce(&product, &all, 1, MPI_INT, MPI_PROD, world);
    MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, world);
    for (i = 0; i < size; i++)
        right *= i % 3 + 1;
    return (rank == size - 1 && many != size) + (all != right) + (least.where != 0);
}

/* 2 x 2 matrices do not commute. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *a = in, *b = inout, c[4], i;

    (void)type;
    for (i = 0; i < *count; i++, a += 4, b += 4) {
        c[0] = a[0] * b[0] + a[1] * b[2];
        c[1] = a[0] * b[1] + a[1] * b[3];
        c[2] = a[2] * b[0] + a[3] * b[2];
        c[3] = a[2] * b[1] + a[3] * b[3];
        memcpy(b, c, sizeof c);
    }
}

static int operations(void)
{
    int          mine[4] = { 1, rank + 1, 0, 1 }, all[4], flip[4] = { 0, 1, 1, rank % 2 }, i, wrong;
    int          right[4] = { 1, 0, 0, 1 }, one;
    MPI_Datatype matrix;
    MPI_Op       op;

    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    MPI_Allreduce(mine, all, 1, matrix, op, world);
    wrong = all[1] != size * (size + 1) / 2;
    MPI_Allreduce(flip, all, 1, matrix, op, world);
    for (i = size - 1; i >= 0; i--) {
        int left[4] = { 0, 1, 1, i % 2 };

        one = 1;
        multiply(left, right, &one, NULL);
    }
    wrong += memcmp(all, right, sizeof all) != 0;
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
    return wrong;
}

/* Rank r has r + 1 numbers. */
static int gatherv(void)
{
    int *count = malloc((size_t)size * sizeof *count), *at = malloc((size_t)size * sizeof *at);
    int  total = size * (size + 1) / 2, i, wrong = 0;
    int *all = calloc((size_t)total, sizeof *all), *mine = malloc((size_t)size * sizeof *mine);

    for (i = 0; i < size; i++) {
        count[i] = i + 1;
        at[i] = i * (i + 1) / 2;
        mine[i] = rank * 10;
    }
    MPI_Gatherv(mine, rank + 1, MPI_INT, all, count, at, MPI_INT, 0, world);
    for (i = 0; i < total && rank == 0; i++)
        all[i]++;
    MPI_Scatterv(all, count, at, MPI_INT, mine, rank + 1, MPI_INT, 0, world);
    for (i = 0; i <= rank; i++)
        wrong += mine[i] != rank * 10 + 1;
    memset(all, 0, (size_t)total * sizeof *all);
    MPI_Allgatherv(mine, rank + 1, MPI_INT, all, count, at, MPI_INT, world);
    for (i = 0; i < size; i++)
        wrong += all[at[i]] != i * 10 + 1 || all[at[i] + i] != i * 10 + 1;
    free(count), free(at), free(all), free(mine);
    return wrong;
}

static int alltoall(void)
{
    int *out = malloc((size_t)size * sizeof *out), *in = malloc((size_t)size * sizeof *in);
    int *ones = malloc((size_t)size * sizeof *ones), i, part, wrong = 0;

    for (i = 0; i < size; i++) {
        out[i] = rank * 1000 + i;
        ones[i] = 1;
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, world);
    for (i = 0; i < size; i++)
        wrong += in[i] != i * 1000 + rank;
    MPI_Reduce_scatter(out, &part, ones, MPI_INT, MPI_SUM, world);
    wrong += part != size * (size - 1) / 2 * 1000 + size * rank;
    free(out), free(in), free(ones);
    return wrong;
}

static int scan(void)
{
    int mine = rank + 1, upto = 0, before = 0;

    MPI_Scan(&mine, &upto, 1, MPI_INT, MPI_SUM, world);
    MPI_Exscan(&mine, &before, 1, MPI_INT, MPI_SUM, world);
    return (upto != (rank + 1) * (rank + 2) / 2) + (rank > 0 && before != rank * (rank + 1) / 2);
}

static int nonblocking(void)
{
    MPI_Request request[3];
    int         sum = 0, one = 1, i, word[64];

    for (i = 0; i < 64; i++)
        word[i] = rank == 0 ? i : -1;
    MPI_Ibcast(word, 64, MPI_INT, 0, world, &request[0]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world, &request[1]);
    MPI_Ibarrier(world, &request[2]);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    return (sum != size) + (word[63] != 63);
}

/* ---- communicators ---- */

static int split(void)
{
    MPI_Comm half, copy;
    int      members, place, sum, wrong;

    MPI_Comm_split(world, rank % 2, -rank, &half); /* in reverse order */
    MPI_Comm_dup(half, &copy);
    MPI_Comm_size(copy, &members);
    MPI_Comm_rank(copy, &place);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    wrong = members != (size + 1 - rank % 2) / 2;
    wrong += place != members - 1 - rank / 2;
    wrong += sum != members * (members - 1) + members * (rank % 2);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    return wrong;
}

static int groups(void)
{
    MPI_Group all, few;
    MPI_Comm  comm;
    int       ends[2] = { size - 1, 0 }, place, wrong = 0;

    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 2, ends, &few);
    MPI_Comm_create(world, few, &comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &place);
        wrong = place != (rank == 0);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    } else {
        wrong = rank == 0 || rank == size - 1;
    }
    MPI_Group_free(&few);
    MPI_Group_free(&all);
    return wrong;
}

static int cartesian(void)
{
    int      dims[2] = { 0, 0 }, wraps[2] = { 1, 1 }, from, to, value, axis, wrong = 0, got;
    MPI_Comm grid;

    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(world, 2, dims, wraps, 1, &grid);
    MPI_Comm_rank(grid, &value);
    for (axis = 0; axis < 2; axis++) {
        MPI_Cart_shift(grid, axis, 1, &from, &to);
        MPI_Sendrecv(&value, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, grid,
                     MPI_STATUS_IGNORE);
        wrong += got != from;
    }
    MPI_Comm_free(&grid);
    return wrong;
}

static int neighbours(void)
{
    int      before = (rank + size - 1) % size, after = (rank + 1) % size, got[1] = { -1 }, wrong;
    MPI_Comm graph;

    MPI_Dist_graph_create_adjacent(world, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, graph);
    wrong = got[0] != before;
    MPI_Comm_free(&graph);
    return wrong;
}

static int intercomm(void)
{
    MPI_Comm half, across, whole;
    int      is_upper = rank >= size / 2, others = 0, members, wrong;

    MPI_Comm_split(world, is_upper, rank, &half);
    MPI_Intercomm_create(half, 0, world, is_upper ? 0 : size / 2, 99, &across);
    MPI_Allreduce(&rank, &others, 1, MPI_INT, MPI_SUM, across); /* the sum of the others */
    wrong = others != (is_upper ? size / 2 * (size / 2 - 1) / 2
                                : size * (size - 1) / 2 - size / 2 * (size / 2 - 1) / 2);
    MPI_Intercomm_merge(across, is_upper, &whole);
    MPI_Comm_size(whole, &members);
    wrong += members != size;
    MPI_Comm_free(&whole);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
    return wrong;
}

/* ---- one-sided ---- */

static int fence(void)
{
    int    *mine, got = -1, next = (rank + 1) % size, wrong;
    MPI_Win window;

    MPI_Win_allocate(PAGE, sizeof(int), MPI_INFO_NULL, world, &mine, &window);
    mine[0] = -1;
    mine[1] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Accumulate(&rank, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    wrong = mine[0] != (rank + size - 1) % size || got != rank;
    wrong += rank == 0 && mine[1] != size * (size - 1) / 2;
    MPI_Win_free(&window);
    return wrong;
}

/* A counter that all raise, and a lock that the first one takes. */
static int passive(void)
{
    int    *mine, one = 1, before, last = -1, i, nobody = 0, me = rank + 1, holder, wrong = 0;
    MPI_Win window;

    MPI_Win_allocate(PAGE, sizeof(int), MPI_INFO_NULL, world, &mine, &window);
    mine[0] = mine[1] = 0;
    MPI_Barrier(world);
    for (i = 0; i < 20; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window);
        MPI_Win_unlock(0, window);
        wrong += before <= last;
        last = before;
    }
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Compare_and_swap(&me, &nobody, &holder, MPI_INT, 0, 1, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(world);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    wrong += rank == 0 && (mine[0] != 20 * size || mine[1] < 1 || mine[1] > size);
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
    return wrong;
}

/* Post and start, complete and wait, with the next rank only. */
static int post_start(void)
{
    int       next = (rank + 1) % size, before = (rank + size - 1) % size, *mine, wrong;
    MPI_Group all, to, from;
    MPI_Win   window;

    MPI_Alloc_mem(PAGE, MPI_INFO_NULL, &mine);
    mine[0] = -1;
    MPI_Win_create(mine, PAGE, sizeof(int), MPI_INFO_NULL, world, &window);
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &before, &from);
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
    wrong = mine[0] != before;
    MPI_Win_free(&window);
    MPI_Free_mem(mine);
    return wrong;
}

/* Ranks of one node in each other's memory. */
static int shared(void)
{
    MPI_Comm node;
    MPI_Win  window;
    MPI_Aint bytes;
    int     *mine, *other, place, members, unit, wrong;

    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_size(node, &members);
    MPI_Win_allocate_shared(PAGE, sizeof(int), MPI_INFO_NULL, node, &mine, &window);
    MPI_Win_fence(0, window);
    *mine = rank;
    MPI_Win_fence(0, window);
    MPI_Win_shared_query(window, (place + 1) % members, &bytes, &unit, &other);
    wrong = *other != rank - place + (place + 1) % members;
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
    return wrong;
}

/* ---- the rest ---- */

/* Each writes its part of one file, and reads its neighbour's. */
static int file(void)
{
    int      got = -1, wrong;
    char     name[64];
    MPI_File handle;

    snprintf(name, sizeof name, "mpi-file-%d", size);
    MPI_File_open(world, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &handle);
    MPI_File_write_at_all(handle, (MPI_Offset)rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT,
                          MPI_STATUS_IGNORE);
    MPI_File_sync(handle);
    MPI_Barrier(world);
    MPI_File_read_at_all(handle, (MPI_Offset)((rank + 1) % size) * (MPI_Offset)sizeof got, &got, 1,
                         MPI_INT, MPI_STATUS_IGNORE);
    wrong = got != (rank + 1) % size;
    MPI_File_close(&handle);
    return wrong;
}

/* A message that is too long is an error that the program sees. */
static int errors(void)
{
    int      out[2] = { 1, 2 }, in, rc, class = MPI_SUCCESS;
    MPI_Comm copy;

    MPI_Comm_dup(world, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    rc = MPI_Sendrecv(out, 2, MPI_INT, rank, 1, &in, 1, MPI_INT, rank, 1, copy,
                      MPI_STATUS_IGNORE);
    MPI_Error_class(rc, &class);
    MPI_Comm_free(&copy);
    return class != MPI_ERR_TRUNCATE;
}

static const struct {
    const char *name;
    int       (*run)(void);
} programs[] = {
    { "ring", ring }, { "pairs", pairs }, { "probe", probe }, { "halo", halo },
    { "persistent", persistent }, { "large", large }, { "datatypes", datatypes },
    { "reduce", reduce }, { "operations", operations }, { "gatherv", gatherv },
    { "alltoall", alltoall }, { "scan", scan }, { "nonblocking", nonblocking },
    { "split", split }, { "groups", groups }, { "cartesian", cartesian },
    { "neighbours", neighbours }, { "intercomm", intercomm }, { "fence", fence },
    { "passive", passive }, { "post_start", post_start }, { "shared", shared },
    { "file", file }, { "errors", errors },
};

static int is_asked(char **argv, const char *name)
{
    for (argv++; *argv != NULL; argv++)
        if (strcmp(*argv, "all") == 0 || strcmp(*argv, name) == 0)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    size_t i;
    int    wrong, sum, all = 0, known = 0;

    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!is_asked(argv, programs[i].name))
            continue;
        wrong = programs[i].run();
        MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, world);
        if (rank == 0 && sum == 0)
            printf("%s: ok\n", programs[i].name);
        else if (rank == 0)
            printf("%s: %d wrong\n", programs[i].name, sum);
        all += sum;
        known = 1;
    }
    MPI_Finalize();
    if (!known && rank == 0)
        for (i = 0; i < sizeof programs / sizeof *programs; i++)
            printf("%s\n", programs[i].name);
    return all > 0 ? 1 : !known ? 2 : 0;
}
