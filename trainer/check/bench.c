/* bench.c - see bench.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "number.h"

/* A collective at one size. */
struct trial {
    const struct collective *what;
    const struct pattern    *pattern;
    struct transfer          transfer;
    size_t                   in_count, out_count; /* elements */
    size_t                   bytes;               /* of the larger buffer */
    bool                     in_place;
};

static bool   is_corrupt_rank(int rank);
static size_t next_size(const struct check_options *options, size_t bytes);
static void   trial_make(struct trial *trial, const struct bench *bench,
                         const struct collective *what, size_t bytes);
static void   trial_in_place(struct trial *trial, const struct bench *bench);
static int    run_trial(struct bench *bench, const struct trial *trial,
                        struct report *report, struct error *err);
static int    run_once(struct bench *bench, const struct trial *trial, double sums[2],
                       struct error *err);
static int    fill(struct bench *bench, const struct trial *trial, struct error *err);
static int    check_values(struct bench *bench, const struct trial *trial, double *wrong,
                           struct error *err);
static void   compare(struct bench *bench, const struct trial *trial, double *wrong);
static int    check_barrier(struct bench *bench, double *wrong, struct error *err);
static int    time_calls(struct bench *bench, const struct trial *trial, double *time_s,
                         struct error *err);
static int    call(struct bench *bench, const struct trial *trial, struct error *err);
static int    sum_over_ranks(struct bench *bench, double *values, size_t count,
                             struct error *err);
static int    load(struct bench *bench, void *to, size_t bytes, struct error *err);
static int    fetch(struct bench *bench, void *to, const void *from, size_t bytes,
                    struct error *err);
static void   say_wrong(struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int    wait_all(struct comm *comm, struct error *err);

int bench_init(struct bench *bench, const struct check_options *options,
               const struct roster *roster, struct comm *comm, struct error *err)
{
    const enum dtype type = (enum dtype)options->dtype;
    const size_t     least = (size_t)comm->size * 2 * sizeof(int64_t); /* for check_barrier() */
    size_t           room = (size_t)options->bytes_max;

    if (room < least)
        room = least;
    *bench = (struct bench){ .options = options, .roster = roster, .comm = comm,
                             .release = comm->ops->release,
                             .corrupt = is_corrupt_rank(comm->rank) };
    pattern_make(&bench->moved, type, REDOP_MAX, comm->size);
    pattern_make(&bench->reduced, type, (enum redop)options->redop, comm->size);
    bench->staging = malloc(room);
    if (bench->staging == NULL)
        return err_set(err, "out of memory: %zu bytes", room);
    bench->in = comm->ops->alloc(comm, room, err);
    bench->out = comm->ops->alloc(comm, room, err);
    return bench->in != NULL && bench->out != NULL ? 0 : -1;
}

void bench_clear(struct bench *bench)
{
    if (bench->release != NULL) {
        bench->release(bench->in);
        bench->release(bench->out);
    }
    free(bench->staging);
    pattern_clear(&bench->moved);
    pattern_clear(&bench->reduced);
    *bench = (struct bench){ 0 };
}

/* The test suite makes a rank corrupt its values, to prove that the check finds them. */
static bool is_corrupt_rank(int rank)
{
    const char *text = getenv("MUSTER_TEST_CORRUPT_RANK");
    int64_t     wanted;

    return text != NULL && parse_number(text, 0, INT32_MAX, &wanted, NULL) == 0 &&
           wanted == rank;
}

int bench_check(struct bench *bench, const struct collective *what, struct error *err)
{
    static const size_t sizes[] = { 8, (size_t)64 << 10 };
    struct trial        trial;
    struct error        why;
    size_t              i;

    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i] > (size_t)bench->options->bytes_max)
            continue;
        trial_make(&trial, bench, what, sizes[i]);
        if ((what->want != NULL ? check_values(bench, &trial, &bench->wrong, &why)
                                : check_barrier(bench, &bench->wrong, &why)) < 0)
            return err_set(err, "%s (checking %s, %zu bytes)", why.text, what->name,
                           trial.bytes);
    }
    return 0;
}

int bench_run(struct bench *bench, const struct collective *what, struct report *report,
              struct error *err)
{
    size_t       bytes, last_count = 0;
    struct trial trial;
    struct error why;

    for (bytes = (size_t)bench->options->bytes_min; bytes > 0;
         bytes = next_size(bench->options, bytes)) {
        trial_make(&trial, bench, what, bytes);
        if (trial.transfer.count == last_count && what->want != NULL)
            continue; /* both sizes are one element per rank */
        last_count = trial.transfer.count;
        if (run_trial(bench, &trial, report, &why) < 0)
            return err_set(err, "%s (checking %s, %zu bytes)", why.text, what->name,
                           trial.bytes);
        if (what->want == NULL)
            break;
    }
    return 0;
}

