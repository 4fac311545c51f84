/* arrival.c - see arrival.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/arrival.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

#define WORK (1 << 20) /* multiplications, each depending on the previous one: some ms */

static void   do_work(void);
static int    share(double *work_s, struct comm *comm, double own, struct error *err);
static int    by_size(const void *a, const void *b);

int arrival_measure(double *work_s, struct comm *comm, int rounds, struct error *err)
{
    double  least = 0, took;
    int64_t start_ns;
    int     i;

    for (i = 0; i < rounds; i++) {
        if (comm->ops->barrier(comm, err) < 0)
            return -1;
        start_ns = clock_now_ns();
        do_work();
        took = (double)(clock_now_ns() - start_ns) / NS_PER_S;
        if (i == 0 || took < least)
            least = took;
    }
    return share(work_s, comm, least, err);
}

static void do_work(void)
{
    volatile uint64_t result;
    uint64_t          x = 1;
    int               i;

    for (i = 0; i < WORK; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    result = x;
    (void)result;
}

static int share(double *work_s, struct comm *comm, double own, struct error *err)
{
    const size_t bytes = (size_t)comm->size * sizeof own;
    void        *in = comm->ops->alloc(comm, sizeof own, err);
    void        *out = in != NULL ? comm->ops->alloc(comm, bytes, err) : NULL;

    if (out == NULL || comm->ops->copy(comm, in, &own, sizeof own, COMM_FROM_HOST, err) < 0 ||
        comm->ops->all_gather(comm, in, out, 1, DTYPE_DOUBLE, err) < 0 ||
        comm->ops->wait(comm, comm->ops->mark(comm), err) < 0 ||
        comm->ops->copy(comm, work_s, out, bytes, COMM_TO_HOST, err) < 0)
        return -1;
    comm->ops->release(in);
    comm->ops->release(out);
    return 0;
}

double arrival_median(const double *work_s, int ranks)
{
    double *sorted = xcalloc((size_t)ranks, sizeof *sorted), median;

    memcpy(sorted, work_s, (size_t)ranks * sizeof *sorted);
    qsort(sorted, (size_t)ranks, sizeof *sorted, by_size);
    median = sorted[(ranks - 1) / 2];
    free(sorted);
    return median;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}
