/* overlap.c - how much of a step's communication the backward pass hides
 *
 *     muster -H node1:2,node2:2 tests/bench/overlap [BLOCKS [WIDTH [LENGTH [ROUNDS]]]]
 *
 * Every rank takes a step of GPT-2 with ZeRO stage 0 in three ways, in turns: alone (compute),
 * its gradients' all-reduces without the passes that make them (communication), and as in
 * training (step). A time is that of the slowest rank; the best round counts, since other work
 * on the machine only ever adds. CPU seconds are of all ranks together.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "comm/alone.h"
#include "model/model.h"
#include "model/ops.h"
#include "train/world.h"
#include "xalloc.h"
#include "zero/zero.h"

#define BUCKET_MAX  500000
#define WORDS       257 /* little to reduce at the end, when nothing is left to hide it */
#define DEADLINE_S  120

static struct world       world;
static struct model      *model;
static struct model_batch batch = { .sequences = 1 };

struct way {
    const char  *name;
    void       (*run)(struct zero *zero);
    struct zero *zero;
    double       best_s, best_cpu_s;
};

static void         fail_if(int rc, const struct error *err);
static void         make_model(int blocks, int width, int length);
static struct zero *open_zero(struct comm *comm);
static void         take_round(struct way *way);
static void         step(struct zero *zero);
static void         reduce_alone(struct zero *zero);
static void         print(const struct way *ways, int rounds);

int main(int argc, char **argv)
{
    const int    blocks = argc > 1 ? atoi(argv[1]) : 6, width = argc > 2 ? atoi(argv[2]) : 256;
    const int    length = argc > 3 ? atoi(argv[3]) : 768, rounds = argc > 4 ? atoi(argv[4]) : 10;
    struct way   ways[] = { { .name = "compute", .run = step },
                            { .name = "communication", .run = reduce_alone },
                            { .name = "step", .run = step } };
    struct error err;
    int          i;

    fail_if(world_open(&world, "cpu", DEADLINE_S, &err), &err);
    make_model(blocks, width, length);
    ways[0].zero = open_zero(comm_alone(DEADLINE_S));
    ways[1].zero = ways[2].zero = open_zero(world.comm);
    for (i = 0; i < 3 * (rounds + 1); i++) {
        if (i == 3) /* the first round was to touch all memory */
            ways[0].best_s = ways[1].best_s = ways[2].best_s = 0;
        take_round(&ways[i % 3]);
    }
    if (world.rank == 0)
        print(ways, rounds);
    zero_close(ways[0].zero);
    zero_close(ways[2].zero);
    fail_if(world_close(&world, &err), &err);
    return 0;
}

static void fail_if(int rc, const struct error *err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "overlap: %s\n", err->text);
    world_abort(&world);
    exit(1);
}

static int enter(void *arg, int layer, enum model_pass pass, struct error *err)
{
    return zero_enter(arg, layer, pass == MODEL_BACKWARD, &model->params[layer],
                      &model->grads[layer], err);
}

static int leave(void *arg, int layer, enum model_pass pass, struct error *err)
{
    (void)pass;
    (void)err;
    zero_leave(arg, layer);
    return 0;
}

static int done(void *arg, int layer, struct error *err)
{
    return zero_done(arg, layer, err);
}

static void make_model(int blocks, int width, int length)
{
    struct model_config config;
    int32_t            *tokens = xcalloc((size_t)length, sizeof *tokens);
    struct error        err;
    struct ops         *ops;
    int                 i;

    fail_if(model_config_named(&config, "gpt2", &err), &err);
    config.vocabulary = WORDS;
    config.positions = batch.length = length;
    config.blocks = blocks;
    config.width = width;
    config.inner = 4 * width;
    config.heads = width / 64;
    ops = ops_cpu_new(DTYPE_FLOAT, &err);
    model = ops != NULL ? model_new(&config, ops, &err) : NULL;
    fail_if(model == NULL ? -1 : 0, &err);
    model->hooks = (struct model_hooks){ .enter = enter, .leave = leave, .done = done };
    for (i = 0; i < length; i++)
        tokens[i] = i * 31 % WORDS;
    batch.tokens = batch.targets = tokens;
}

