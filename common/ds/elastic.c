/* elastic.c - see elastic.h
 *
 * A batch size B suits W ranks if B = M * steps * W for some micro batch M. A highly composite
 * number has more divisors than any smaller number, so B is a highly composite number times a
 * micro batch, or times the least common multiple of all micro batches.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ds/elastic.h"

#include <stdio.h>
#include <stdlib.h>

#include "xalloc.h"

static const int64_t highly_composite[] = {
    1,     2,     4,     6,     12,    24,    36,     48,     60,     120,
    180,   240,   360,   720,   840,   1260,  1680,   2520,   5040,   7560,
    10080, 15120, 20160, 25200, 27720, 45360, 50400,  55440,  83160,  110880,
    166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
};
#define HIGHLY_COMPOSITE (sizeof highly_composite / sizeof highly_composite[0])

static int     check(const struct elastic_request *request, struct error *err);
static int     plan_nodes(struct elastic_plan *plan, const struct elastic_request *request,
                          int64_t world, struct error *err);
static int     plan_this_world(struct elastic_plan *plan, const struct elastic_request *request,
                               int64_t world, struct error *err);
static int     plan_worlds(struct elastic_plan *plan, const struct elastic_request *request,
                           struct error *err);
static int64_t multiple_of_all(const struct elastic_request *request);
static int64_t candidate(int64_t base, int64_t max);
static void    consider(struct elastic_plan *best, const struct elastic_request *request,
                        int64_t batch);
static void    add_divisors(struct elastic_plan *plan, int64_t steps,
                            const struct elastic_request *request);
static void    add_world(struct elastic_plan *plan, int64_t world,
                         const struct elastic_request *request);
static int     by_value(const void *a, const void *b);
static int     check_world(const struct elastic_plan *plan, int64_t world, struct error *err);
static bool    has_world(const struct elastic_plan *plan, int64_t world);
static int64_t micro_of(const struct elastic_request *request, int64_t share);

int elastic_plan(struct elastic_plan *plan, const struct elastic_request *request,
                 int64_t world, struct error *err)
{
    const bool by_node = request->version == 0.2;

    *plan = (struct elastic_plan){ 0 };
    if (check(request, err) < 0)
        return -1;
    if (by_node && world == 0)
        return err_set(err, "elasticity version 0.2 needs the number of ranks");
    if (by_node && world % request->model_parallel != 0)
        return err_set(err, "%lld ranks are not a multiple of model_parallel_size %lld",
                       (long long)world, (long long)request->model_parallel);
    if ((by_node ? plan_nodes(plan, request, world, err) : plan_worlds(plan, request, err)) < 0)
        return -1;
    if (world == 0)
        return 0;
    world /= by_node ? request->model_parallel : 1;
    if (check_world(plan, world, err) < 0)
        return -1;
    plan->micro = micro_of(request, plan->batch / world);
    return 0;
}

void elastic_plan_clear(struct elastic_plan *plan)
{
    free(plan->worlds);
    plan->worlds = NULL;
    plan->count = 0;
    plan->batch = plan->micro = 0;
}

static int check(const struct elastic_request *request, struct error *err)
{
    size_t i;

    if (request->version != 0.1 && request->version != 0.2)
        return err_set(err, "elasticity version %g is neither 0.1 nor 0.2", request->version);
    if (request->version == 0.1 && request->model_parallel > 1)
        return err_set(err, "elasticity version 0.1 does not support model_parallel_size");
    if (request->max_batch > ELASTIC_BATCH_MAX)
        return err_set(err, "max_train_batch_size is more than %d", ELASTIC_BATCH_MAX);
    if (request->micros == 0 || request->micros > ELASTIC_MICRO_MAX)
        return err_set(err, "micro_batch_sizes must have 1 to %d numbers", ELASTIC_MICRO_MAX);
    if (request->max_ranks < request->min_ranks)
        return err_set(err, "max_gpus %lld is less than min_gpus %lld",
                       (long long)request->max_ranks, (long long)request->min_ranks);
    if (request->ranks_per_node % request->model_parallel != 0)
        return err_set(err,
                       "num_gpus_per_node %lld is not a multiple of model_parallel_size %lld",
                       (long long)request->ranks_per_node, (long long)request->model_parallel);
    for (i = 0; i < request->micros; i++)
        if (request->micro[i] > request->max_batch)
            return err_set(err, "micro batch %lld is more than max_train_batch_size %lld",
                           (long long)request->micro[i], (long long)request->max_batch);
    return 0;
}

/* Version 0.2 counts nodes. If the list does not contain the current number of ranks, this
 * number gets its own batch size. */
static int plan_nodes(struct elastic_plan *plan, const struct elastic_request *request,
                      int64_t world, struct error *err)
{
    const int64_t          per_node = request->ranks_per_node / request->model_parallel;
    struct elastic_request nodes = *request;
    size_t                 i;

    nodes.max_batch /= per_node;
    nodes.min_ranks /= request->ranks_per_node;
    nodes.max_ranks /= request->ranks_per_node;
    if (nodes.min_ranks == 0)
        nodes.min_ranks = 1;
    if (nodes.max_ranks == 0)
        nodes.max_ranks = nodes.max_batch;
    nodes.ranks_per_node = nodes.model_parallel = 1;
    if (check(&nodes, err) < 0 || plan_worlds(plan, &nodes, err) < 0)
        return -1;
    plan->batch *= per_node;
    for (i = 0; i < plan->count; i++)
        plan->worlds[i] *= per_node;
    if (has_world(plan, world / request->model_parallel))
        return 0;
    elastic_plan_clear(plan);
    return plan_this_world(plan, request, world, err);
}