/* Returns the next size: from -b by factors of -f; the last size is always -e. 0: no more. */
static size_t next_size(const struct check_options *options, size_t bytes)
{
    const size_t max = (size_t)options->bytes_max, factor = (size_t)options->factor;

    if (bytes >= max)
        return 0;
    return bytes > max / factor ? max : bytes * factor;
}

static void trial_make(struct trial *trial, const struct bench *bench,
                       const struct collective *what, size_t bytes)
{
    const enum dtype type = (enum dtype)bench->options->dtype;
    const size_t     ranks = (size_t)bench->comm->size;
    const size_t     parts = what->in_all || what->out_all ? ranks : 1;
    size_t           count = what->want != NULL ? bytes / dtype_size(type) / parts : 0;

    if (count == 0 && what->want != NULL)
        count = 1;
    *trial = (struct trial){
        .what = what,
        .pattern = what->reduces ? &bench->reduced : &bench->moved,
        .transfer = { .count = count, .type = type, .op = (enum redop)bench->options->redop,
                      .in = bench->in, .out = bench->out },
        .in_count = what->in_all ? count * ranks : count,
        .out_count = what->out_all ? count * ranks : count,
        .bytes = count * parts * dtype_size(type),
    };
}

/* Uses the same buffer for in and out, or this rank's part of the larger one. */
static void trial_in_place(struct trial *trial, const struct bench *bench)
{
    const size_t part = trial->transfer.count * dtype_size(trial->transfer.type);
    const size_t own = (size_t)bench->comm->rank * part;

    trial->in_place = true;
    if (trial->what->in_all) {
        trial->transfer.out = (char *)bench->in + own;
        return;
    }
    trial->transfer.in = (char *)bench->out + (trial->what->out_all ? own : 0);
}

static int run_trial(struct bench *bench, const struct trial *trial, struct report *report,
                     struct error *err)
{
    double            sums[2], in_place_sums[2] = { 0, 0 }; /* wrong elements and seconds */
    const int         ranks = bench->comm->size;
    const bool        both = bench->options->nccl_tests && trial->what->in_place;
    struct trial      in_place = *trial;
    struct report_row row = { .collective = trial->what, .count = trial->transfer.count,
                              .bytes = trial->bytes, .in_place_s = -1 };

    if (run_once(bench, trial, sums, err) < 0)
        return -1;
    if (both) {
        trial_in_place(&in_place, bench);
        if (run_once(bench, &in_place, in_place_sums, err) < 0)
            return -1;
        row.in_place_s = in_place_sums[1] / ranks;
    }
    row.time_s = sums[1] / ranks;
    row.wrong = sums[0];
    row.in_place_wrong = in_place_sums[0];
    report_row(report, &row);
    return 0;
}

/* Checks the results, then times the calls. sums: over all ranks. */
static int run_once(struct bench *bench, const struct trial *trial, double sums[2],
                    struct error *err)
{
    int64_t i;
    int     rc;

    sums[0] = sums[1] = 0;
    for (i = 0; i < bench->options->checks; i++) {
        rc = trial->what->want != NULL ? check_values(bench, trial, &sums[0], err)
                                       : check_barrier(bench, &sums[0], err);
        if (rc < 0)
            return -1;
    }
    bench->wrong += sums[0];
    if (time_calls(bench, trial, &sums[1], err) < 0)
        return -1;
    return sum_over_ranks(bench, sums, 2, err);
}

/* Fills the buffers, calls once, and compares every element of the result. */
static int check_values(struct bench *bench, const struct trial *trial, double *wrong,
                        struct error *err)
{
    const size_t out_bytes = trial->out_count * dtype_size(trial->transfer.type);

    if (fill(bench, trial, err) < 0 || call(bench, trial, err) < 0 ||
        fetch(bench, bench->staging, trial->transfer.out, out_bytes, err) < 0)
        return -1;
    if (bench->corrupt && strcmp(trial->what->name, "all_reduce") == 0)
        *(unsigned char *)bench->staging ^= 1;
    compare(bench, trial, wrong);
    return 0;
}

/* Overwrites out, so that a missing result is not hidden by an old one. The root of a broadcast
 * sends from out. */
static int fill(struct bench *bench, const struct trial *trial, struct error *err)
{
    const int        rank = bench->comm->rank;
    const enum dtype type = trial->transfer.type;
    const size_t     in_bytes = trial->in_count * dtype_size(type);
    const size_t     out_bytes = trial->out_count * dtype_size(type);
    size_t           i;

    memset(bench->staging, 0xff, out_bytes);
    if (load(bench, trial->transfer.out, out_bytes, err) < 0)
        return -1;
    for (i = 0; i < trial->in_count; i++)
        dtype_store(type, bench->staging, i, pattern_value(trial->pattern, rank, i));
    if (load(bench, (void *)(uintptr_t)trial->transfer.in, in_bytes, err) < 0)
        return -1;
    return rank == trial->what->root ? load(bench, trial->transfer.out, out_bytes, err) : 0;
}