static struct zero *open_zero(struct comm *comm)
{
    const struct zero_options options = { .type = DTYPE_FLOAT, .bucket_max = BUCKET_MAX };
    size_t                   *counts = xcalloc((size_t)model->layers, sizeof *counts);
    struct zero_piece        *pieces;
    struct zero              *zero;
    struct error              err;
    int                       i, count;

    for (i = 0; i < model->layers; i++)
        counts[i] = model->layer[i].count;
    zero = zero_open(comm, &options, counts, model->layers, &err);
    pieces = zero != NULL ? zero_pieces(zero, false, &count, &err) : NULL;
    fail_if(pieces == NULL ? -1 : 0, &err);
    for (i = 0; i < count; i++)
        model_initial_values(model, 1, pieces[i].start, pieces[i].count, pieces[i].param);
    fail_if(zero_publish(zero, &err), &err);
    free(pieces);
    free(counts);
    return zero;
}

static double cpu_s(void)
{
    struct timespec spent;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + (double)spent.tv_nsec / NS_PER_S;
}

static void over_ranks(double *number, enum redop op)
{
    struct comm *comm = world.comm;
    struct error err;

    fail_if(comm_reduce_numbers(comm, number, 1, op, &err), &err);
    fail_if(comm->ops->wait(comm, comm->ops->mark(comm), &err), &err);
}

static void take_round(struct way *way)
{
    double       seconds, cpu;
    struct error err;
    int64_t      start_ns;

    fail_if(world.comm->ops->barrier(world.comm, &err), &err);
    start_ns = clock_now_ns();
    cpu = cpu_s();
    way->run(way->zero);
    cpu = cpu_s() - cpu;
    seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    over_ranks(&seconds, REDOP_MAX);
    over_ranks(&cpu, REDOP_SUM);
    if (way->best_s == 0 || seconds < way->best_s) {
        way->best_s = seconds;
        way->best_cpu_s = cpu;
    }
}

static void step(struct zero *zero)
{
    const struct adam  adam = { .lr = 1e-4, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
    struct zero_result result;
    struct error       err;
    double             loss;

    model->hooks.arg = zero;
    zero_begin(zero, true, true);
    fail_if(model_forward(model, &batch, &err), &err);
    fail_if(model_backward(model, 1.0 / batch.length, &loss, &err), &err);
    fail_if(zero_step(zero, &adam, 1, &result, &err), &err);
}

/* As the backward pass does, from the last layer to the first, but at once. */
static void reduce_alone(struct zero *zero)
{
    struct comm *comm = world.comm;
    void        *params, *grads;
    struct error err;
    int          layer;

    zero_begin(zero, true, true);
    for (layer = model->layers - 1; layer >= 0; layer--) {
        fail_if(zero_enter(zero, layer, true, &params, &grads, &err), &err);
        zero_leave(zero, layer);
        fail_if(zero_done(zero, layer, &err), &err);
    }
    fail_if(comm->ops->wait(comm, comm->ops->mark(comm), &err), &err);
}

static void print(const struct way *ways, int rounds)
{
    const double compute = ways[0].best_s, communication = ways[1].best_s;
    const double larger = compute > communication ? compute : communication;
    int          i;

    printf("%d ranks, %.1f million parameters, %d rounds\n", world.size,
           (double)model->count / 1e6, rounds);
    for (i = 0; i < 3; i++)
        printf("%-14s %7.3f s  CPU %7.3f s\n", ways[i].name, ways[i].best_s, ways[i].best_cpu_s);
    printf("step / max(compute, communication) %.2f\n", ways[2].best_s / larger);
}