static int plan_this_world(struct elastic_plan *plan, const struct elastic_request *request,
                           int64_t world, struct error *err)
{
    const int64_t ranks = world / request->model_parallel;
    int64_t       least, batch;
    size_t        i;

    for (i = 0; i < request->micros; i++) {
        if (__builtin_mul_overflow(request->micro[i], ranks, &least))
            continue;
        batch = request->max_batch / least * least;
        if (i == 0 || (request->prefer_larger ? batch > plan->batch : batch < plan->batch))
            plan->batch = batch;
    }
    if (plan->batch == 0)
        return err_set(err, "no batch of at most %lld suits %lld ranks",
                       (long long)request->max_batch, (long long)ranks);
    plan->worlds = xcalloc(1, sizeof *plan->worlds);
    plan->worlds[0] = ranks;
    plan->count = 1;
    return 0;
}

/* Plans the candidate that suits the most numbers of ranks. */
static int plan_worlds(struct elastic_plan *plan, const struct elastic_request *request,
                       struct error *err)
{
    const int64_t all = multiple_of_all(request);
    size_t        i;

    for (i = 0; i < request->micros; i++)
        consider(plan, request, candidate(request->micro[i], request->max_batch));
    if (all <= request->max_batch)
        consider(plan, request, candidate(all, request->max_batch));
    if (plan->count == 0)
        return err_set(err, "no batch of at most %lld suits %lld to %lld ranks",
                       (long long)request->max_batch, (long long)request->min_ranks,
                       (long long)request->max_ranks);
    return 0;
}

/* Returns the least common multiple; if that is too large, any number above max_batch. */
static int64_t multiple_of_all(const struct elastic_request *request)
{
    int64_t all = 1, a, b, rest;
    size_t  i;

    for (i = 0; i < request->micros && all <= request->max_batch; i++) {
        for (a = all, b = request->micro[i]; b != 0; a = b, b = rest)
            rest = a % b;
        /* Both are below ELASTIC_BATCH_MAX, and neither is 0. */
        all *= request->micro[i] / a; /* NOLINT(clang-analyzer-core.DivideZero) */
    }
    return all;
}

static int64_t candidate(int64_t base, int64_t max)
{
    size_t i = HIGHLY_COMPOSITE - 1;

    while (highly_composite[i] > max / base)
        i--;
    return highly_composite[i] * base;
}

static void consider(struct elastic_plan *best, const struct elastic_request *request,
                     int64_t batch)
{
    struct elastic_plan plan = { .batch = batch };
    size_t              i, kept = 0;
    bool                better;

    for (i = 0; i < request->micros; i++)
        if (batch % request->micro[i] == 0)
            add_divisors(&plan, batch / request->micro[i], request);
    if (plan.count > 0)
        qsort(plan.worlds, plan.count, sizeof *plan.worlds, by_value);
    for (i = 0; i < plan.count; i++)
        if (i == 0 || plan.worlds[i] != plan.worlds[kept - 1])
            plan.worlds[kept++] = plan.worlds[i];
    plan.count = kept;

    better = plan.count > best->count ||
             (plan.count == best->count &&
              (request->prefer_larger ? batch > best->batch : batch < best->batch));
    if (better) {
        free(best->worlds);
        best->worlds = plan.worlds;
        best->count = plan.count;
        best->batch = batch;
    } else {
        elastic_plan_clear(&plan);
    }
}

static void add_divisors(struct elastic_plan *plan, int64_t steps,
                         const struct elastic_request *request)
{
    int64_t i;

    for (i = 1; i * i <= steps; i++) {
        if (steps % i != 0)
            continue;
        add_world(plan, i, request);
        add_world(plan, steps / i, request);
    }
}

static void add_world(struct elastic_plan *plan, int64_t world,
                      const struct elastic_request *request)
{
    if (world < request->min_ranks || world > request->max_ranks)
        return;
    if (plan->count % 64 == 0)
        plan->worlds = xreallocarray(plan->worlds, plan->count + 64, sizeof *plan->worlds);
    plan->worlds[plan->count++] = world;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int check_world(const struct elastic_plan *plan, int64_t world, struct error *err)
{
    char   list[400] = "";
    size_t i, at = 0;

    if (has_world(plan, world))
        return 0;
    for (i = 0; i < plan->count && at < sizeof list - 24; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, " %lld", (long long)plan->worlds[i]);
    return err_set(err, "%lld ranks do not fit batch size %lld; these do:%s%s",
                   (long long)world, (long long)plan->batch, list,
                   i < plan->count ? " ..." : "");
}

static bool has_world(const struct elastic_plan *plan, int64_t world)
{
    size_t i;

    for (i = 0; i < plan->count; i++)
        if (plan->worlds[i] == world)
            return true;
    return false;
}

/* Returns the largest micro batch that divides a rank's share; in version 0.2 the first one,
 * unless prefer_larger is set. */
static int64_t micro_of(const struct elastic_request *request, int64_t share)
{
    const bool is_first_enough = request->version == 0.2 && !request->prefer_larger;
    int64_t    micro = 0;
    size_t     i;

    for (i = 0; i < request->micros && !(is_first_enough && micro > 0); i++)
        if (share % request->micro[i] == 0 && request->micro[i] > micro)
            micro = request->micro[i];
    return micro;
}
