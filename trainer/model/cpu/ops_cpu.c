/* ops_cpu.c - the operations on this machine's CPUs, see ops.h
 *
 * Matrix products come from product.h, loops and attention from kernels.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "model/cpu/kernels.h"
#include "model/ops.h"
#include "model/cpu/product.h"
#include "xalloc.h"

#define ALIGNMENT 64 /* a cache line, and the widest vector */

struct ops_cpu {
    struct ops       ops; /* the public part */
    struct products *products;
    bool             failed;
    struct error     why; /* the first failure */
};

static const struct ops *choose(enum dtype type, const char **name);
static void             *ops_alloc(struct ops *ops, size_t bytes);
static void              ops_release(struct ops *ops, void *memory);
static void              ops_read(struct ops *ops, void *host, const void *memory, size_t bytes);
static void              ops_write(struct ops *ops, void *memory, const void *host, size_t bytes);
static void              ops_park(struct ops *ops, int lane, void *to, const void *from,
                                  size_t bytes);
static void              ops_settle(struct ops *ops, int lane);
static void              matmul(struct ops *ops, const struct matmul *shape, const void *a,
                                const void *b, const void *bias, void *c);
static int               ops_check(struct ops *ops, struct error *err);
static void              ops_free(struct ops *ops);

struct ops *ops_cpu_new(enum dtype type, struct error *err)
{
    const struct ops *kernels;
    const char       *name;
    struct ops_cpu   *cpu;

    if (type != DTYPE_FLOAT && type != DTYPE_BFLOAT16 && type != DTYPE_HALF &&
        type != DTYPE_DOUBLE) {
        err_set(err, "models cannot compute in %s on CPUs", dtype_name(type));
        return NULL;
    }
    cpu = xcalloc(1, sizeof *cpu);
    kernels = choose(type, &name);
    if (type != DTYPE_DOUBLE && (cpu->products = products_new(type, err)) == NULL) {
        free(cpu);
        return NULL;
    }
    cpu->ops = *kernels;
    cpu->ops.name = name;
    cpu->ops.alloc = ops_alloc;
    cpu->ops.release = ops_release;
    cpu->ops.read = ops_read;
    cpu->ops.write = ops_write;
    cpu->ops.host_alloc = ops_alloc;
    cpu->ops.host_release = ops_release;
    cpu->ops.park = ops_park;
    cpu->ops.bring = ops_park;
    cpu->ops.settle = ops_settle;
    cpu->ops.matmul = matmul;
    cpu->ops.check = ops_check;
    cpu->ops.free = ops_free;
    return &cpu->ops;
}

static void ops_free(struct ops *ops)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;

    products_free(cpu->products);
    free(cpu);
}

/* Chooses the best kernels that this CPU can run. */
static const struct ops *choose(enum dtype type, const char **name)
{
    static const struct ops *const any[DTYPE_COUNT] = {
        [DTYPE_FLOAT] = &kernels_float,
        [DTYPE_BFLOAT16] = &kernels_bfloat16,
        [DTYPE_HALF] = &kernels_half,
        [DTYPE_DOUBLE] = &kernels_double,
    };
#ifdef KERNELS_X86
    static const struct ops *const avx2[DTYPE_COUNT] = {
        [DTYPE_FLOAT] = &kernels_float_avx2,
        [DTYPE_BFLOAT16] = &kernels_bfloat16_avx2,
        [DTYPE_HALF] = &kernels_half_avx2,
    };
    static const struct ops *const avx512[DTYPE_COUNT] = {
        [DTYPE_FLOAT] = &kernels_float_avx512,
        [DTYPE_BFLOAT16] = &kernels_bfloat16_avx512,
        [DTYPE_HALF] = &kernels_half_avx512,
    };

    *name = "cpu, avx512";
    if (avx512[type] != NULL && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return avx512[type];
    *name = "cpu, avx2";
    if (avx2[type] != NULL && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2[type];
#endif
    *name = "cpu";
    return any[type];
}

static void *ops_alloc(struct ops *ops, size_t bytes)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;
    void           *memory = NULL;

    if (cpu->failed)
        return NULL;
    if (bytes == 0)
        bytes = 1;
    if (posix_memalign(&memory, ALIGNMENT, bytes) == 0)
        return memory;
    cpu->failed = true;
    err_set(&cpu->why, "out of memory: %zu bytes for activations", bytes);
    return NULL;
}

static void ops_release(struct ops *ops, void *memory)
{
    (void)ops;
    free(memory);
}

static void ops_read(struct ops *ops, void *host, const void *memory, size_t bytes)
{
    (void)ops;
    memcpy(host, memory, bytes);
}

static void ops_write(struct ops *ops, void *memory, const void *host, size_t bytes)
{
    (void)ops;
    memcpy(memory, host, bytes);
}

/* The model's memory is the host's, so this is of use to tests only. */
static void ops_park(struct ops *ops, int lane, void *to, const void *from, size_t bytes)
{
    (void)ops;
    (void)lane;
    memcpy(to, from, bytes);
}

static void ops_settle(struct ops *ops, int lane)
{
    (void)ops;
    (void)lane;
}

static void matmul(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                   const void *bias, void *c)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;
    int             rc = 0;

    if (cpu->failed)
        return;
    if (ops->type == DTYPE_DOUBLE)
        product_plain(shape, a, b, bias, c);
    else if (products_type(cpu->products) == ops->type)
        rc = product_run(cpu->products, shape, a, b, bias, c, &cpu->why);
    else
        rc = product_run_narrow(cpu->products, ops->type, shape, a, b, bias, c, &cpu->why);
    cpu->failed = rc < 0;
}

static int ops_check(struct ops *ops, struct error *err)
{
    struct ops_cpu *cpu = (struct ops_cpu *)ops;

    return cpu->failed ? err_set(err, "%s", cpu->why.text) : 0;
}