static void compare(struct bench *bench, const struct trial *trial, double *wrong)
{
    const struct transfer *t = &trial->transfer;
    size_t                 i, first = 0, count = 0;
    int64_t                want, first_want = 0;
    char                   got[40];

    for (i = 0; i < trial->out_count; i++) {
        want = trial->what->want(trial->pattern, bench->comm, t->count, i);
        if (dtype_load(t->type, bench->staging, i) == want || count++ > 0)
            continue;
        first = i;
        first_want = want;
    }
    if (count == 0)
        return;
    *wrong += (double)count;
    dtype_text(t->type, bench->staging, first, got, sizeof got);
    say_wrong(bench, "%s%s, %zu bytes of %s: %zu wrong, the first is element %zu: got %s, want "
                     "%lld", trial->what->name, trial->in_place ? " in place" : "",
              trial->bytes, dtype_name(t->type), count, first, got, (long long)first_want);
}

/* Prints a wrong result on this rank at once; the verdict also has the first one. */
static void say_wrong(struct bench *bench, const char *format, ...)
{
    char    text[sizeof bench->first_wrong];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "muster-train check: %s: %s\n", bench->roster->label[bench->comm->rank],
            text);
    if (bench->first_wrong[0] == '\0')
        memcpy(bench->first_wrong, text, sizeof text);
}

/* Checks that no rank leaves a barrier before the last rank has reached it. Clocks are
 * comparable only on one machine, so each rank compares only with ranks on its own machine. */
static int check_barrier(struct bench *bench, double *wrong, struct error *err)
{
    const struct timespec     late = { .tv_nsec = 2000000 };
    struct comm              *comm = bench->comm;
    const struct roster_rank *rank = bench->roster->rank, *self = &rank[comm->rank];
    int64_t                   times[2], *all = bench->staging; /* [0] arrival, [1] departure */
    int                       i;

    if (comm->rank == comm->size - 1)
        nanosleep(&late, NULL);
    times[0] = clock_now_ns();
    if (comm->ops->barrier(comm, err) < 0)
        return -1;
    times[1] = clock_now_ns();
    memcpy(bench->staging, times, sizeof times);
    if (load(bench, bench->in, sizeof times, err) < 0 ||
        comm->ops->all_gather(comm, bench->in, bench->out, 2, DTYPE_INT64, err) < 0 ||
        fetch(bench, all, bench->out, sizeof times * (size_t)comm->size, err) < 0)
        return -1;
    for (i = 0; i < comm->size; i++) {
        if (strcmp(rank[i].boot_id, self->boot_id) != 0 || times[1] >= all[2 * i])
            continue;
        *wrong += 1;
        say_wrong(bench, "left the barrier before %s came", bench->roster->label[i]);
    }
    return 0;
}

/* Measures the seconds per call. Issues the calls back to back and waits once. */
static int time_calls(struct bench *bench, const struct trial *trial, double *time_s,
                      struct error *err)
{
    struct comm *comm = bench->comm;
    int64_t      i, start_ns;

    for (i = 0; i < bench->options->warmups; i++)
        if (call(bench, trial, err) < 0)
            return -1;
    if (wait_all(comm, err) < 0 || comm->ops->barrier(comm, err) < 0)
        return -1;
    start_ns = clock_now_ns();
    for (i = 0; i < bench->options->iterations; i++)
        if (call(bench, trial, err) < 0)
            return -1;
    if (wait_all(comm, err) < 0)
        return -1;
    *time_s = (double)(clock_now_ns() - start_ns) / NS_PER_S /
              (double)bench->options->iterations;
    return 0;
}

static int call(struct bench *bench, const struct trial *trial, struct error *err)
{
    return trial->what->run(bench->comm, &trial->transfer, err);
}

static int sum_over_ranks(struct bench *bench, double *values, size_t count,
                          struct error *err)
{
    const size_t bytes = count * sizeof *values;

    memcpy(bench->staging, values, bytes);
    if (load(bench, bench->in, bytes, err) < 0 ||
        bench->comm->ops->all_reduce(bench->comm, bench->in, bench->out, count, DTYPE_DOUBLE,
                                     REDOP_SUM, err) < 0)
        return -1;
    return fetch(bench, values, bench->out, bytes, err);
}

/* Copies from staging to the communicator's memory. */
static int load(struct bench *bench, void *to, size_t bytes, struct error *err)
{
    return bench->comm->ops->copy(bench->comm, to, bench->staging, bytes, COMM_FROM_HOST, err);
}

/* Waits for all operations, then copies from the communicator's memory to the host. */
static int fetch(struct bench *bench, void *to, const void *from, size_t bytes,
                 struct error *err)
{
    struct comm *comm = bench->comm;

    if (wait_all(comm, err) < 0)
        return -1;
    return comm->ops->copy(comm, to, from, bytes, COMM_TO_HOST, err);
}

static int wait_all(struct comm *comm, struct error *err)
{
    return comm->ops->wait(comm, comm->ops->mark(comm), err);
}
